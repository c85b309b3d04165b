/** The source's totals of many vessel-days with few requests: statistics in windows of a day. */
import { DataError } from '../core/errors.ts';
import type { Aggregation, CountedRow, Micros, StatisticsRow, TimeRange } from '../core/model/index.ts';
import { dateToMicros, isWithin, MICROS_PER_DAY, microsToIso } from '../core/model/index.ts';
import type { DayTotals, SeriesTotal } from '../core/proof/day-totals.ts';
import { mayFitInHalves, repeatedResult } from './answer-faults.ts';
import type { ResolvedSeries, SourceContext } from './context.ts';
import { addToWindow, COUNTED, type CountedWindow, collectStatistics } from './statistics.ts';

export interface LookbackVessel {
  readonly vessel: string;
  readonly series: Pick<ResolvedSeries, 'idOf' | 'expressions'>;
  readonly range: TimeRange;
}

/** Totals of a vessel-day, if it was asked for. Throws DataError `repeated-result` where something was told twice. */
export type LookbackTotals = (vessel: string, date: string) => DayTotals | undefined;

/** Series × days that one request asks for at most: bounds its answer to some 10 MB. */
const LOOKBACK_RESULTS = 50_000;
/** Expressions in one request at most: bounds its body. */
const EXPRESSIONS_AT_ONCE = 200;

/** Vessels of one request each: never two that share a series, whose readings a service might count twice. */
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

function unionOf(group: readonly LookbackVessel[]): TimeRange {
  return {
    fromMicros: Math.min(...group.map(({ range }) => range.fromMicros)),
    toMicros: Math.max(...group.map(({ range }) => range.toMicros)),
  };
}

/** Ask for the totals of a group: of fewer vessels, then of fewer days, where it is too much at once. Throws DataError `windows-misaligned` too. */
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
  return (vessel, date) => totals.map((part) => part(vessel, date)).find((found) => found !== undefined);
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
      ...{ expressions, range, aggregations: COUNTED, window: '1d' },
      isDivisible: splitGroup(group) !== undefined,
    },
    () => new DayCollector(group, range),
    (days, row) => days.add(row),
    (days, row) => days.add(row),
  );
  if (collector.strangers.size > 0) {
    const ids = [...collector.strangers].slice(0, 3);
    context.log.warn(
      { job: context.job.name, series: collector.strangers.size, ids },
      'statistics of series that metadata does not list are passed over',
    );
  }
  return (vessel, date) => collector.of(vessel, date);
}

function daysIn(range: TimeRange): number {
  return (range.toMicros - range.fromMicros) / MICROS_PER_DAY;
}

/**
 * Gathers windows of a day by vessel-day, whatever their order: of each series and day the numbers of `COUNTED`, since there are millions
 * of them in a large fleet; NaN is what was not told. An older version sends one value a row.
 */
export class DayCollector {
  readonly strangers = new Set<string>();
  readonly #range: TimeRange;
  readonly #idsOf = new Map<string, readonly string[]>();
  readonly #columnOf = new Map<string, number>();
  readonly #numbers: Float64Array;
  /** By the place of a cell in `#numbers`. */
  readonly #repeated = new Map<number, Aggregation>();

  constructor(group: readonly LookbackVessel[], range: TimeRange) {
    this.#range = range;
    for (const { vessel, series } of group) {
      const ids = [...series.idOf.keys()];
      this.#idsOf.set(vessel, ids);
      for (const id of ids) this.#columnOf.set(id, this.#columnOf.size);
    }
    this.#numbers = new Float64Array(this.#columnOf.size * daysIn(range) * COUNTED.length).fill(Number.NaN);
  }

  add(row: StatisticsRow | CountedRow): void {
    const { id, timestampMicros } = row;
    expectMidnight(timestampMicros);
    if (!isWithin(this.#range, timestampMicros)) return;
    const column = this.#columnOf.get(id);
    if (column === undefined) {
      this.strangers.add(id);
      return;
    }
    const cell = this.#cellOf(column, timestampMicros);
    const told: CountedWindow = {};
    addToWindow(told, row);
    for (let at = 0; at < COUNTED.length; at++) {
      const value = told[COUNTED[at]!];
      if (value === undefined) continue;
      const isRepeated = !Number.isNaN(this.#numbers[cell + at]);
      if (isRepeated && !this.#repeated.has(cell)) this.#repeated.set(cell, COUNTED[at]!);
      this.#numbers[cell + at] = value;
    }
  }

  of(vessel: string, date: string): DayTotals | undefined {
    const ids = this.#idsOf.get(vessel);
    const dayMicros = dateToMicros(date);
    if (ids === undefined || !isWithin(this.#range, dayMicros)) return undefined;
    const totals = new Map<string, SeriesTotal>();
    const sinceMidnight = (micros: Micros) => (Number.isNaN(micros) ? undefined : micros - dayMicros);
    for (const id of ids) {
      const cell = this.#cellOf(this.#columnOf.get(id)!, dayMicros);
      const repeated = this.#repeated.get(cell);
      if (repeated !== undefined) throw repeatedResult(vessel, repeated, id, dayMicros);
      const count = this.#numbers[cell]!;
      if (count > 0)
        totals.set(id, {
          count,
          firstMicros: sinceMidnight(this.#numbers[cell + 1]!),
          lastMicros: sinceMidnight(this.#numbers[cell + 2]!),
        });
    }
    return totals;
  }

  #cellOf(column: number, dayMicros: Micros): number {
    const day = (dayMicros - this.#range.fromMicros) / MICROS_PER_DAY;
    return (day * this.#columnOf.size + column) * COUNTED.length;
  }
}

function expectMidnight(startMicros: Micros): void {
  if (startMicros % MICROS_PER_DAY === 0) return;
  throw new DataError(
    'windows-misaligned',
    `got a statistics window of a day that begins at ${microsToIso(startMicros)}, expected UTC midnight: its counts cannot be compared with UTC days; report it to the operator of the query service`,
  );
}
