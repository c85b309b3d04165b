import { createConcurrencyLimit } from '../../../src/source/fetch/concurrency-limit.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { describeConcurrencyLimit } from './concurrency-limit-conformance.ts';

describeConcurrencyLimit('the concurrency limit of one process', async (limit) => {
  const clock = createManualClock();
  let slowDowns = 0;
  const rateLimit = { take: async () => {}, slowDown: () => void slowDowns++, perMinute: undefined };
  const concurrencyLimit = createConcurrencyLimit({ limit, rateLimit, clock });
  return {
    handles: [concurrencyLimit, concurrencyLimit],
    coolDownMs: 5_000,
    recoverMs: 30_000,
    passTime: clock.advance,
    settle: () => clock.advance(0),
    slowDowns: () => slowDowns,
    close: async () => {},
  };
});
