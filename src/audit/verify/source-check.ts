/** Measurements read back against the service's statistics: counts, times and values per series, as it gives them now. */

import type { DayCounts, Receipt } from '../../core/model/index.ts';
import { leastPrecision, precisionOf } from '../../core/proof/compare-counts.ts';
import type { SourceSeries } from '../../core/proof/compare-values.ts';
import { compareSeries } from '../../core/proof/compare-values.ts';
import { objectKey } from '../../lake/keys.ts';
import type { ResolvedSeries, SourceContext } from '../../source/context.ts';
import { seriesName } from '../../source/context.ts';
import { askValues } from '../../source/day-values.ts';
import type { DetailCounts } from './detail-check.ts';
import type { Difference, Sides } from './findings.ts';
import { firstFewOf } from './findings.ts';
import type { ReadBack, ReadObject } from './read-back.ts';
import type { DayRows } from './read-back-rows.ts';

/** A vessel-day whose object is at hand as a file, and what it is held against. */
export interface DeepDay {
  readonly context: SourceContext;
  readonly receipt: Receipt;
  readonly counts: DetailCounts | undefined;
  /** The object as a file. */
  readonly object: ReadObject;
  readonly readBack: ReadBack;
  /** False where the receipt has other settings than the job now. */
  readonly sameSettings: boolean;
  /** The series that the job selects now, or exactly the named ones. Throws RetriableError `no-series`. */
  readonly resolveSeries: (named: readonly string[] | undefined) => Promise<ResolvedSeries>;
  /** Told of what could not be compared. */
  readonly onRemark: (name: 'not-compared' | 'metadata-changed', text: string) => void;
}

/** A difference in the rows of a day. */
export function differenceOf(
  { receipt }: DeepDay,
  name: Difference['name'],
  found: string,
  expected: string,
): Difference {
  return { name, where: receipt.object?.key ?? objectKey(receipt), found, expected };
}

/** What the service says now of the series of a day of measurements; `rows`: undefined for a day without an object. */
export async function compareWithSource(deep: DeepDay, rows: DayRows | undefined): Promise<Difference[]> {
  const series = await seriesToCompare(deep, [...(rows?.series.keys() ?? [])]);
  if (series === undefined) return [];
  const numeric = [...(rows?.series ?? [])].flatMap(([id, { jsons }]) => (jsons === 0 ? [id] : []));
  const now = await askValues(deep.context, series, { numeric });
  const changed = compareSourceCounts(deep, rows?.counts, now, series);
  const values = rows === undefined ? [] : await compareValues(deep, rows, now, series);
  return [...changed, ...values];
}

/** The series to ask of; undefined for a day of other settings that holds none. */
async function seriesToCompare(
  deep: DeepDay,
  published: readonly string[],
): Promise<ResolvedSeries | undefined> {
  if (deep.sameSettings) return deep.resolveSeries(undefined);
  if (published.length > 0) return deep.resolveSeries(published);
  deep.onRemark('not-compared', 'an empty day of other settings than the job has now: run it again');
  return undefined;
}

/**
 * The source's counts now against those of the rows. Of an `at-least` day, which may hold more, nothing has changed
 * either where the source says again what it said at publication.
 */
function compareSourceCounts(
  deep: DeepDay,
  ours: DayCounts | undefined,
  now: ReadonlyMap<string, SourceSeries>,
  series: ResolvedSeries,
): Difference[] {
  const then = deep.receipt.proof === 'at-least' ? deep.counts?.source : undefined;
  const ids = new Set([...(ours?.ids() ?? []), ...now.keys()]);
  const changed = [...ids].sort().flatMap((id) => {
    const [published, counted] = [ours?.seriesTotal(id) ?? 0, now.get(id)?.count ?? 0];
    if (counted === published || counted === then?.seriesTotal(id)) return [];
    const found = `series ${seriesName(series, id)}: ${counted} counted by the source now`;
    return [{ found, expected: `${published} published` }];
  });
  if (changed.length === 0) return [];
  const { found, expected } = firstFewOf(changed);
  return [differenceOf(deep, 'source-changed', found, expected)];
}

/** Series whose counts are equal: their times and values. */
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
    deep.onRemark('not-compared', `the service gave no ${[...missing].join(', ')} for some series`);
  if (differing.length === 0) return [];
  const { found, expected } = firstFewOf(differing);
  return [differenceOf(deep, 'values-differ', found, `${expected} by the service`)];
}

interface ComparedSeries {
  readonly differing: readonly Sides[];
  /** Aggregations that the service gave no value of. */
  readonly missing: ReadonlySet<string>;
  readonly differsAtEdges: boolean;
}

function compareAllSeries(
  deep: DeepDay,
  rows: DayRows,
  now: ReadonlyMap<string, SourceSeries>,
  series: ResolvedSeries,
): ComparedSeries {
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
