/** A real queue and a real lake in a folder, without workers: a test marks vessel-days as done by their receipts. */
import { pathToFileURL } from 'node:url';
import type { Redis } from 'ioredis';
import { type Job, silentLog, type VesselDay } from '../../src/core/model/index.ts';
import { lastFiringMs } from '../../src/core/plan/firings.ts';
import { settingsHash } from '../../src/core/plan/settings-hash.ts';
import type { ExportPorts } from '../../src/export/ports.ts';
import type { PlanningPorts } from '../../src/fleet/nightly.ts';
import { openVesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { createScheduler, type SchedulerOptions } from '../../src/fleet/scheduler.ts';
import { type Backfill, backfillId } from '../../src/lake/backfills.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import { createScheduleState, type ScheduleState } from '../../src/redis/schedule-state.ts';
import { openStore } from '../../src/store/open-store.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts';
import { newMemoryFolder } from '../helpers/temp.ts';

export const VESSELS = ['IMO9000001', 'IMO9000002'];

/** Fires at 06:15; a day is due six hours after it ends. */
export const JOB: Job = {
  name: 'measurements',
  dataset: 'measurements',
  vessels: VESSELS,
  select: ['flat/{vessel}/*'],
  transport: 'ndjson',
  verify: 'exact',
  schedule: { cron: '15 6 * * *', timezone: 'UTC', settleMs: 6 * 3_600_000 },
  reconcile: { cron: '45 7 * * *', timezone: 'UTC', lookbackDays: 5 },
};

export const REQUEST = {
  job: JOB.name,
  from: '2025-03-01',
  to: '2025-03-04',
  vessels: [],
  allowShrink: false,
};
export const BACKFILL: Backfill = {
  ...{ backfillVersion: 1, id: backfillId(REQUEST), ...REQUEST },
  ...{ paused: false, createdAt: '2026-01-09T00:00:00.000Z' },
};

/** Every look-back of JOB counts as done: they have tests of their own, on a real service. */
export function withoutLookBacks(state: ScheduleState, clock: ManualClock): ScheduleState {
  return {
    ...state,
    plannedFiringMs: async (kind, job) =>
      kind === 'reconcile'
        ? lastFiringMs(JOB.reconcile!, clock.nowMs())
        : await state.plannedFiringMs(kind, job),
  };
}

export type PlanningBench = Awaited<ReturnType<typeof openPlanningBench>>;

export async function openPlanningBench(redis: Redis, prefix: string, startMs: number) {
  const folder = await newMemoryFolder();
  const store = await openStore(pathToFileURL(folder.path).href, {});
  const clock = createManualClock(startMs);
  const queue = openVesselDayQueue({ redis, prefix });
  /** What planning was told to be missing, by job. */
  const missing = new Map<string, [count: number, oldest: string | undefined]>();
  const ports = { store, clock, log: silentLog, apiVersion: '2026-09-10' } as unknown as ExportPorts;
  /** Give a vessel-day a receipt of the job's settings, or of others. */
  const finish = async (day: VesselDay, hash = settingsHash(JOB, '2026-09-10')) => {
    await writeReceipt(store, makeReceipt(day, { settingsHash: hash }));
  };
  const planning: PlanningPorts = {
    ...{ ports, queue, ledger: createLedgerView(store), log: silentLog },
    onEvent: (event) => {
      if (event.kind === 'missing') missing.set(event.job, [event.missing, event.oldest]);
    },
  };
  /** Waiting vessel-days in the order in which they will be taken, as `vessel/date`. */
  const waiting = async (): Promise<string[]> => {
    const jobs = await queue.bull.getJobs(['waiting', 'prioritized'], 0, -1, true);
    return jobs.map(({ data }) => `${data.vessel}/${data.date}`);
  };
  /** Take a vessel-day from the queue as a worker would, and finish it. */
  const workOn = async (day: VesselDay) => {
    await finish(day);
    await queue.remove(day);
  };
  let schedulers = 0;
  return {
    ...{ clock, store, queue, prefix, missing, planning, finish, waiting, workOn },
    /** The same with all that wait. */
    async workOff() {
      for (const text of await waiting()) {
        const [vessel, date] = text.split('/') as [string, string];
        await workOn({ job: JOB.name, vessel, date });
      }
    },
    /** Another scheduler, without look-backs. */
    newScheduler(more?: Partial<SchedulerOptions>) {
      const state = createScheduleState(redis, prefix, `scheduler ${schedulers++}`);
      return createScheduler({ ...planning, jobs: [JOB], state: withoutLookBacks(state, clock), ...more });
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await folder.remove();
    },
  };
}
