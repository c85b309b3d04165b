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
import type { Receipt, VesselDay } from '../../core/model/index.ts';
import { formatVesselDay } from '../../core/model/index.ts';
import { withinVesselDay } from '../../core/model/log-context.ts';
import { describeRemarks, howToAccept, warningsOf } from '../../lake/remarks.ts';
import { exportVesselDay } from '../export-vessel-day.ts';
import type { ExportPorts, ExportTask } from '../ports.ts';

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
    | 'waiting'
    | 'running-elsewhere'
    | 'interrupted'
    | 'not-begun';
  readonly rows?: number;
  /** Of the object in the lake. */
  readonly sizeBytes?: number;
  readonly resumed?: boolean;
  /** What the receipt keeps saying until it is accepted. */
  readonly remark?: string;
  readonly code?: string;
  readonly message?: string;
}

/** Export one vessel-day, and log it when it was published. Throws what `exportVesselDay` throws. */
export async function performTask(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
): Promise<DayResult> {
  return withinVesselDay(formatVesselDay(task.day), () => performTraced(ports, task, signal));
}

/** The same as a span, within the trace under way or as the first of a new one. */
function performTraced(ports: ExportPorts, task: ExportTask, signal: AbortSignal): Promise<DayResult> {
  const { job, vessel, date } = task.day;
  const names = {
    'vessel_export.job': job,
    'vessel_export.vessel': vessel,
    'vessel_export.date': date,
    'vessel_export.dataset': task.job.dataset,
  };
  return ports.tracing.span('vessel-day', names, async (span) => {
    const onEpoch = (epoch: number) => span.set({ 'vessel_export.epoch': epoch });
    const onPublished = (receipt: Receipt) =>
      span.set({
        'vessel_export.pages': receipt.pages,
        'vessel_export.requests': receipt.requests,
        'vessel_export.retries': receipt.retries,
        'vessel_export.proof': receipt.proof,
      });
    const result = await perform(ports, { ...task, onEpoch }, signal, onPublished).catch((error) => {
      span.set({ 'vessel_export.outcome': statusOf(error) });
      throw error;
    });
    const { status, rows, sizeBytes, resumed } = result;
    span.set({
      'vessel_export.outcome': status,
      'vessel_export.rows': rows,
      'vessel_export.bytes': sizeBytes,
      'vessel_export.resumed': resumed,
    });
    return result;
  });
}

async function perform(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
  onPublished: (receipt: Receipt) => void,
): Promise<DayResult> {
  const { day } = task;
  const startedMs = ports.clock.monotonicMs();
  const outcome = await exportVesselDay(ports, task, signal);
  if (outcome.status === 'unchanged') return { day, status: 'unchanged' };
  const { receipt } = outcome;
  if (outcome.status === 'done') return { day, status: 'done', rows: receipt.rows };
  onPublished(receipt);
  const durationMs = Math.round(ports.clock.monotonicMs() - startedMs);
  const sizeBytes = receipt.object?.sizeBytes ?? 0;
  ports.log.info(
    { vesselDay: formatVesselDay(day), rows: receipt.rows, sizeBytes, proof: receipt.proof, durationMs },
    'published',
  );
  const remark = describeRemarks(warningsOf(receipt));
  if (remark !== '')
    ports.log.warn(
      { vesselDay: formatVesselDay(day), remark, accept: howToAccept(day) },
      'published with a remark',
    );
  return {
    day,
    status: receipt.rows === 0 ? 'empty' : 'published',
    rows: receipt.rows,
    sizeBytes,
    resumed: outcome.resumed,
    ...(remark !== '' && { remark }),
  };
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
