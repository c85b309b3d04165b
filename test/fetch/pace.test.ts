import { expect, test } from 'vitest';
import { createPace } from '../../src/fetch/pace.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { describePace } from './pace-conformance.ts';

describePace('the pace of one process', async (perMinute) => {
  const clock = createManualClock();
  const pace = createPace({ clock, perMinute });
  return {
    paces: [pace, pace],
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
  const pace = createPace({ clock, perMinute: 60 });
  await pace.take();
  const controller = new AbortController();
  const leaving = pace.take(controller.signal);
  await clock.advance(0);
  expect(clock.sleeping()).toEqual([1_000]);
  controller.abort(new Error('enough'));
  await expect(leaving).rejects.toThrow('enough');
  expect(clock.sleeping()).toEqual([]);
});

test('a pace that begins is half of what was seen', async () => {
  const clock = createManualClock();
  const pace = createPace({ clock });
  for (let second = 0; second < 120; second++) {
    for (let i = 0; i < 4; i++) await pace.take();
    await clock.advance(1_000);
  }
  pace.slowDown();
  expect(pace.perMinute).toBeGreaterThan(115);
  expect(pace.perMinute).toBeLessThanOrEqual(120);
});
