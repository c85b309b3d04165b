/** Exports many vessel-days of some jobs in this process: plans from the ledger, then exports what is missing. */
import { runInline } from '../../core/concurrency.ts';
import {
  CancelledError,
  codeOf,
  FencedError,
  isRefusal,
  messageOf,
  NotDueError,
  NotYetError,
  RefusedError,
  VesselExportError,
} from '../../core/errors.ts';
import { formatVesselDay, type Job, type Receipt, type VesselDay } from '../../core/model/index.ts';
import { withinVesselDay } from '../../core/model/log-context.ts';
import { type DayRange, isDue } from '../../core/plan/due.ts';
import { settingsHash } from '../../core/plan/settings-hash.ts';
import { removeFinishedClaims } from '../../lake/claims/claims.ts';
import { readPlannedDays } from '../../lake/ledger/planned-days.ts';
import { markRegularRun } from '../../lake/marks.ts';
import { describeWarnings, howToAccept, warningsOf } from '../../lake/warnings.ts';
import type { DayResult, ExportEvent, OnExportEvent } from '../events.ts';
import { exportVesselDay } from '../export-vessel-day.ts';
import { findVessels } from '../job-vessels.ts';
import { snapshotsBefore } from '../metadata-snapshot.ts';
import type { ExportPorts, ExportTask } from '../ports.ts';
import { whyNotDue } from '../source-answers.ts';

/** `vessels`: instead of the jobs' own; empty: the jobs' own. */
interface ExportRequest extends DayRange, Pick<ExportTask, 'force' | 'allowShrink' | 'takeover'> {
  readonly jobs: readonly Job[];
  /** It means other days tomorrow: from its first day on the jobs' days count as asked for, even if it fails. */
  readonly isRegular?: boolean;
  /** Vessel-days at once. */
  readonly concurrency: number;
}

/** Failures of vessel-days are results; a failure that affects all leaves the rest `not-begun`. */
export async function exportJobs(
  ports: ExportPorts,
  request: ExportRequest,
  onEvent: OnExportEvent,
  signal: AbortSignal,
): Promise<void> {
  // The layout is checked before any request to the service.
  await ports.layout.check(request.jobs.map(({ name }) => name));
  const tasks: ExportTask[] = [];
  for (const job of request.jobs) {
    for (const task of await openTasks(ports, job, request, onEvent, signal)) tasks.push(task);
    if (request.isRegular) await markRegularRun(ports.store, job, request.from);
  }
  await performTasks(ports, tasks, request.concurrency, onEvent, signal);
}

/** Export these vessel-days, `concurrency` at once. Failures and errors as those of `exportJobs`. */
export async function performTasks(
  ports: ExportPorts,
  tasks: readonly ExportTask[],
  concurrency: number,
  onEvent: OnExportEvent,
  signal: AbortSignal,
): Promise<void> {
  const onResult = (result: DayResult) => onEvent({ kind: 'day-result', result });
  onEvent({ kind: 'planned', days: tasks.map(({ day }) => day) });
  const waiting = new Set(tasks);
  try {
    await runInline(tasks, {
      concurrency,
      signal,
      perform: (task, scope, onWaiting) => {
        waiting.delete(task);
        const told = (event: ExportEvent) => {
          if (event.kind === 'day-step' && event.step === 'completed') onWaiting();
          onEvent(event);
        };
        return performTask(ports, { ...task, onEvent: told }, scope);
      },
      onSettled: (task, settled) =>
        onResult('outcome' in settled ? settled.outcome : failedResult(ports, task.day, settled.error)),
    });
  } catch (error) {
    for (const { day } of waiting) onResult({ day, status: 'not-begun' });
    if (error instanceof CancelledError) throw error;
  }
}

/** The tasks of a job to export; for the other vessel-days it emits results. */
async function openTasks(
  ports: ExportPorts,
  job: Job,
  request: ExportRequest,
  onEvent: OnExportEvent,
  signal: AbortSignal,
): Promise<ExportTask[]> {
  const { from, to, force, allowShrink, takeover } = request;
  const { vessels, unlisted, troubles } = await findVessels(ports, job, request, signal);
  for (const trouble of troubles) onEvent({ kind: 'vessel-trouble', job: job.name, trouble });
  const onResult = (result: DayResult) => onEvent({ kind: 'day-result', result });
  const asked = { members: ['rows'], writeIndex: true } as const;
  const { days, damaged } = await readPlannedDays(ports, job, { vessels, from, to }, asked);
  const unreadable = new Set(damaged.map(({ day }) => formatVesselDay(day)));
  await removeFinishedClaims(ports.store, job.name);
  const snapshots = job.dataset === 'metadata' ? await snapshotsBefore(ports, job) : undefined;
  const how = { settingsHash: settingsHash(job, ports.apiVersion), force, allowShrink, takeover };
  return days.flatMap(({ day, state, receipt }): ExportTask[] => {
    // An unreadable receipt fails its own vessel-day, which reports it.
    if (state === 'not-due' && !unreadable.has(formatVesselDay(day))) {
      const isDueHere = isDue(job, day.date, ports.clock.nowMs());
      const reason = isDueHere ? whyNotDue(ports, job, day.date) : undefined;
      onResult(reason ? failedResult(ports, day, reason) : { day, status: 'not-due' });
    } else if (state === 'done' && !force) onResult({ day, status: 'done', rows: receipt?.rows ?? 0 });
    else {
      const facts = { ...snapshots?.(day.vessel), ...(unlisted.has(day.vessel) && { unlisted: true }) };
      return [{ job, day, ...how, ...facts }];
    }
    return [];
  });
}

/** Export one vessel-day as a span, and log that it was published. Throws what `exportVesselDay` throws. */
export async function performTask(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
): Promise<DayResult> {
  const { day, job, origin = 'run' } = task;
  const onEvent = (event: ExportEvent) => {
    task.onEvent?.(event);
    ports.onVesselDay?.(event);
  };
  const names = {
    'vessel_export.job': day.job,
    'vessel_export.vessel': day.vessel,
    'vessel_export.date': day.date,
    'vessel_export.dataset': job.dataset,
  };
  const perform = () =>
    ports.tracing.span('vessel-day', names, async (span) => {
      const traced = (event: ExportEvent) => {
        if (event.kind === 'day-claimed') span.set({ 'vessel_export.epoch': event.epoch });
        onEvent(event);
      };
      try {
        const { result, receipt } = await exported(ports, { ...task, onEvent: traced }, signal);
        span.set({
          'vessel_export.pages': receipt?.pages,
          'vessel_export.requests': receipt?.requests,
          'vessel_export.retries': receipt?.retries,
          'vessel_export.proof': receipt?.proof,
          'vessel_export.outcome': result.status,
          'vessel_export.rows': result.rows,
          'vessel_export.bytes': result.sizeBytes,
          'vessel_export.resumed': result.resumed,
        });
        return { result, receipt };
      } catch (error) {
        span.set({ 'vessel_export.outcome': statusOf(error) });
        throw error;
      }
    });
  onEvent({ kind: 'day-begun', day, job, origin });
  try {
    const { result, receipt } = await withinVesselDay(formatVesselDay(day), perform);
    onEvent({ kind: 'day-ended', day, end: { ...result, receipt } });
    return result;
  } catch (error) {
    const [code, message] = [codeOf(error), messageOf(error)];
    onEvent({ kind: 'day-ended', day, end: { status: statusOf(error), code, message } });
    throw error;
  }
}

/** `receipt`: that of a day that was published now. */
async function exported(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
): Promise<{ readonly result: DayResult; readonly receipt?: Receipt }> {
  const { day } = task;
  const startedMs = ports.clock.monotonicMs();
  const outcome = await exportVesselDay(ports, task, signal);
  if (outcome.status === 'unchanged') return { result: { day, status: 'unchanged' } };
  const { receipt } = outcome;
  const { rows, proof } = receipt;
  if (outcome.status === 'done') return { result: { day, status: 'done', rows } };
  const vesselDay = formatVesselDay(day);
  const durationMs = Math.round(ports.clock.monotonicMs() - startedMs);
  const sizeBytes = receipt.object?.sizeBytes ?? 0;
  ports.log.info({ vesselDay, rows, sizeBytes, proof, durationMs }, 'published');
  const warning = describeWarnings(warningsOf(receipt));
  if (warning !== '')
    ports.log.warn({ vesselDay, warning, accept: howToAccept(day) }, 'published with a warning');
  const status = rows === 0 ? 'empty' : 'published';
  const { resumed } = outcome;
  return { receipt, result: { day, status, rows, sizeBytes, resumed, ...(warning !== '' && { warning }) } };
}

export function failedResult(ports: ExportPorts, day: VesselDay, error: unknown): DayResult {
  const message = messageOf(error);
  if (!(error instanceof VesselExportError)) {
    const stack = error instanceof Error ? error.stack : undefined;
    ports.log.error({ vesselDay: formatVesselDay(day), stack }, 'internal error, please report it');
    return { day, status: 'failed', code: 'internal-error', message };
  }
  const status = statusOf(error);
  return status === 'interrupted' ? { day, status } : { day, status, code: error.code, message };
}

function statusOf(error: unknown): DayResult['status'] {
  if (error instanceof CancelledError) return 'interrupted';
  if (error instanceof NotYetError) return 'waiting';
  if (error instanceof RefusedError && isRefusal(error)) return 'refused';
  if (error instanceof NotDueError) return 'not-due';
  return error instanceof FencedError ? 'running-elsewhere' : 'failed';
}
