import { expect, test } from 'vitest';
import { createRateLimit } from '../../../src/source/fetch/rate-limit.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { describeRateLimit } from './rate-limit-conformance.ts';

describeRateLimit('the rate limit of one process', async (perMinute) => {
  const clock = createManualClock();
  const rateLimit = createRateLimit({ clock, perMinute });
  return {
    handles: [rateLimit, rateLimit],
    coolDownMs: 5_000,
    recoverMs: 30_000,
    nowMs: clock.monotonicMs,
    passTime: clock.advance,
    settle: () => clock.advance(0),
    close: async () => {},
  };
});

test('no timer is left behind when the last caller leaves', async () => {
  const clock = createManualClock();
  const rateLimit = createRateLimit({ clock, perMinute: 60 });
  await rateLimit.take();
  const controller = new AbortController();
  const leaving = rateLimit.take(controller.signal);
  await clock.advance(0);
  expect(clock.sleeping()).toEqual([1_000]);
  controller.abort(new Error('enough'));
  await expect(leaving).rejects.toThrow('enough');
  expect(clock.sleeping()).toEqual([]);
});

test('a rate limit that begins is half of what was seen', async () => {
  const clock = createManualClock();
  const rateLimit = createRateLimit({ clock });
  for (let second = 0; second < 120; second++) {
    for (let i = 0; i < 4; i++) await rateLimit.take();
    await clock.advance(1_000);
  }
  rateLimit.slowDown();
  expect(rateLimit.perMinute).toBeGreaterThan(115);
  expect(rateLimit.perMinute).toBeLessThanOrEqual(120);
});
