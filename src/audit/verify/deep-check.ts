/** `verify --deep` of one vessel-day: every row read back, against the receipt's detail, then against the service's statistics. */
import type { DayCounts } from '../../core/model/index.ts';
import {
  compareCounts,
  leastPrecision,
  precisionOf,
  TO_THE_MICROSECOND,
} from '../../core/proof/compare-counts.ts';
import { compareSeries, type SourceSeries } from '../../core/proof/compare-values.ts';
import { type ResolvedSeries, seriesName } from '../../source/context.ts';
import { askValues } from '../../source/day-values.ts';
import { type DetailCounts, describeSide } from './detail-check.ts';
import { type Difference, difference, differenceOf, type Sides } from './findings.ts';
import { RowsUnreadable } from './read-back.ts';
import type { DayRows } from './read-back-rows.ts';
import { compareWindows, type ReadableDay } from './window-check.ts';

interface DeepDay extends ReadableDay {
  readonly counts: DetailCounts | undefined;
  /** False where the receipt has other settings than the job now. */
  readonly sameSettings: boolean;
  /** The series that the job selects now, or exactly the named ones. Throws RetriableError `no-series`. */
  readonly resolveSeries: (named?: readonly string[]) => Promise<ResolvedSeries>;
  readonly onWarning: (name: 'not-compared' | 'metadata-changed', text: string) => void;
}

/** Everything that differs: first in the rows themselves, then, where those are as published, from the source. */
export async function checkDeep(deep: DeepDay): Promise<Difference[]> {
  const { dataset, rows } = deep.receipt;
  try {
    if (dataset === 'measurements') return await checkMeasurements(deep);
    return dataset === 'statistics' ? await checkStatistics(deep) : await checkMetadata(deep);
  } catch (error) {
    if (!(error instanceof RowsUnreadable)) throw error;
    return [difference('rows-unreadable', deep.where, error.message, `${rows} rows`)];
  }
}

async function checkMeasurements(deep: DeepDay): Promise<Difference[]> {
  const { receipt, readBack, where } = deep;
  if (receipt.object === null) return compareWithSource(deep, undefined);
  const rows = await readBack.measurements(deep.object, receipt);
  const found = compareRows(deep, rows.counts, receipt.rows);
  if (found.length > 0) return found;
  if (rows.oddRows === 0) return compareWithSource(deep, rows);
  return [difference('values-differ', where, `${rows.oddRows} rows with none or several`, 'one value a row')];
}

async function checkStatistics(deep: DeepDay): Promise<Difference[]> {
  const { receipt, readBack } = deep;
  if (receipt.object !== null) {
    const counts = await readBack.windowCounts(deep.object, receipt);
    const found = compareRows(deep, counts, receipt.source?.rows ?? 0);
    if (found.length > 0) return found;
  }
  if (deep.sameSettings) return await compareWindows(deep, await deep.resolveSeries());
  deep.onWarning('not-compared', 'windows of other settings than the job has now: run the day again');
  return [];
}

/** Metadata has no history: what the service says now is no proof of what it said then. */
async function checkMetadata(deep: DeepDay): Promise<Difference[]> {
  const { receipt, where } = deep;
  const { rows, series } = await deep.readBack.metadata(deep.object);
  if (rows !== receipt.rows || series !== rows) {
    const expected = `${receipt.rows}, a row a series`;
    return [difference('count-differs', where, `${rows} rows of ${series} series`, expected)];
  }
  if (!deep.sameSettings) return [];
  const now = (await deep.resolveSeries()).idOf.size;
  if (now !== rows) deep.onWarning('metadata-changed', `${rows} series then, ${now} now`);
  return [];
}

/** Rows per series and hour against the detail, or their number against the receipt where it has none. */
function compareRows({ counts, where }: DeepDay, found: DayCounts, expectedRows: number): Difference[] {
  if (counts === undefined) {
    if (found.total() === expectedRows) return [];
    return [difference('count-differs', where, `${found.total()} rows`, `${expectedRows} rows`)];
  }
  const differing = compareCounts(found, counts.ours, { policy: 'exact', precision: TO_THE_MICROSECOND });
  for (const name of ['count-differs', 'times-differ'] as const) {
    const some = differing.filter(({ times }) => (times === undefined) === (name === 'count-differs'));
    const expected = `${describeSide(some, 'source')} in the detail`;
    if (some.length > 0) return [difference(name, where, describeSide(some, 'ours'), expected)];
  }
  return [];
}

/** What the service says now of the series of a day of measurements; `rows`: undefined for a day without an object. */
async function compareWithSource(deep: DeepDay, rows: DayRows | undefined): Promise<Difference[]> {
  const published = [...(rows?.series.keys() ?? [])];
  if (!deep.sameSettings && published.length === 0) {
    deep.onWarning('not-compared', 'an empty day of other settings than the job has now: run it again');
    return [];
  }
  const series = await deep.resolveSeries(deep.sameSettings ? undefined : published);
  const numeric = [...(rows?.series ?? [])].flatMap(([id, { jsons }]) => (jsons === 0 ? [id] : []));
  const now = await askValues(deep.context, series, { numeric });
  const changed = compareSourceCounts(deep, rows?.counts, now, series);
  const values = rows === undefined ? [] : await compareValues(deep, rows, now, series);
  return [...changed, ...values];
}

/** The source's counts now against those of the rows. An `at-least` day that holds more is unchanged where the source says what it said. */
function compareSourceCounts(
  { receipt, counts, where }: DeepDay,
  ours: DayCounts | undefined,
  now: ReadonlyMap<string, SourceSeries>,
  series: ResolvedSeries,
): Difference[] {
  const then = receipt.proof === 'at-least' ? counts?.source : undefined;
  const ids = new Set([...(ours?.ids() ?? []), ...now.keys()]);
  const changed = [...ids].sort().flatMap((id) => {
    const [published, counted] = [ours?.seriesTotal(id) ?? 0, now.get(id)?.count ?? 0];
    if (counted === published || counted === then?.seriesTotal(id)) return [];
    const found = `series ${seriesName(series, id)}: ${counted} counted by the source now`;
    return [{ found, expected: `${published} published` }];
  });
  return differenceOf('source-changed', where, changed);
}

async function compareValues(
  deep: DeepDay,
  rows: DayRows,
  now: ReadonlyMap<string, SourceSeries>,
  series: ResolvedSeries,
): Promise<Difference[]> {
  let compared = compareAllSeries(deep, rows, now, series);
  if (compared.differsAtEdges) {
    // Readings may share the first or the last instant: whichever of them the service names is right.
    const edges = await deep.readBack.edges(deep.object);
    const known = new Map([...rows.series].map(([id, ours]) => [id, { ...ours, ...edges.get(id) }]));
    compared = compareAllSeries(deep, { ...rows, series: known }, now, series);
  }
  const { differing, missing } = compared;
  if (missing.size > 0)
    deep.onWarning('not-compared', `the service gave no ${[...missing].join(', ')} for some series`);
  const found = differenceOf('values-differ', deep.where, differing);
  return found.map((values) => ({ ...values, expected: `${values.expected} by the service` }));
}

/** `missing`: aggregations that the service gave no value of. */
function compareAllSeries(
  deep: DeepDay,
  rows: DayRows,
  now: ReadonlyMap<string, SourceSeries>,
  series: ResolvedSeries,
) {
  const precision = deep.sameSettings ? precisionOf(deep.context.job) : leastPrecision('measurements');
  const differing: Sides[] = [];
  const missing = new Set<string>();
  let differsAtEdges = false;
  for (const [id, ours] of [...rows.series].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const source = now.get(id);
    const span = rows.counts.seriesSpan(id);
    if (source === undefined || span === undefined || source.count !== rows.counts.seriesTotal(id)) continue;
    const compared = compareSeries(span, ours, source, precision);
    for (const { aggregation, lake, source: expected } of compared.differences) {
      differing.push({ found: `${aggregation} of series ${seriesName(series, id)}: ${lake}`, expected });
      if (aggregation === 'first_val' || aggregation === 'last_val') differsAtEdges = true;
    }
    for (const aggregation of compared.missing) missing.add(aggregation);
  }
  return { differing, missing, differsAtEdges };
}
