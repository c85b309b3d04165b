/**
 * Which values of statistics are missing although their windows have readings. The older version answers one value a
 * row, so that an answer that was cut between two rows lacks some and looks whole.
 */
import type { Aggregation, Micros, StatisticsRow } from '../core/model/index.ts';
import { parseInt64Text } from '../source/decode/index.ts';

/** A value that was asked for and is not there. */
export interface MissingValue {
  readonly id: string;
  /** Start of the window. */
  readonly timestampMicros: Micros;
  readonly aggregation: Aggregation;
}

/** What every window with readings has, of numbers or of JSON. */
const OF_ANY: ReadonlySet<string> = new Set(['count', 'first_time', 'last_time', 'first_val', 'last_val']);

/** Readings from which on an aggregation of numbers is defined, where that is more than one. */
const MIN_READINGS: Readonly<Partial<Record<Aggregation, number>>> = {
  avg: 2,
  integral: 2,
  stddev: 2,
  var: 2,
  skewness: 3,
  kurtosis: 4,
};

/** Aggregations that need readings which differ. */
const OF_SPREAD: ReadonlySet<Aggregation> = new Set(['skewness', 'kurtosis']);

/**
 * Values that are defined, by what else is there, and absent. A series is one of numbers if any of its windows has a
 * value that only numbers have. JSON `null` is an answer. Pure.
 */
export function findMissingValues(
  rows: readonly StatisticsRow[],
  aggregations: readonly Aggregation[],
): MissingValue[] {
  const numeric = new Set(rows.filter(hasNumbers).map(({ id }) => id));
  return rows.flatMap((row) => {
    const { id, timestampMicros, values } = row;
    const absent = aggregations.filter((aggregation) => !values.has(aggregation));
    if (absent.length === 0 || values.size === 0) return [];
    const count = values.has('count') ? countOf(row) : undefined;
    if (count === 0) return [];
    const isNumeric = numeric.has(id) && !hasJson(row);
    return absent
      .filter((aggregation) => OF_ANY.has(aggregation) || (isNumeric && isDefined(row, aggregation, count)))
      .map((aggregation) => ({ id, timestampMicros, aggregation }));
  });
}

/** Readings in a row's window; 0 where it does not say. */
export function countOf({ values }: StatisticsRow): number {
  const count = values.get('count');
  return count === undefined || count === 'null' ? 0 : parseInt64Text(count);
}

/** Whatever the readings are. */
export function isAlwaysDefined({ aggregation }: MissingValue): boolean {
  return OF_ANY.has(aggregation);
}

function hasNumbers({ values }: StatisticsRow): boolean {
  for (const [aggregation, text] of values) if (!OF_ANY.has(aggregation) && text !== 'null') return true;
  return false;
}

function hasJson({ values }: StatisticsRow): boolean {
  return ['first_val', 'last_val'].some((name) => /^[^-\d]/.test(values.get(name) ?? ''));
}

function isDefined({ values }: StatisticsRow, aggregation: Aggregation, count: number | undefined): boolean {
  if (count === undefined || count < (MIN_READINGS[aggregation] ?? 1)) return false;
  if (!OF_SPREAD.has(aggregation)) return true;
  return (
    ['var', 'stddev'].some((name) => Number(values.get(name) ?? 0) > 0) ||
    Number(values.get('min')) < Number(values.get('max'))
  );
}
