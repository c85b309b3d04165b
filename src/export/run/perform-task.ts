/** One vessel-day in this process, and how it ended. */
import {
  CancelledError,
  FencedError,
  isRefusal,
  messageOf,
  NotDueError,
  NotYetError,
  RefusedError,
  VesselExportError,
} from '../../core/errors.ts';
import { formatVesselDay, type Receipt, type VesselDay } from '../../core/model/index.ts';
import { withinVesselDay } from '../../core/model/log-context.ts';
import { describeWarnings, howToAccept, warningsOf } from '../../lake/warnings.ts';
import type { DayResult, ExportEvent } from '../events.ts';
import { exportVesselDay } from '../export-vessel-day.ts';
import type { ExportPorts, ExportTask } from '../ports.ts';

/** Export one vessel-day as a span, and log that it was published. Throws what `exportVesselDay` throws. */
export async function performTask(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
): Promise<DayResult> {
  const { day, onEvent, origin = 'run' } = task;
  const names = {
    'vessel_export.job': day.job,
    'vessel_export.vessel': day.vessel,
    'vessel_export.date': day.date,
    'vessel_export.dataset': task.job.dataset,
  };
  const perform = () =>
    ports.tracing.span('vessel-day', names, async (span) => {
      const traced = (event: ExportEvent) => {
        if (event.kind === 'day-claimed') span.set({ 'vessel_export.epoch': event.epoch });
        onEvent?.(event);
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
        return result;
      } catch (error) {
        span.set({ 'vessel_export.outcome': statusOf(error) });
        throw error;
      }
    });
  onEvent?.({ kind: 'day-begun', day, origin });
  try {
    return await withinVesselDay(formatVesselDay(day), perform);
  } finally {
    onEvent?.({ kind: 'day-ended', day });
  }
}

/** `receipt`: of a day that was published now. */
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

/** The result that an error makes. */
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
