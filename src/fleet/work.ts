/** The work of a worker process: exports vessel-days from the queue by the jobs that it knows, counts and logs them. */
import { hostname } from 'node:os';
import { shareAnswer } from '../core/concurrency.ts';
import { HttpStatusError, isRefusal, RefusedError, type VesselExportError } from '../core/errors.ts';
import { formatVesselDay, type Job, type Log } from '../core/model/index.ts';
import { jobNamed } from '../core/names.ts';
import { isDue } from '../core/plan/due.ts';
import { settingsHash } from '../core/plan/settings-hash.ts';
import type { DayResult, OnExportEvent } from '../export/events.ts';
import { type SnapshotsBefore, snapshotsBefore } from '../export/metadata-snapshot.ts';
import type { ExportPorts } from '../export/ports.ts';
import { failedResult, performTask } from '../export/run/run-jobs.ts';
import { checkDue } from '../export/source-answers.ts';
import type { Encoder } from '../parquet/write/index.ts';
import type { Config } from '../runtime/config/config.ts';
import { expressionFor } from '../source/series.ts';
import { PROBE_PREFIX } from '../store/key.ts';
import type { OnFleetEvent } from './events.ts';
import type { Fleet } from './fleet.ts';
import { createHoldWatch, type HoldWatchOptions } from './hold-watch.ts';
import type { Consequence } from './queue/settle-job.ts';
import type { QueuedDay } from './queue/vessel-day-queue.ts';
import type { WorkerOptions, WorkerTimings } from './queue/vessel-day-worker.ts';

export interface WorkTimes {
  readonly worker?: Partial<WorkerTimings>;
  readonly hold?: Pick<HoldWatchOptions, 'pollMs' | 'probeMs'>;
}

export type Work = ReturnType<typeof startWork>;

/** Label of every job that is not in JOBS_DIR; no job can be called so. */
const UNKNOWN_JOB = '(unknown)';

export function startWork(config: Config, fleet: Fleet, log: Log, emit: OnFleetEvent, times: WorkTimes = {}) {
  const { app, queue } = fleet;
  const ports = measurePorts(app.ports, emit);
  const performDay = createPerformDay(ports, config.jobs);
  const jobNames = new Set(config.jobs.map(({ name }) => name));

  const perform: WorkerOptions['perform'] = async (queued, signal, giveUp, onWaiting) => {
    const startedMs = ports.clock.monotonicMs();
    const result = await performDay(queued, signal, giveUp, (event) => {
      if (event.kind === 'day-step' && event.step === 'completed') onWaiting();
      emit(event);
    });
    hold.onSuccess();
    const seconds = (ports.clock.monotonicMs() - startedMs) / 1_000;
    const { status: outcome, rows } = result;
    emit({ kind: 'day-outcome', job: queued.job, outcome, rows, seconds });
    if (result.status !== 'published') logEnd(log, result);
  };

  function onTrouble(queued: QueuedDay, error: unknown, consequence: Consequence['kind']): void {
    const { job, vessel, date } = queued;
    const { day, code, message } = failedResult(ports, { job, vessel, date }, error);
    const [label, level] = OUTCOMES[consequence];
    // A label for each unknown name in the queue would fill the memory of every process that collects metrics.
    emit({ kind: 'day-outcome', job: jobNames.has(job) ? job : UNKNOWN_JOB, outcome: label });
    const reason = message === undefined ? {} : { reason: message };
    log[level]({ vesselDay: formatVesselDay(day), code, ...reason }, label);
  }

  const worker = queue.startWorker({
    concurrency: config.settings.WORKER_CONCURRENCY,
    clock: ports.clock,
    random: Math.random,
    ...{ log, perform, onTrouble },
    onFault: (error) => hold.onFault(error),
    ...(times.worker && { timings: times.worker }),
  });
  const hold = createHoldWatch({
    hold: queue.hold,
    clock: ports.clock,
    log,
    host: hostname(),
    probe: async (signal) => {
      const [job] = config.jobs;
      if (job !== undefined) await probeService(app.ports, job, signal);
      await probeLake(app.ports, config.jobs);
    },
    pause: () => worker.pause(),
    resume: () => worker.resume(),
    ...times.hold,
  });
  return { worker, hold };
}

/** The same ports, which also emit how long row groups and parts take. */
function measurePorts(ports: ExportPorts, emit: OnFleetEvent): ExportPorts {
  const { clock } = ports;
  const store = Object.create(ports.store) as typeof ports.store;
  store.append = async (upload, partNumber, bytes) => {
    const startedMs = clock.monotonicMs();
    const part = await ports.store.append(upload, partNumber, bytes);
    emit({ kind: 'uploaded', seconds: (clock.monotonicMs() - startedMs) / 1_000, sizeBytes: bytes.length });
    return part;
  };
  const encoder: Encoder = {
    ...ports.encoder,
    async encode(job) {
      const startedMs = clock.monotonicMs();
      const answer = await ports.encoder.encode(job);
      emit({ kind: 'encoded', seconds: (clock.monotonicMs() - startedMs) / 1_000 });
      return answer;
    },
  };
  return { ...ports, store, encoder };
}

/** Label of the metric, which is also the text of the log line, and the level of that line. */
const OUTCOMES: Readonly<Record<Consequence['kind'], readonly [label: string, level: keyof Log]>> = {
  'hand-back': ['handed-back', 'info'],
  // The reason of a hold is logged once, by the hold.
  hold: ['held', 'debug'],
  wait: ['waiting', 'warn'],
  'count-again': ['counts-disagree', 'warn'],
  retry: ['retrying', 'warn'],
  fail: ['failed', 'error'],
};

function logEnd(log: Log, { day, status, rows, code, message }: DayResult): void {
  const vesselDay = formatVesselDay(day);
  if (status === 'refused') log.warn({ vesselDay, code, reason: message }, status);
  else log.info({ vesselDay, ...(rows === undefined ? {} : { rows }) }, status);
}

/** Throws ConfigError `unknown-job`, and what the export throws; a vessel-day of a look-back may be `refused` instead. */
export function createPerformDay(ports: ExportPorts, jobs: readonly Job[]) {
  const snapshots = createSnapshotCache(ports);
  return async (
    queued: QueuedDay,
    signal: AbortSignal,
    giveUp?: VesselExportError,
    onEvent?: OnExportEvent,
  ): Promise<DayResult> => {
    const { job: name, vessel, date, kind: origin, compared } = queued;
    const { force = false, allowShrink = false, unlisted = false } = queued;
    const day = { job: name, vessel, date };
    const where = `here, which ${formatVesselDay(day)} is of (all schedulers and workers need the same job files)`;
    const job = jobNamed(jobs, name, where);
    // It may have waited too long: a snapshot of a past day can't be taken.
    if (!isDue(job, date, ports.clock.nowMs())) return { day, status: 'not-due' };
    checkDue(ports, job, date);
    const before = job.dataset === 'metadata' ? (await snapshots(job, date))(vessel) : {};
    const task = {
      ...{ job, day, force, allowShrink, takeover: false, unlisted, origin },
      settingsHash: settingsHash(job, ports.apiVersion),
      ...(compared && { compared }),
      ...(giveUp && { giveUp }),
      ...(onEvent && { onEvent }),
      ...before,
    };
    try {
      return await performTask(ports, task, signal);
    } catch (error) {
      // The published day stays, and the note keeps look-backs from retrying: the queue has nothing more to do.
      if (compared !== undefined && error instanceof RefusedError && isRefusal(error))
        return failedResult(ports, day, error);
      throw error;
    }
  };
}

/** Snapshots of past days never change, so one read per job and date serves every vessel. */
function createSnapshotCache(ports: ExportPorts) {
  let last: { readonly key: string; readonly look: () => Promise<SnapshotsBefore> } | undefined;
  return (job: Job, date: string): Promise<SnapshotsBefore> => {
    const key = `${job.name}/${date}`;
    if (last?.key !== key)
      last = { key, look: shareAnswer(ports.clock, () => snapshotsBefore(ports, job), Infinity) };
    return last.look();
  };
}

/** Rejects with the error that a vessel-day would get. Any answer but 401 shows that the credentials are accepted. */
export async function probeService(
  ports: Pick<ExportPorts, 'client'>,
  job: Job,
  signal: AbortSignal,
): Promise<void> {
  const expression =
    'discover' in job.vessels ? job.vessels.discover : expressionFor(job.select[0]!, job.vessels[0] ?? '');
  try {
    await ports.client.exchange(
      () => ({ family: 'metadata', expressions: [expression], format: 'json' }),
      async (response) => {
        // The first bytes are enough; leaving the loop ends the body.
        for await (const _ of response.body) return;
      },
      { signal },
    );
  } catch (error) {
    if (!(error instanceof HttpStatusError) || error.status === 401) throw error;
  }
}

/** Read the lake's own file, write a small object and remove it. Rejects with the error that a vessel-day would get. */
export async function probeLake(
  ports: Pick<ExportPorts, 'store' | 'nonce' | 'layout'>,
  jobs: readonly Job[],
): Promise<void> {
  await ports.layout.settle();
  await ports.layout.checkSource(jobs.map(({ name }) => name));
  const key = `${PROBE_PREFIX}${ports.nonce()}`;
  await ports.store.put(key, Buffer.from('{}\n'));
  await ports.store.remove(key);
}
