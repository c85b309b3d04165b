/** `verify --deep` of one vessel-day: every row read back, against the receipt's detail and against the service. */
import type { DayCounts } from '../../core/model/index.ts';
import { compareCounts, TO_THE_MICROSECOND } from '../../core/proof/compare-counts.ts';
import { describeSide } from './detail-check.ts';
import type { Difference } from './findings.ts';
import { firstFew } from './findings.ts';
import { RowsUnreadable } from './read-back.ts';
import type { DeepDay } from './source-check.ts';
import { compareWithSource, differenceOf } from './source-check.ts';
import { checkWindows } from './window-check.ts';

/** Everything that differs: first in the rows themselves, then, where those are as published, from the source. */
export async function checkDeep(deep: DeepDay): Promise<Difference[]> {
  try {
    switch (deep.receipt.dataset) {
      case 'measurements':
        return await checkMeasurements(deep);
      case 'statistics':
        return await checkStatistics(deep);
      case 'metadata':
        return await checkMetadata(deep);
    }
  } catch (error) {
    if (!(error instanceof RowsUnreadable)) throw error;
    return [differenceOf(deep, 'rows-unreadable', error.message, `${deep.receipt.rows} rows`)];
  }
}

async function checkMeasurements(deep: DeepDay): Promise<Difference[]> {
  const { receipt, readBack } = deep;
  const rows =
    receipt.object === null
      ? undefined
      : await readBack.measurements(deep.object, receipt, deep.counts?.ours);
  if (rows !== undefined) {
    const found = compareRows(deep, rows.counts, receipt.rows);
    if (found.length > 0) return found;
    if (rows.oddRows > 0)
      return [
        differenceOf(deep, 'values-differ', `${rows.oddRows} rows with none or several`, 'one value a row'),
      ];
  }
  return compareWithSource(deep, rows);
}

/** Rows per series and hour against the detail, or their number against the receipt where it has none. */
function compareRows(deep: DeepDay, found: DayCounts, expectedRows: number): Difference[] {
  const ours = deep.counts?.ours;
  if (ours === undefined) {
    if (found.total() === expectedRows) return [];
    return [differenceOf(deep, 'count-differs', `${found.total()} rows`, `${expectedRows} rows`)];
  }
  const differing = compareCounts(found, ours, { policy: 'exact', precision: TO_THE_MICROSECOND });
  for (const name of ['count-differs', 'times-differ'] as const) {
    const some = differing.filter(({ times }) => (times === undefined) === (name === 'count-differs'));
    if (some.length > 0)
      return [
        differenceOf(deep, name, describeSide(some, 'ours'), `${describeSide(some, 'source')} in the detail`),
      ];
  }
  return [];
}

async function checkStatistics(deep: DeepDay): Promise<Difference[]> {
  const { receipt, readBack } = deep;
  if (receipt.object !== null) {
    const found = compareRows(
      deep,
      await readBack.windowCounts(deep.object, receipt, deep.counts?.ours),
      receipt.source?.rows ?? 0,
    );
    if (found.length > 0) return found;
  }
  if (!deep.sameSettings) {
    deep.onRemark('not-compared', 'windows of other settings than the job has now: run the day again');
    return [];
  }
  const series = await deep.resolveSeries(undefined);
  const { changed, differing } = await checkWindows(deep, series);
  const differences: Difference[] = [];
  if (changed.length > 0)
    differences.push(
      differenceOf(
        deep,
        'source-changed',
        firstFew(changed.map(({ now }) => now)),
        firstFew(changed.map(({ published }) => published)),
      ),
    );
  if (differing.length > 0)
    differences.push(
      differenceOf(
        deep,
        'values-differ',
        firstFew(differing.map(({ published }) => published)),
        `${firstFew(differing.map(({ now }) => now))} by the service`,
      ),
    );
  return differences;
}

/** Metadata has no history: what the service says now is no proof of what it said then. */
async function checkMetadata(deep: DeepDay): Promise<Difference[]> {
  const { receipt, readBack } = deep;
  const { rows, series } = await readBack.metadata(deep.object);
  if (rows !== receipt.rows || series !== rows)
    return [
      differenceOf(
        deep,
        'count-differs',
        `${rows} rows of ${series} series`,
        `${receipt.rows}, a row a series`,
      ),
    ];
  if (!deep.sameSettings) return [];
  const now = (await deep.resolveSeries(undefined)).idOf.size;
  if (now !== rows) deep.onRemark('metadata-changed', `${rows} series then, ${now} now`);
  return [];
}
