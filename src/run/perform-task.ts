/** One vessel-day in this process, and how it ended. */
import {
  CancelledError,
  FencedError,
  messageOf,
  NotDueError,
  NotYetError,
  RefusedError,
  VesselExportError,
} from '../errors.ts';
import { exportVesselDay } from '../export/export-vessel-day.ts';
import type { ExportPorts, ExportTask } from '../export/ports.ts';
import { describeRemark, howToAccept } from '../lake/remarks.ts';
import type { VesselDay } from '../model/index.ts';
import { formatVesselDay } from '../model/index.ts';
import { withinVesselDay } from '../model/log-context.ts';

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
  return withinVesselDay(formatVesselDay(task.day), () => perform(ports, task, signal));
}

async function perform(ports: ExportPorts, task: ExportTask, signal: AbortSignal): Promise<DayResult> {
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
  const remark = receipt.remark && describeRemark(receipt.remark);
  if (remark !== undefined)
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
    ...(remark !== undefined && { remark }),
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
  if (error instanceof CancelledError) return { day, status: 'interrupted' };
  if (error instanceof NotYetError) return { day, status: 'waiting', code: error.code, message };
  if (error instanceof RefusedError) return { day, status: 'refused', code: error.code, message };
  if (error instanceof NotDueError) return { day, status: 'not-due', code: error.code, message };
  if (error instanceof FencedError) return { day, status: 'running-elsewhere', code: error.code, message };
  return { day, status: 'failed', code: error.code, message };
}
