/** Optional expressions that match nothing: fine for a vessel that never had such series, a loss for one that had. */
import { RetriableError, shortName } from '../core/errors.ts';
import type { Receipt } from '../core/model/index.ts';
import { formatVesselDay } from '../core/model/index.ts';
import type { ResolvedSeries } from '../source/context.ts';
import { hasSameSelect, lastReceipt } from './fewer-series.ts';
import type { ExportPorts, ExportTask } from './ports.ts';

/**
 * `own`: the receipt that the day has. Throws RetriableError `no-series` where an optional expression matches none now
 * and had some at the vessel's last published day, and what the store throws.
 */
export async function guardOptional(
  ports: ExportPorts,
  task: ExportTask,
  own: Receipt | undefined,
  { unmatched }: Pick<ResolvedSeries, 'unmatched'>,
): Promise<void> {
  if (unmatched.length === 0 || task.allowShrink) return;
  const last = await lastReceipt(ports, task, own);
  // Of another `select` the series are compared, which expressions they came by is not known.
  if (last === undefined || !hasSameSelect(task, last)) return;
  const lost = unmatched.filter((expression) => hadSeries(task, last, expression));
  if (lost.length === 0) return;
  const named = lost.map((expression) => `'${shortName(expression)}'`).join(', ');
  throw new RetriableError(
    'no-series',
    `${formatVesselDay(task.day)}: optional ${named} matches no series, but did for ${last.date}, the vessel's last published day; check what the credentials may read. If they are gone for good, 'run --allow-shrink' publishes the day without them, and the days after it follow`,
  );
}

/** Receipts of older versions do not say which expressions matched. */
function hadSeries({ job }: ExportTask, last: Receipt, expression: string): boolean {
  if (last.selectHash === undefined) return false;
  return last.unmatchedExpressions?.includes(job.select.indexOf(expression)) !== true;
}
