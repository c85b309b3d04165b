/** The totals of many vessel-days as they come in one answer, a row a series and day. */
import { DataError } from '../core/errors.ts';
import type { Aggregation, CountedRow, Micros, StatisticsRow, TimeRange } from '../core/model/index.ts';
import { dateToMicros, isWithin, MICROS_PER_DAY, microsToIso } from '../core/model/index.ts';
import type { DayTotals, SeriesTotal } from '../core/proof/day-totals.ts';
import { cellsDigest } from '../core/proof/day-totals.ts';
import { repeatedResult } from './answer-faults.ts';
import type { ResolvedSeries } from './context.ts';
import { parseInt64Text, parseTimestampText } from './decode/index.ts';

/** A vessel, its series, and the days of it that are asked for. */
export interface LookbackVessel {
  readonly vessel: string;
  readonly series: Pick<ResolvedSeries, 'idOf' | 'expressions'>;
  /** Whole days. */
  readonly range: TimeRange;
}

/** Both throw DataError `repeated-result` of a vessel-day of which something was told twice. */
export interface LookbackTotals {
  /** Totals of a vessel-day; undefined when it was not asked for. */
  of(vessel: string, date: string): DayTotals | undefined;
  /** `totalsDigest` of the same, without making them. */
  digestOf(vessel: string, date: string): string | undefined;
}

/** Whole days of a range. */
export function daysIn(range: TimeRange): number {
  return (range.toMicros - range.fromMicros) / MICROS_PER_DAY;
}

interface DayCollector {
  readonly add: (row: StatisticsRow) => void;
  readonly addCounted: (row: CountedRow) => void;
  readonly strangers: ReadonlySet<string>;
  totals(): LookbackTotals;
}

/** A vessel's columns: those of its series follow each other, in the order in which totals are compared. */
interface VesselColumns {
  readonly firstColumn: number;
  readonly ids: readonly string[];
}

const UNKNOWN = -1;
const STRANGER = -2;

/**
 * Gathers windows of a day into one cell a day and series: numbers in flat arrays, since there are millions of
 * them in a large fleet. An older version sends one value a row.
 */
export function createDayCollector(group: readonly LookbackVessel[], range: TimeRange): DayCollector {
  const columnOf = new Map<string, number>();
  const vessels = new Map<string, VesselColumns>();
  for (const { vessel, series } of group) {
    const ids = [...series.idOf.keys()].sort();
    vessels.set(vessel, { firstColumn: columnOf.size, ids });
    for (const id of ids) columnOf.set(id, columnOf.size);
  }
  const cells = columnOf.size * daysIn(range);
  const counts = new Float64Array(cells).fill(Number.NaN);
  const firsts = new Float64Array(cells).fill(Number.NaN);
  const lasts = new Float64Array(cells).fill(Number.NaN);
  const strangers = new Set<string>();
  /** Cells that were told something twice, and what. */
  const repeated = new Map<number, Aggregation>();
  /** By the code of an id in its answer: a text is looked up once, and not once a row. */
  let columnOfCode = new Int32Array(columnOf.size + 1).fill(UNKNOWN);
  const firstCell = (dayMicros: Micros) => ((dayMicros - range.fromMicros) / MICROS_PER_DAY) * columnOf.size;
  /** The day that the last row was of: most rows follow one of the same. */
  let [lastDayMicros, lastFirstCell] = [Number.NaN, 0];

  /** Begin of the cells of a day; undefined for one that was not asked for. */
  function cellsOf(dayMicros: Micros): number | undefined {
    if (dayMicros === lastDayMicros) return lastFirstCell;
    checkAligned(dayMicros);
    if (!isWithin(range, dayMicros)) return undefined;
    [lastDayMicros, lastFirstCell] = [dayMicros, firstCell(dayMicros)];
    return lastFirstCell;
  }

  /** Column of a series; STRANGER for one that was not asked for. */
  function columnFor(id: string): number {
    const column = columnOf.get(id);
    if (column !== undefined) return column;
    strangers.add(id);
    return STRANGER;
  }

  function put(column: Float64Array, cell: number, value: number, aggregation: Aggregation): void {
    if (!Number.isNaN(column[cell]!)) repeated.set(cell, aggregation);
    column[cell] = value;
  }

  function learn(code: number, id: string): number {
    if (code >= columnOfCode.length) {
      const wider = new Int32Array(code * 2).fill(UNKNOWN);
      wider.set(columnOfCode);
      columnOfCode = wider;
    }
    const column = columnFor(id);
    columnOfCode[code] = column;
    return column;
  }

  function addCounted({ id, code, timestampMicros, count, firstMicros, lastMicros }: CountedRow): void {
    const dayCells = cellsOf(timestampMicros);
    if (dayCells === undefined) return;
    let column = code < columnOfCode.length ? columnOfCode[code]! : UNKNOWN;
    if (column === UNKNOWN) column = learn(code, id);
    if (column === STRANGER) return;
    const cell = dayCells + column;
    put(counts, cell, count, 'count');
    put(firsts, cell, firstMicros - timestampMicros, 'first_time');
    put(lasts, cell, lastMicros - timestampMicros, 'last_time');
  }

  function add({ id, timestampMicros, values }: StatisticsRow): void {
    const dayCells = cellsOf(timestampMicros);
    const column = dayCells === undefined ? STRANGER : columnFor(id);
    if (dayCells === undefined || column === STRANGER) return;
    const cell = dayCells + column;
    for (const [aggregation, text] of values) {
      if (text === 'null') continue;
      if (aggregation === 'count') put(counts, cell, parseInt64Text(text), aggregation);
      if (aggregation === 'first_time')
        put(firsts, cell, parseTimestampText(text) - timestampMicros, aggregation);
      if (aggregation === 'last_time')
        put(lasts, cell, parseTimestampText(text) - timestampMicros, aggregation);
    }
  }

  const known = (micros: number) => (Number.isNaN(micros) ? undefined : micros);
  /** Begin of the cells of a vessel-day, if it was asked for. */
  function dayOf(vessel: string, date: string): (VesselColumns & { readonly from: number }) | undefined {
    const columns = vessels.get(vessel);
    const dayMicros = dateToMicros(date);
    if (columns === undefined || !isWithin(range, dayMicros)) return undefined;
    const from = firstCell(dayMicros) + columns.firstColumn;
    if (repeated.size > 0) checkToldOnce(vessel, columns.ids, from, dayMicros);
    return { ...columns, from };
  }

  function checkToldOnce(vessel: string, ids: readonly string[], from: number, dayMicros: Micros): void {
    for (const [index, id] of ids.entries()) {
      const aggregation = repeated.get(from + index);
      if (aggregation !== undefined) throw repeatedResult(vessel, aggregation, id, dayMicros);
    }
  }

  function of(vessel: string, date: string): DayTotals | undefined {
    const day = dayOf(vessel, date);
    if (day === undefined) return undefined;
    const totals = new Map<string, SeriesTotal>();
    for (const [index, id] of day.ids.entries()) {
      const cell = day.from + index;
      const count = counts[cell]!;
      if (count > 0)
        totals.set(id, { count, firstMicros: known(firsts[cell]!), lastMicros: known(lasts[cell]!) });
    }
    return totals;
  }

  function digestOf(vessel: string, date: string): string | undefined {
    const day = dayOf(vessel, date);
    return day && cellsDigest(day.ids, { counts, firsts, lasts }, day.from);
  }

  return { add, addCounted, strangers, totals: () => ({ of, digestOf }) };
}

function checkAligned(startMicros: Micros): void {
  if (startMicros % MICROS_PER_DAY === 0) return;
  throw new DataError(
    'windows-misaligned',
    `got a statistics window of a day that begins at ${microsToIso(startMicros)}, expected UTC midnight: its counts cannot be compared with UTC days; report it to the operator of the query service`,
  );
}
