/** What people are told follows from what the scheduler has told, and from no wall clock that somebody may set. */
import { expect, test } from 'vitest';
import type { Job } from '../../src/core/model/index.ts';
import { silentLog } from '../../src/core/model/index.ts';
import type { HoldNow } from '../../src/fleet/notice-facts.ts';
import { createNoticeWatch } from '../../src/fleet/notice-watch.ts';
import type { KnownCauses, ToldCause } from '../../src/fleet/notify/cause-changes.ts';
import type { Hold } from '../../src/fleet/queue/hold.ts';
import { createManualClock } from '../helpers/manual-clock.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
const DAILY = { cron: '15 6 * * *', timezone: 'UTC' };
const JOB: Job = {
  ...{ name: 'm', dataset: 'measurements', vessels: [], select: [], transport: 'ndjson', verify: 'exact' },
  ...{ schedule: { ...DAILY, settleMs: 0 }, reconcile: { ...DAILY, lookbackDays: 3 } },
};
const HOLD: Hold = { code: 'disk-full', message: 'full', host: 'a', sinceMs: 1 };
const LOOK_BACK = { kind: 'looked-back', job: 'm', from: '2026-01-03', to: '2026-01-06' } as const;
const never = new AbortController().signal;

function openWatch(told: readonly ToldCause[] = []) {
  const manual = createManualClock();
  const state = { aheadMs: 0, hold: 'none' as HoldNow };
  const clock = { ...manual, nowMs: () => manual.nowMs() + state.aheadMs };
  let known: KnownCauses = new Map();
  const watch = createNoticeWatch({
    ...{ jobs: [JOB], clock, log: silentLog, nightByMs: 12 * 60 * MINUTE_MS, lateDays: 0 },
    tell: async (causesOf) => {
      known = await causesOf(told);
    },
    readHold: async () => state.hold,
  });
  return {
    ...{ watch, state, advance: manual.advance },
    /** What is known of a cause: its text, `over: …`, or undefined. */
    async of(key: string) {
      await watch.look(never);
      const cause = known.get(key);
      return typeof cause === 'string' ? `over: ${cause}` : cause?.text;
    },
  };
}

test('a clock that was ten days ahead when a job was planned does not silence anybody once it is set back', async () => {
  const { watch, state, advance, of } = openWatch();
  state.aheadMs = 10 * DAY_MS;
  watch.onEvent({ kind: 'lead', leads: true });
  watch.onEvent({ kind: 'job-planned', job: 'm' });
  expect(await of('not-planned/m')).toBe('over: m: it is planned again');
  state.aheadMs = 0;
  await advance(16 * MINUTE_MS);
  expect(await of('not-planned/m')).toMatch(/^m: it has not been planned since 2026-01-06T06:00Z/);
});

test('what a hold makes fail is told by the hold, and by itself once that is over', async () => {
  const { watch, state, advance, of } = openWatch();
  watch.onEvent({ kind: 'lead', leads: true });
  watch.onEvent({ kind: 'job-planned', job: 'm' });
  watch.onEvent({ kind: 'look-back-failed', job: 'm', times: 3, reason: 'refused' });
  watch.onEvent({ kind: 'stuck-backfills', stuck: new Map([['b-1', 'no job here']]) });
  state.hold = HOLD;
  await advance(10 * MINUTE_MS);
  expect(await of('hold')).toBe('the queue is on hold, and nothing is exported: disk-full at a: full');
  expect([await of('look-back/m'), await of('backfill')]).toEqual([undefined, undefined]);
  state.hold = 'none';
  expect(await of('look-back/m')).toBe('m: look-backs fail, so that late data are not found: refused');
  watch.onEvent({ kind: 'job-planned', job: 'm' });
  expect(await of('backfill')).toBeUndefined();
  await advance(14 * MINUTE_MS);
  watch.onEvent({ kind: 'job-planned', job: 'm' });
  expect(await of('backfill')).toBeUndefined();
  await advance(MINUTE_MS);
  expect(await of('backfill')).toBe('backfills cannot continue: b-1: no job here');
  // A job that is not planned is why, and told.
  await advance(16 * MINUTE_MS);
  expect(await of('backfill')).toBeUndefined();
  watch.onEvent({ kind: 'job-planned', job: 'm' });
  watch.onEvent({ kind: 'stuck-backfills', stuck: new Map() });
  expect(await of('backfill')).toBe('over: all backfills continue');
});

test('fewer than three failures are nothing, and an end is one', async () => {
  const { watch, of } = openWatch();
  watch.onEvent({ kind: 'lead', leads: true });
  expect(await of('look-back/m')).toBeUndefined();
  watch.onEvent({ kind: 'look-back-failed', job: 'm', times: 2, reason: 'refused' });
  expect(await of('look-back/m')).toBeUndefined();
  watch.onEvent({ ...LOOK_BACK, found: {}, uncompared: [] });
  expect(await of('look-back/m')).toBe('over: m: a look-back has succeeded again');
});

test('of a job that is gone nothing lasts, but for what another version has told', async () => {
  const told = ['failed', 'tide-too-low'].map((kind) => ({
    kind,
    job: 'gone',
    members: [],
    count: 0,
    sinceMs: 1,
  }));
  const { watch, of } = openWatch(told);
  watch.onEvent({ kind: 'lead', leads: true });
  expect(await of('failed/gone')).toBe('over: gone: no vessel-day is failed any more');
  expect(await of('tide-too-low/gone')).toBeUndefined();
});
