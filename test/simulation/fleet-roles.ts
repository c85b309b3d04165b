/** What the processes of a simulated fleet do, and what people do: the product's own modules on the ports of a world. */
import { addDays } from '../../src/core/model/index.ts';
import { exportJobs } from '../../src/export/run/run-jobs.ts';
import { changeBackfill, releaseFailed, startBackfill } from '../../src/fleet/backfills.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { createNoticeWatch } from '../../src/fleet/notice-watch.ts';
import { withOtherPlace } from '../../src/fleet/notify/notice-store.ts';
import { createTeller } from '../../src/fleet/notify/notices.ts';
import { liftHold } from '../../src/fleet/queue/hold.ts';
import { createScheduler as createFleetScheduler } from '../../src/fleet/scheduler.ts';
import { tryAgain, tryFailedAgain } from '../../src/fleet/try-again.ts';
import { startWork } from '../../src/fleet/work.ts';
import { acceptWarning } from '../../src/lake/accept.ts';
import { listBackfills } from '../../src/lake/backfills.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import type { Config } from '../../src/runtime/config/config.ts';
import type { Doing } from './fleet-history.ts';
import { BACKFILL_FROM, SINCE } from './fleet-history.ts';
import { type FleetPorts, type FleetWorld, LOOK_MS } from './fleet-world.ts';
import { JOB } from './process.ts';

const HOUR_MS = 3_600_000;
const TIMES = {
  worker: { lockMs: 120_000, stalledCheckMs: LOOK_MS },
  hold: { pollMs: LOOK_MS, probeMs: [60_000, LOOK_MS] as const },
};

/** What a process does until it is told to stop. */
export function runProcess(process: FleetPorts, role: 'scheduler' | 'worker', signal: AbortSignal): void {
  const { ports, queue, job, clock, log, state, store, shared, webhook } = process;
  if (role === 'worker') {
    const config = { settings: { WORKER_CONCURRENCY: 2 }, jobs: [job] } as unknown as Config;
    const work = startWork(config, fleetOf(process), log, () => {}, TIMES);
    work.hold.watch(signal).then(async () => {
      await work.worker.stop();
      await process.close();
    });
    return;
  }
  const watch = createNoticeWatch({
    ...{ jobs: [job], clock, log, intervalMs: LOOK_MS, nightByMs: 12 * HOUR_MS, lateDays: 1 },
    tell: createTeller({ ...{ clock, log, webhook }, store: withOtherPlace(forgetting(process), shared) }),
    readHold: async () => (process.isRedisAway() ? 'unknown' : ((await queue.hold.read()) ?? 'none')),
  });
  const planning = { ports, queue, log, ledger: createLedgerView(store, clock, log) };
  const scheduler = createFleetScheduler({
    ...{ ...planning, jobs: [job], state, intervalMs: LOOK_MS, onEvent: watch.onEvent },
  });
  Promise.all([scheduler.run(signal), watch.run(signal)]).then(process.close);
}

/** The oracle is told where nobody can know what was told before. */
function forgetting({ store, forget }: FleetPorts): FleetPorts['store'] {
  const get: typeof store.get = (key) =>
    store.get(key).catch((error: unknown) => {
      forget();
      throw error;
    });
  return { ...store, get };
}

export const fleetOf = ({ ports, queue, store }: FleetPorts) =>
  ({ app: { ports, store }, queue }) as unknown as Fleet;
const NEVER = new AbortController().signal;

/** What people do. */
export const DO: Readonly<
  Record<Doing['kind'], (person: FleetPorts, doing: Doing, world: FleetWorld) => Promise<unknown>>
> = {
  async backfill(person, { allowShrink, vessel, atMs }, world) {
    if (allowShrink) world.allowShrink();
    const vessels = atMs % 2 === 0 ? [] : [vessel];
    const request = { job: JOB, from: BACKFILL_FROM, to: SINCE, vessels, allowShrink };
    world.asked.add((await startBackfill(fleetOf(person), person.job, request)).backfill);
  },
  pause: (person) => changeEach(person, 'pause'),
  resume: (person) => changeEach(person, 'resume'),
  async cancel(person, _, { asked }) {
    asked.clear();
    await changeEach(person, 'cancel');
  },
  async try({ queue, ports, job }, { vessel, date, allowShrink }, world) {
    if (allowShrink) world.allowShrink();
    await tryAgain({ queue, ports }, job, { job: JOB, vessel, date }, allowShrink);
  },
  async force(person, doing, world) {
    await DO.try(person, doing, world);
    const day = { job: JOB, vessel: doing.vessel, date: doing.date };
    await person.queue.add([{ ...day, kind: 'reconcile', force: true }]);
  },
  'try-failed': ({ queue }) => tryFailedAgain(queue, JOB),
  release: ({ queue }, { date }) =>
    releaseFailed(queue, { job: JOB, from: date, to: addDays(date, 2), vessels: [], allowShrink: false }),
  accept: ({ ports }, { vessel }) => acceptWarning(ports, JOB, vessel),
  lift: ({ queue }) => liftHold(queue),
  'pause-queue': async (_, __, { redis }) => redis.placeHold(null),
  run: ({ ports, job }, { vessel, date, allowShrink }, world) => {
    if (allowShrink) world.allowShrink();
    const request = { jobs: [job], vessels: [vessel], from: date, to: addDays(date, 1), concurrency: 1 };
    const how = { force: false, allowShrink, takeover: false };
    return exportJobs(ports, { ...request, ...how }, () => {}, NEVER);
  },
};

async function changeEach(person: FleetPorts, change: 'pause' | 'resume' | 'cancel'): Promise<void> {
  for (const { id } of await listBackfills(person.store)) await changeBackfill(fleetOf(person), change, id);
}
