import { createCap } from '../../src/fetch/cap.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { describeCap } from './cap-conformance.ts';

describeCap('the cap of one process', async (limit) => {
  const clock = createManualClock();
  let slowDowns = 0;
  const pace = { take: async () => {}, slowDown: () => void slowDowns++, perMinute: undefined };
  const cap = createCap({ limit, pace, clock });
  return {
    caps: [cap, cap],
    coolDownMs: 5_000,
    recoverMs: 30_000,
    passTime: clock.advance,
    settle: () => clock.advance(0),
    slowDowns: () => slowDowns,
    close: async () => {},
  };
});
