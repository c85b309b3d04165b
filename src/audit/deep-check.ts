/** `verify --deep` of one vessel-day: every row read back, against the receipt's detail and against the service. */
import type { ResolvedSeries } from '../export/source-context.ts';
import type { DayCounts } from '../model/index.ts';
import { dayRange, MICROS_PER_MILLI, microsToIso, objectKey } from '../model/index.ts';
import { compareCounts } from '../verify/compare.ts';
import type { Difference } from '../verify/findings.ts';
import { firstFew } from '../verify/findings.ts';
import { RowsUnreadable } from '../verify/read-back.ts';
import type { DayRows } from '../verify/read-back-rows.ts';
import { compareSeries } from '../verify/values.ts';
import type { DeepDay } from './deep-day.ts';
import type { SourceSeries } from './source-values.ts';
import { askDayValues } from './source-values.ts';
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

function differenceOf(
  { receipt }: DeepDay,
  name: Difference['name'],
  found: string,
  expected: string,
): Difference {
  return { name, where: objectKey(receipt), found, expected };
}

async function checkMeasurements(deep: DeepDay): Promise<Difference[]> {
  const { receipt, readBack, path } = deep;
  const rows = receipt.object === null ? undefined : await readBack.measurements(path, receipt);
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
  const differing = compareCounts(found, ours, { policy: 'exact', grain: 'hour' });
  if (differing.length > 0) {
    const say = (side: 'ours' | 'source') =>
      firstFew(differing.map((one) => `series ${one.timeSeriesId} in hour ${one.hour}: ${one[side]}`));
    return [differenceOf(deep, 'count-differs', say('ours'), `${say('source')} in the detail`)];
  }
  const moved = [...ours.bySeries].flatMap(([id, hours]) =>
    hours.flatMap((hour, index) => {
      const there = found.bySeries.get(id)?.[index];
      if (hour?.firstMicros === there?.firstMicros && hour?.lastMicros === there?.lastMicros) return [];
      const span = (one: typeof hour) =>
        `${microsToIso(one!.firstMicros)} to ${microsToIso(one!.lastMicros)}`;
      return [{ found: `series ${id}: ${span(there)}`, expected: span(hour) }];
    }),
  );
  if (moved.length === 0) return [];
  const [found1, expected1] = [moved.map((one) => one.found), moved.map((one) => one.expected)];
  return [differenceOf(deep, 'times-differ', firstFew(found1), `${firstFew(expected1)} in the detail`)];
}

async function compareWithSource(deep: DeepDay, rows: DayRows | undefined): Promise<Difference[]> {
  const series = await seriesToCompare(deep, [...(rows?.series.keys() ?? [])]);
  if (series === undefined) return [];
  const numeric = [...(rows?.series ?? [])].flatMap(([id, one]) => (one.jsons === 0 ? [id] : []));
  const allNumeric = numeric.length === (rows?.series.size ?? 0);
  const now = await askDayValues(deep.context, series, numeric, allNumeric);
  const changed = compareSourceCounts(
    deep,
    rows?.counts,
    new Map([...now].map(([id, one]) => [id, one.count])),
    series,
  );
  const values = rows === undefined ? [] : compareValues(deep, rows, now, series);
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
 * The source's counts now against those of the rows. `at-least` days may hold more than the source counted, then
 * as now; a source that says what it said then has not changed.
 */
export function compareSourceCounts(
  deep: DeepDay,
  ours: DayCounts | undefined,
  now: ReadonlyMap<string, number>,
  series: ResolvedSeries,
): Difference[] {
  const then = deep.counts?.source;
  const ids = new Set([...(ours?.bySeries.keys() ?? []), ...now.keys()]);
  const changed = [...ids].sort().flatMap((id) => {
    const [published, counted] = [ours?.seriesTotal(id) ?? 0, now.get(id) ?? 0];
    if (counted === published || counted === then?.seriesTotal(id)) return [];
    return [{ name: series.idOf.get(id) ?? id, published, counted }];
  });
  if (changed.length === 0) return [];
  return [
    differenceOf(
      deep,
      'source-changed',
      firstFew(changed.map(({ name, counted }) => `series ${name}: ${counted} counted by the source now`)),
      firstFew(changed.map(({ published }) => `${published} published`)),
    ),
  ];
}

/** Series whose counts are equal: their times and values. */
function compareValues(
  deep: DeepDay,
  rows: DayRows,
  now: ReadonlyMap<string, SourceSeries>,
  series: ResolvedSeries,
): Difference[] {
  const { job } = deep.context;
  const stepMicros = job.transport === 'parquet' ? MICROS_PER_MILLI : 1;
  const found: string[] = [];
  const expected: string[] = [];
  const missing = new Set<string>();
  for (const [id, ours] of [...rows.series].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const source = now.get(id);
    if (source === undefined || source.count !== rows.counts.seriesTotal(id)) continue;
    const say = (aggregation: string, lake: string, theirs: string) => {
      found.push(`${aggregation} of series ${series.idOf.get(id) ?? id}: ${lake}`);
      expected.push(theirs);
    };
    for (const [aggregation, lake, theirs] of timesOf(rows.counts, id, source)) {
      if (theirs === undefined) missing.add(aggregation);
      else if (Math.abs(lake - theirs) >= stepMicros)
        say(aggregation, microsToIso(lake), microsToIso(theirs));
    }
    const compared = compareSeries(ours, source.values);
    for (const one of compared.differences) say(one.aggregation, one.lake, one.source);
    for (const aggregation of compared.missing) missing.add(aggregation);
  }
  if (missing.size > 0)
    deep.onRemark('not-compared', `the service gave no ${[...missing].join(', ')} for some series`);
  if (found.length === 0) return [];
  return [differenceOf(deep, 'values-differ', firstFew(found), `${firstFew(expected)} by the service`)];
}

function timesOf(
  counts: DayCounts,
  id: string,
  source: SourceSeries,
): [aggregation: string, lake: number, theirs: number | undefined][] {
  const hours = (counts.bySeries.get(id) ?? []).filter((hour) => hour !== undefined);
  const first = Math.min(...hours.map((hour) => hour.firstMicros));
  const last = Math.max(...hours.map((hour) => hour.lastMicros));
  return [
    ['first_time', first, source.firstMicros],
    ['last_time', last, source.lastMicros],
  ];
}

async function checkStatistics(deep: DeepDay): Promise<Difference[]> {
  const { receipt, readBack, path } = deep;
  if (receipt.object !== null) {
    const found = compareRows(deep, await readBack.windowCounts(path, receipt), receipt.source?.rows ?? 0);
    if (found.length > 0) return found;
  }
  if (!deep.sameSettings) {
    deep.onRemark('not-compared', 'windows of other settings than the job has now: run the day again');
    return [];
  }
  const series = await deep.resolveSeries(undefined);
  const { changed, differing } = await checkWindows(deep, series, dayRange(receipt.date));
  const differences: Difference[] = [];
  if (changed.length > 0)
    differences.push(
      differenceOf(
        deep,
        'source-changed',
        firstFew(changed.map((one) => one.now)),
        firstFew(changed.map((one) => one.published)),
      ),
    );
  if (differing.length > 0)
    differences.push(
      differenceOf(
        deep,
        'values-differ',
        firstFew(differing.map((one) => one.published)),
        `${firstFew(differing.map((one) => one.now))} by the service`,
      ),
    );
  return differences;
}

/** Metadata has no history: what the service says now is no proof of what it said then. */
async function checkMetadata(deep: DeepDay): Promise<Difference[]> {
  const { receipt, readBack, path } = deep;
  const { rows, series } = await readBack.metadata(path);
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
