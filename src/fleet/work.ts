/** The work of a worker process: vessel-days from the queue, performed, counted and logged. */
import { hostname } from 'node:os';
import type { Config } from '../config/config.ts';

import type { DayResult } from '../export/export-jobs.ts';
import { failureOf } from '../export/export-jobs.ts';
import type { Log } from '../model/index.ts';
import { formatVesselDay } from '../model/index.ts';
import { measurePorts } from '../operations/measured-ports.ts';
import type { Metrics } from '../operations/metrics.ts';
import type { Consequence } from '../queue/consequence.ts';
import { createQueueHold } from '../queue/hold.ts';
import type { QueuedDay } from '../queue/vessel-day-queue.ts';
import type { VesselDayWorker, WorkerTimings } from '../queue/vessel-day-worker.ts';
import { startVesselDayWorker } from '../queue/vessel-day-worker.ts';
import type { Fleet } from './fleet.ts';
import type { HoldWatch, HoldWatchOptions } from './hold-watch.ts';
import { createHoldWatch } from './hold-watch.ts';
import { createPerformDay } from './perform-day.ts';
import { probeLake, probeService } from './probe.ts';

/** Times that tests shorten. */
export interface WorkTimes {
  readonly worker?: Partial<WorkerTimings>;
  readonly hold?: Pick<HoldWatchOptions, 'pollMs' | 'probeMs'>;
}

export interface Work {
  readonly worker: VesselDayWorker;
  readonly hold: HoldWatch;
}

/** Begin to take vessel-days. */
export function startWork(
  config: Config,
  fleet: Fleet,
  log: Log,
  metrics: Metrics,
  times: WorkTimes = {},
): Work {
  const { app, redis, prefix, queue } = fleet;
  const ports = measurePorts(app.ports, metrics);
  const performDay = createPerformDay(ports, config.jobs);

  async function perform(queued: QueuedDay, signal: AbortSignal): Promise<void> {
    const startedMs = ports.clock.monotonicMs();
    const result = await performDay(queued, signal);
    hold.onSuccess();
    const seconds = (ports.clock.monotonicMs() - startedMs) / 1_000;
    metrics.onVesselDay(queued, result.status, { rows: result.rows, seconds });
    if (result.status !== 'published') logEnd(log, result);
  }

  function onTrouble(queued: QueuedDay, error: unknown, consequence: Consequence['kind']): void {
    const { job, vessel, date } = queued;
    const result = failureOf(ports, { job, vessel, date }, error);
    metrics.onVesselDay(queued, OUTCOMES[consequence]);
    logTrouble(log, result, consequence);
  }

  const worker = startVesselDayWorker({
    redis,
    prefix,
    concurrency: config.settings.WORKER_CONCURRENCY,
    clock: ports.clock,
    random: Math.random,
    log,
    perform,
    onTrouble,
    onHold: (error) => hold.onFault(error),
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
      await probeLake(app.ports);
    },
    pause: () => worker.pause(),
    resume: () => worker.resume(),
    ...times.hold,
  });
  return { worker, hold };
}

/** Labels of the metric, and words of the log. */
const OUTCOMES: Readonly<Record<Consequence['kind'], string>> = {
  'hand-back': 'handed-back',
  hold: 'held',
  wait: 'waiting',
  'count-again': 'counts-disagree',
  retry: 'retrying',
  fail: 'failed',
};

function logEnd(log: Log, { day, status, rows, code, message }: DayResult): void {
  const vesselDay = formatVesselDay(day);
  if (status === 'refused') log.warn({ vesselDay, code, reason: message }, status);
  else log.info({ vesselDay, ...(rows === undefined ? {} : { rows }) }, status);
}

function logTrouble(log: Log, { day, code, message }: DayResult, consequence: Consequence['kind']): void {
  const fields = {
    vesselDay: formatVesselDay(day),
    code,
    ...(message === undefined ? {} : { reason: message }),
  };
  // What holds the queue is said once, by the hold.
  if (consequence === 'hold') log.debug(fields, OUTCOMES[consequence]);
  else if (consequence === 'fail') log.error(fields, OUTCOMES[consequence]);
  else if (consequence === 'hand-back') log.info(fields, OUTCOMES[consequence]);
  else log.warn(fields, OUTCOMES[consequence]);
}
