/** The source's totals of many vessel-days with few requests: statistics in windows of a day. */
import { parseInt64Text, parseTimestampText } from '../decode/index.ts';
import { DataError } from '../errors.ts';
import type { CountedRow, Micros, StatisticsRow, TimeRange } from '../model/index.ts';
import { dateToMicros, isWithin, MICROS_PER_DAY, microsToIso } from '../model/index.ts';
import type { DayTotals, SeriesTotal } from '../proof/day-totals.ts';
import { mayFitInHalves } from './answer-faults.ts';
import type { ResolvedSeries, SourceContext } from './context.ts';
import { collectStatistics } from './statistics.ts';

/** A vessel, its series, and the days of it that are asked for. */
export interface LookbackVessel {
  readonly vessel: string;
  readonly series: Pick<ResolvedSeries, 'idOf' | 'expressions'>;
  /** Whole days. */
  readonly range: TimeRange;
}

export interface LookbackTotals {
  /** Totals of a vessel-day; undefined when it was not asked for. */
  of(vessel: string, date: string): DayTotals | undefined;
}

/** Series × days that one request asks for at most: bounds its answer to some 10 MB. */
const LOOKBACK_RESULTS = 50_000;
/** Expressions in one request at most: bounds its body. */
const EXPRESSIONS_AT_ONCE = 200;

/**
 * Vessels that are asked for in one request each: as many as keep the answer bounded, and never two that share
 * a series, whose readings a service might count twice then.
 */
export function groupVessels(vessels: readonly LookbackVessel[]): LookbackVessel[][] {
  const groups: LookbackVessel[][] = [];
  let series = new Set<string>();
  for (const vessel of vessels) {
    const group = groups.at(-1);
    const ids = [...vessel.series.idOf.keys()];
    if (group === undefined || ids.some((id) => series.has(id)) || !fits([...group, vessel])) {
      groups.push([vessel]);
      series = new Set(ids);
    } else {
      group.push(vessel);
      for (const id of ids) series.add(id);
    }
  }
  return groups;
}

function fits(group: readonly LookbackVessel[]): boolean {
  const sum = (count: (vessel: LookbackVessel) => number) =>
    group.reduce((total, vessel) => total + count(vessel), 0);
  const results = sum(({ series }) => series.idOf.size) * daysIn(unionOf(group));
  return results <= LOOKBACK_RESULTS && sum(({ series }) => series.expressions.length) <= EXPRESSIONS_AT_ONCE;
}

function daysIn(range: TimeRange): number {
  return (range.toMicros - range.fromMicros) / MICROS_PER_DAY;
}

function unionOf(group: readonly LookbackVessel[]): TimeRange {
  return {
    fromMicros: Math.min(...group.map(({ range }) => range.fromMicros)),
    toMicros: Math.max(...group.map(({ range }) => range.toMicros)),
  };
}

/**
 * Ask for the totals of a group. A look-back that is too long for one answer, that does not come is
 * asked in parts: fewer vessels, then fewer days. Throws what `collectStatistics` throws, and DataError
 * `windows-misaligned`.
 */
export async function askLookback(
  context: SourceContext,
  group: readonly LookbackVessel[],
): Promise<LookbackTotals> {
  const tooLong = fits(group) ? undefined : splitGroup(group);
  if (tooLong !== undefined) return await askParts(context, tooLong);
  try {
    return await askOnce(context, group);
  } catch (error) {
    const halves = mayFitInHalves(error, context.streak) ? splitGroup(group) : undefined;
    if (halves === undefined) throw error;
    return await askParts(context, halves);
  }
}

async function askParts(
  context: SourceContext,
  parts: readonly (readonly LookbackVessel[])[],
): Promise<LookbackTotals> {
  const totals: LookbackTotals[] = [];
  for (const part of parts) totals.push(await askLookback(context, part));
  return {
    of(vessel, date) {
      for (const part of totals) {
        const ofDay = part.of(vessel, date);
        if (ofDay !== undefined) return ofDay;
      }
      return undefined;
    },
  };
}

/** Two halves of a group, or of its days; undefined for one vessel and one day. */
function splitGroup(group: readonly LookbackVessel[]): LookbackVessel[][] | undefined {
  if (group.length > 1) {
    const middle = Math.ceil(group.length / 2);
    return [group.slice(0, middle), group.slice(middle)];
  }
  const [only] = group;
  if (only === undefined || daysIn(only.range) <= 1) return undefined;
  const { fromMicros, toMicros } = only.range;
  const cut = fromMicros + Math.ceil(daysIn(only.range) / 2) * MICROS_PER_DAY;
  return [
    [{ ...only, range: { fromMicros, toMicros: cut } }],
    [{ ...only, range: { fromMicros: cut, toMicros } }],
  ];
}

async function askOnce(context: SourceContext, group: readonly LookbackVessel[]): Promise<LookbackTotals> {
  const range = unionOf(group);
  const expressions = [...new Set(group.flatMap(({ series }) => series.expressions))];
  const collector = await collectStatistics(
    context,
    {
      ...{ expressions, range, aggregations: ['count', 'first_time', 'last_time'], window: '1d' },
      isDivisible: splitGroup(group) !== undefined,
    },
    () => createDayCollector(group, range),
    (days, row) => days.add(row),
    (days, row) => days.addCounted(row),
  );
  if (collector.strangers.size > 0) {
    const ids = [...collector.strangers].slice(0, 3);
    context.log.warn(
      { job: context.job.name, series: collector.strangers.size, ids },
      'statistics of series that metadata does not list are passed over',
    );
  }
  return collector.totals();
}

interface DayCollector {
  readonly add: (row: StatisticsRow) => void;
  readonly addCounted: (row: CountedRow) => void;
  readonly strangers: ReadonlySet<string>;
  totals(): LookbackTotals;
}

/**
 * Gathers windows of a day into one cell a day and series: numbers in flat arrays, since there are millions of
 * them in a large fleet. An older version sends one value a row.
 */
function createDayCollector(group: readonly LookbackVessel[], range: TimeRange): DayCollector {
  const columnOf = new Map<string, number>();
  for (const { series } of group) for (const id of series.idOf.keys()) columnOf.set(id, columnOf.size);
  const cells = columnOf.size * daysIn(range);
  const counts = new Float64Array(cells);
  const firsts = new Float64Array(cells).fill(Number.NaN);
  const lasts = new Float64Array(cells).fill(Number.NaN);
  const strangers = new Set<string>();
  const firstCell = (dayMicros: Micros) => ((dayMicros - range.fromMicros) / MICROS_PER_DAY) * columnOf.size;
  /** The day that the last row was of: most rows follow one of the same. */
  let [lastDayMicros, lastFirstCell] = [Number.NaN, 0];

  /** Where a row belongs; undefined for one that was not asked for. */
  function cellOf(id: string, dayMicros: Micros): number | undefined {
    if (dayMicros !== lastDayMicros) {
      checkAligned(dayMicros);
      if (!isWithin(range, dayMicros)) return undefined;
      [lastDayMicros, lastFirstCell] = [dayMicros, firstCell(dayMicros)];
    }
    const column = columnOf.get(id);
    if (column !== undefined) return lastFirstCell + column;
    strangers.add(id);
    return undefined;
  }

  function addCounted({ id, timestampMicros, count, firstMicros, lastMicros }: CountedRow): void {
    const cell = cellOf(id, timestampMicros);
    if (cell === undefined) return;
    counts[cell] = count;
    firsts[cell] = firstMicros - timestampMicros;
    lasts[cell] = lastMicros - timestampMicros;
  }

  function add({ id, timestampMicros, values }: StatisticsRow): void {
    const cell = cellOf(id, timestampMicros);
    if (cell === undefined) return;
    for (const [aggregation, text] of values) {
      if (text === 'null') continue;
      if (aggregation === 'count') counts[cell] = parseInt64Text(text);
      if (aggregation === 'first_time') firsts[cell] = parseTimestampText(text) - timestampMicros;
      if (aggregation === 'last_time') lasts[cell] = parseTimestampText(text) - timestampMicros;
    }
  }

  const known = (micros: number) => (Number.isNaN(micros) ? undefined : micros);
  /** Of each vessel, in the order in which totals are compared: sorted once, and not once a day. */
  const sortedIds = new Map(group.map(({ vessel, series }) => [vessel, [...series.idOf.keys()].sort()]));
  function of(vessel: string, date: string): DayTotals | undefined {
    const dayMicros = dateToMicros(date);
    const asked = group.find((member) => member.vessel === vessel);
    if (asked === undefined || !isWithin(range, dayMicros)) return undefined;
    const totals = new Map<string, SeriesTotal>();
    for (const id of sortedIds.get(vessel)!) {
      const cell = firstCell(dayMicros) + columnOf.get(id)!;
      const count = counts[cell]!;
      if (count > 0)
        totals.set(id, { count, firstMicros: known(firsts[cell]!), lastMicros: known(lasts[cell]!) });
    }
    return totals;
  }

  return { add, addCounted, strangers, totals: () => ({ of }) };
}

function checkAligned(startMicros: Micros): void {
  if (startMicros % MICROS_PER_DAY === 0) return;
  throw new DataError(
    'windows-misaligned',
    `got a statistics window of a day that begins at ${microsToIso(startMicros)}, expected UTC midnight: its counts cannot be compared with UTC days; report it to the operator of the query service`,
  );
}
