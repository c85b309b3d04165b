/** What a vessel's expressions match, held against its last published day and against metadata. */
import { hash } from 'node:crypto';
import { cleanForeignText, RetriableError, shortName } from '../core/errors.ts';
import { formatVesselDay, type Receipt, type SeriesWarning } from '../core/model/index.ts';
import { isWarningAccepted, readAcceptance } from '../lake/warnings.ts';
import type { ResolvedSeries } from '../source/context.ts';
import { hasSameSelect, lastReceipt, NAME_CHARS, NAMED } from './fewer-series.ts';
import type { ExportPorts, ExportTask } from './ports.ts';

/**
 * `previous`: the receipt that the day has. Throws RetriableError `no-series` where an optional expression matches none now
 * and had some at the vessel's last published day, and what the store throws.
 */
export async function guardOptional(
  ports: ExportPorts,
  task: ExportTask,
  previous: Receipt | undefined,
  { unmatched }: Pick<ResolvedSeries, 'unmatched'>,
): Promise<void> {
  if (unmatched.length === 0 || task.allowShrink) return;
  const last = await lastReceipt(ports, task, previous);
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

/** What the day's receipt has to say of them. `previous`: the receipt that the day has. Throws what the store throws. */
export async function warnOfOthers(
  ports: ExportPorts,
  task: ExportTask,
  previous: Receipt | undefined,
  { others }: Pick<ResolvedSeries, 'others'>,
): Promise<SeriesWarning[]> {
  if (others.length === 0) return [];
  const { job, vessel, date } = task.day;
  const each = others.map((one) => `${one.timeSeriesId} ${one.vessel}`).sort();
  const names = others.map((one) => `${cleanForeignText(one.id, [], NAME_CHARS)} (${one.vessel})`).sort();
  const digest = hash('sha256', each.join('\n')).slice(0, 16);
  const counted = { series: others.length, names: names.slice(0, NAMED), digest };
  const warning: SeriesWarning = { kind: 'other-vessel', ...counted, since: date };
  if (isWarningAccepted(await readAcceptance(ports.store, job, vessel), warning)) return [];
  const last = await lastReceipt(ports, task, previous);
  const since = last?.warnings?.find(({ digest }) => digest === warning.digest)?.since ?? date;
  return [{ ...warning, since }];
}
