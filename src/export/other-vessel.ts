/**
 * Series that the vessel's expressions list, and that metadata say to be another vessel's. They are left out: whose they
 * are is for the service to say. That they are is a warning until it is accepted, or metadata are right.
 */
import { hash } from 'node:crypto';
import { cleanForeignText } from '../core/errors.ts';
import type { Receipt, SeriesWarning } from '../core/model/index.ts';
import { isWarningAccepted, readAcceptance } from '../lake/remarks.ts';
import type { ResolvedSeries } from '../source/context.ts';
import { lastReceipt, NAME_CHARS, NAMED } from './fewer-series.ts';
import type { ExportPorts, ExportTask } from './ports.ts';

/** What the day's receipt has to say of them. `own`: the receipt that the day has. Throws what the store throws. */
export async function warnOfOthers(
  ports: ExportPorts,
  task: ExportTask,
  own: Receipt | undefined,
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
  const last = await lastReceipt(ports, task, own);
  const since = last?.warnings?.find(({ digest }) => digest === warning.digest)?.since ?? date;
  return [{ ...warning, since }];
}
