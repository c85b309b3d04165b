/** Many vessel-days of some jobs, in this process: plan from the ledger, then perform what is left. */
import { CancelledError, FencedError, messageOf, RefusedError, VesselExportError } from '../errors.ts';
import { createRequestStats } from '../fetch/exchange.ts';
import type { Job, Receipt, VesselDay } from '../model/index.ts';
import { addDays, datesBetween, formatVesselDay, microsToDate, receiptKey } from '../model/index.ts';
import type { PlannedDay } from '../plan/due.ts';
import { planVesselDays } from '../plan/due.ts';
import { settingsHash } from '../plan/settings-hash.ts';
import { lastReceiptDates, readReceipt } from '../publish/ledger.ts';
import { readLedger } from '../publish/ledger-index.ts';
import { removeFinishedClaims } from '../publish/tidy.ts';
import { runInline } from '../queue/runner.ts';
import { askMetadata } from './ask-metadata.ts';
import { exportVesselDay } from './export-vessel-day.ts';
import type { ExportPorts, ExportTask, Progress } from './ports.ts';

export interface ExportRequest {
  readonly jobs: readonly Job[];
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** In the place of the jobs' own vessels; empty: theirs. */
  readonly vessels: readonly string[];
  readonly force: boolean;
  readonly allowShrink: boolean;
  readonly takeover: boolean;
  /** Vessel-days at once. */
  readonly concurrency: number;
}

/** How one vessel-day ended. */
export interface DayResult {
  readonly day: VesselDay;
  readonly status:
    | 'published'
    | 'empty'
    | 'done'
    | 'unchanged'
    | 'not-due'
    | 'failed'
    | 'refused'
    | 'running-elsewhere'
    | 'interrupted'
    | 'not-begun';
  readonly rows?: number;
  readonly resumed?: boolean;
  readonly code?: string;
  readonly message?: string;
}

/** Told what happens, as it happens. */
export interface ExportObserver {
  /** How many vessel-days will be worked on. */
  onPlanned(toDo: number): void;
  onProgress(day: VesselDay, progress: Progress): void;
  onResult(result: DayResult): void;
}

/**
 * Export every vessel-day of the request that is due and not done. Failures of vessel-days are results, not
 * errors; one that every other would meet too leaves the rest `not-begun`. Throws CancelledError when
 * interrupted, and what went wrong while planning.
 */
export async function exportJobs(
  ports: ExportPorts,
  request: ExportRequest,
  observer: ExportObserver,
  signal: AbortSignal,
): Promise<void> {
  const tasks: ExportTask[] = [];
  for (const job of request.jobs) {
    for (const planned of await planJob(ports, job, request, signal)) {
      const { result, task } = planned;
      if (result !== undefined) observer.onResult(result);
      if (task !== undefined) tasks.push({ ...task, onProgress: (p) => observer.onProgress(task.day, p) });
    }
  }
  await performTasks(ports, tasks, request.concurrency, observer, signal);
}

/** Export these vessel-days, `concurrency` at once. Failures and errors as those of `exportJobs`. */
export async function performTasks(
  ports: ExportPorts,
  tasks: readonly ExportTask[],
  concurrency: number,
  observer: ExportObserver,
  signal: AbortSignal,
): Promise<void> {
  observer.onPlanned(tasks.length);
  const waiting = new Set(tasks);
  try {
    await runInline(tasks, {
      concurrency,
      signal,
      perform: (task, scope) => {
        waiting.delete(task);
        return performTask(ports, task, scope);
      },
      onSettled: (task, settled) =>
        observer.onResult('outcome' in settled ? settled.outcome : failureOf(ports, task.day, settled.error)),
    });
  } catch (error) {
    for (const { day } of waiting) observer.onResult({ day, status: 'not-begun' });
    if (error instanceof CancelledError) throw error;
  }
}

interface PlannedTask {
  readonly task?: ExportTask;
  readonly result?: DayResult;
}

async function planJob(
  ports: ExportPorts,
  job: Job,
  request: ExportRequest,
  signal: AbortSignal,
): Promise<PlannedTask[]> {
  const vessels = request.vessels.length > 0 ? request.vessels : await findVessels(ports, job, signal);
  const hash = settingsHash(job, ports.apiVersion);
  const dates = datesBetween(request.from, request.to);
  const { receipts, damaged } = await readLedger({
    store: ports.store,
    job: job.name,
    dates,
    vessels: new Set(vessels),
    writeIndex: true,
    log: ports.log,
    project: ({ settingsHash, epoch, rows }) => ({ settingsHash, epoch, rows }),
  });
  if (damaged[0] !== undefined) throw damaged[0].error;
  const receiptOf = (day: VesselDay) => receipts.get(receiptKey(day));
  await removeFinishedClaims(ports.store, job.name);
  const nowMs = ports.clock.nowMs();
  const planned = planVesselDays({ ...request, job, vessels, nowMs, settingsHash: hash, receiptOf });
  const snapshots = job.dataset === 'metadata' ? await lastSnapshots(ports, job, nowMs) : undefined;
  return planned.map((day) => toTask(request, job, hash, day, receiptOf(day.day), snapshots));
}

function toTask(
  request: ExportRequest,
  job: Job,
  hash: string,
  { day, state }: PlannedDay,
  receipt: Pick<Receipt, 'rows'> | undefined,
  snapshots: ReadonlyMap<string, Receipt> | undefined,
): PlannedTask {
  if (state === 'not-due') return { result: { day, status: 'not-due' } };
  if (state === 'done' && !request.force)
    return { result: { day, status: 'done', rows: receipt?.rows ?? 0 } };
  const { force, allowShrink, takeover } = request;
  const lastSnapshot = snapshots?.get(day.vessel);
  return {
    task: {
      job,
      day,
      settingsHash: hash,
      force,
      allowShrink,
      takeover,
      ...(lastSnapshot === undefined ? {} : { lastSnapshot }),
    },
  };
}

/** The vessels of a job: as listed, or those in the metadata query that discovers them. */
export async function findVessels(
  ports: Pick<ExportPorts, 'client'>,
  job: Job,
  signal: AbortSignal,
  stats = createRequestStats(),
): Promise<readonly string[]> {
  if (!('discover' in job.vessels)) return job.vessels;
  const context = { client: ports.client, signal, stats };
  const vessels = new Set<string>();
  await askMetadata(context, job.vessels.discover, ({ vesselImo }) => {
    if (vesselImo !== null) vessels.add(`IMO${vesselImo}`);
  });
  return [...vessels].sort();
}

/** Each vessel's newest snapshot before today, which today's is compared with. */
export async function lastSnapshots(
  ports: ExportPorts,
  job: Job,
  nowMs: number,
): Promise<Map<string, Receipt>> {
  const today = microsToDate(nowMs * 1_000);
  const snapshots = new Map<string, Receipt>();
  for (const [vessel, date] of await lastReceiptDates(ports.store, job.name, today)) {
    const receipt = await readReceipt(ports.store, { job: job.name, vessel, date });
    if (receipt !== undefined) snapshots.set(vessel, receipt);
  }
  return snapshots;
}

/** Export one vessel-day, and log it when it was published. Throws what `exportVesselDay` throws. */
export async function performTask(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
): Promise<DayResult> {
  const { day } = task;
  const startedMs = ports.clock.monotonicMs();
  const outcome = await exportVesselDay(ports, task, signal);
  if (outcome.status === 'unchanged') return { day, status: 'unchanged' };
  const { receipt } = outcome;
  if (outcome.status === 'done') return { day, status: 'done', rows: receipt.rows };
  const durationMs = Math.round(ports.clock.monotonicMs() - startedMs);
  const sizeBytes = receipt.object?.sizeBytes ?? 0;
  ports.log.info(
    { vesselDay: formatVesselDay(day), rows: receipt.rows, sizeBytes, proof: receipt.proof, durationMs },
    'published',
  );
  return {
    day,
    status: receipt.rows === 0 ? 'empty' : 'published',
    rows: receipt.rows,
    resumed: outcome.resumed,
  };
}

/** The result that an error makes. */
export function failureOf(ports: ExportPorts, day: VesselDay, error: unknown): DayResult {
  const message = messageOf(error);
  if (!(error instanceof VesselExportError)) {
    const stack = error instanceof Error ? error.stack : undefined;
    ports.log.error({ vesselDay: formatVesselDay(day), stack }, 'internal error, please report it');
    return { day, status: 'failed', code: 'internal-error', message };
  }
  if (error instanceof CancelledError) return { day, status: 'interrupted' };
  if (error instanceof RefusedError) return { day, status: 'refused', code: error.code, message };
  if (error instanceof FencedError) return { day, status: 'running-elsewhere', code: error.code, message };
  return { day, status: 'failed', code: error.code, message };
}

/** Yesterday and today (for metadata, which is captured on the day itself): what `run` does without dates. */
export function defaultDates(nowMs: number): { from: string; to: string } {
  const today = microsToDate(nowMs * 1_000);
  return { from: addDays(today, -1), to: addDays(today, 1) };
}
