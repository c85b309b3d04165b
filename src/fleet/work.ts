/** The work of a worker process: vessel-days from the queue, performed, counted and logged. */
import { hostname } from 'node:os';
import type { VesselExportError } from '../core/errors.ts';
import type { Log } from '../core/model/index.ts';
import { formatVesselDay } from '../core/model/index.ts';
import type { DayResult } from '../export/events.ts';
import type { ExportPorts } from '../export/ports.ts';
import { failedResult } from '../export/run/perform-task.ts';
import type { Encoder } from '../parquet/write/index.ts';
import type { Config } from '../runtime/config/config.ts';
import type { OnFleetEvent } from './events.ts';
import type { Fleet } from './fleet.ts';
import type { HoldWatch, HoldWatchOptions } from './hold-watch.ts';
import { createHoldWatch } from './hold-watch.ts';
import { createPerformDay } from './perform-day.ts';
import { probeLake, probeService } from './probe.ts';
import type { Consequence } from './queue/consequence.ts';
import { createQueueHold } from './queue/hold.ts';
import type { QueuedDay } from './queue/vessel-day-queue.ts';
import type { VesselDayWorker, WorkerTimings } from './queue/vessel-day-worker.ts';
import { startVesselDayWorker } from './queue/vessel-day-worker.ts';

/** Times that tests shorten. */
export interface WorkTimes {
  readonly worker?: Partial<WorkerTimings>;
  readonly hold?: Pick<HoldWatchOptions, 'pollMs' | 'probeMs'>;
}

export interface Work {
  readonly worker: VesselDayWorker;
  readonly hold: HoldWatch;
}

/** Label of every job that is not in JOBS_DIR; no job can be called so. */
const UNKNOWN_JOB = '(unknown)';

/** Begin to take vessel-days. */
export function startWork(
  config: Config,
  fleet: Fleet,
  log: Log,
  emit: OnFleetEvent,
  times: WorkTimes = {},
): Work {
  const { app, redis, prefix, queue, tracing } = fleet;
  const ports = measurePorts(app.ports, emit);
  const performDay = createPerformDay(ports, config.jobs);
  const jobNames = new Set(config.jobs.map(({ name }) => name));

  async function perform(
    queued: QueuedDay,
    signal: AbortSignal,
    giveUp: VesselExportError | undefined,
    onWaiting: () => void,
  ): Promise<void> {
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
  }

  function onTrouble(queued: QueuedDay, error: unknown, consequence: Consequence['kind']): void {
    const { job, vessel, date } = queued;
    const { day, code, message } = failedResult(ports, { job, vessel, date }, error);
    const [label, level] = OUTCOMES[consequence];
    // A label of one's own for each name that somebody puts into the queue would fill every memory on the way.
    emit({ kind: 'day-outcome', job: jobNames.has(job) ? job : UNKNOWN_JOB, outcome: label });
    const reason = message === undefined ? {} : { reason: message };
    log[level]({ vesselDay: formatVesselDay(day), code, ...reason }, label);
  }

  const worker = startVesselDayWorker({
    redis,
    prefix,
    concurrency: config.settings.WORKER_CONCURRENCY,
    clock: ports.clock,
    random: Math.random,
    log,
    tracing,
    perform,
    onTrouble,
    onFault: (error) => hold.onFault(error),
    ...(times.worker === undefined ? {} : { timings: times.worker }),
  });
  const hold = createHoldWatch({
    hold: createQueueHold(redis, queue.bull),
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

/** The same ports, telling how long row groups and parts take. */
function measurePorts(ports: ExportPorts, emit: OnFleetEvent): ExportPorts {
  const { clock } = ports;
  const store = Object.create(ports.store) as typeof ports.store;
  store.uploadPart = async (upload, partNumber, bytes) => {
    const startedMs = clock.monotonicMs();
    const part = await ports.store.uploadPart(upload, partNumber, bytes);
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

/** Label of the metric, which is also the word of the log, and its level. */
const OUTCOMES: Readonly<Record<Consequence['kind'], readonly [label: string, level: keyof Log]>> = {
  'hand-back': ['handed-back', 'info'],
  // What holds the queue is said once, by the hold.
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
