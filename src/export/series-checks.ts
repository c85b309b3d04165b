/** What a vessel's expressions match, held against its last published day and against metadata. */
import { hash } from 'node:crypto';
import { cleanForeignText, RetriableError, shortName } from '../core/errors.ts';
import { formatVesselDay, type Receipt, type SeriesWarning } from '../core/model/index.ts';
import { isWarningAccepted, readAcceptance } from '../lake/warnings.ts';
import { hasSameSelect, lastReceipt, NAME_CHARS, NAMED, warnOfFewerSeries } from './fewer-series.ts';
import type { AskedDay, ExportTask } from './ports.ts';

/** What the receipt has to say of its series. Throws RetriableError `no-series`, and NotYetError `fewer-series`. */
export async function judgeSeries(asked: AskedDay) {
  await guardOptional(asked);
  return { remark: await warnOfFewerSeries(asked), warnings: await warnOfOthers(asked) };
}

/** Throws RetriableError `no-series` where an optional expression matches none now and had some when last published. */
async function guardOptional(asked: AskedDay): Promise<void> {
  const { task } = asked;
  const { unmatched } = asked.series;
  if (unmatched.length === 0 || task.allowShrink) return;
  const last = await lastReceipt(asked);
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

async function warnOfOthers(asked: AskedDay): Promise<SeriesWarning[]> {
  const { ports, task } = asked;
  const { others } = asked.series;
  if (others.length === 0) return [];
  const { job, vessel, date } = task.day;
  const each = others.map((one) => `${one.timeSeriesId} ${one.vessel}`).sort();
  const names = others.map((one) => `${cleanForeignText(one.id, [], NAME_CHARS)} (${one.vessel})`).sort();
  const digest = hash('sha256', each.join('\n')).slice(0, 16);
  const counted = { series: others.length, names: names.slice(0, NAMED), digest };
  const warning: SeriesWarning = { kind: 'other-vessel', ...counted, since: date };
  if (isWarningAccepted(await readAcceptance(ports.store, job, vessel), warning)) return [];
  const last = await lastReceipt(asked);
  const since = last?.warnings?.find(({ digest }) => digest === warning.digest)?.since ?? date;
  return [{ ...warning, since }];
}
