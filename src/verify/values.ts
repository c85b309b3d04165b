/**
 * Values read back against the values that the service's statistics give, as JSON texts. Pure.
 *
 * What is compared exactly: counts, times, first and last values, minimum, maximum, and sums of longs, wherever the
 * service writes an integer as one. Sums of doubles depend on the order of adding: n values added in any order
 * differ by at most about n × 2⁻⁵³ of the sum of their absolute values, which for ten million readings is 1.1e-9.
 */
import type { LakeValue, SeriesRows } from './read-back-rows.ts';

/** Of the sum of absolute values, within which two sums of doubles count as equal. */
export const SUM_TOLERANCE = 1e-9;

/** What the service says of one series: aggregation → JSON text. */
export type AnsweredValues = ReadonlyMap<string, string>;

/** Aggregations that every series has, and those that series of numbers have besides. */
export const VALUES_OF_ANY = ['first_val', 'last_val'] as const;
export const VALUES_OF_NUMBERS = ['min', 'max', 'sum'] as const;

export interface ValueComparison {
  /** Aggregations that differ, with both sides. */
  readonly differences: readonly {
    readonly aggregation: string;
    readonly lake: string;
    readonly source: string;
  }[];
  /** Aggregations that the service gave no value of. */
  readonly missing: readonly string[];
}

/** Compare one series. Its counts are known to be equal. */
export function compareSeries(rows: SeriesRows, answered: AnsweredValues): ValueComparison {
  const differences: ValueComparison['differences'][number][] = [];
  const missing: string[] = [];
  const compare = (aggregation: string, lake: string, isEqual: (text: string) => boolean) => {
    const source = answered.get(aggregation);
    if (source !== undefined && isEqual(source)) return;
    if (source === undefined || source === 'null') missing.push(aggregation);
    else differences.push({ aggregation, lake, source: source.slice(0, 100) });
  };
  compare('first_val', describeValues(rows.first), (text) =>
    rows.first.some((value) => isValue(text, value)),
  );
  compare('last_val', describeValues(rows.last), (text) => rows.last.some((value) => isValue(text, value)));
  // A series that holds any JSON has no minimum, maximum and sum.
  if (rows.jsons === 0 && rows.min !== undefined && rows.max !== undefined) {
    const { min, max, sum, magnitude } = rows;
    compare('min', String(min), (text) => isNumber(text, min));
    compare('max', String(max), (text) => isNumber(text, max));
    if (Number.isFinite(magnitude)) compare('sum', String(sum), (text) => isSum(text, sum, magnitude));
  }
  return { differences, missing };
}

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?\d/;

/** Does a JSON number spell this value? Longs are compared as such where the text is an integer. */
export function isNumber(text: string, value: bigint | number): boolean {
  if (!NUMBER.test(text)) return false;
  if (typeof value === 'bigint' && INTEGER.test(text)) return BigInt(text) === value;
  return Number(text) === Number(value);
}

function isSum(text: string, sum: bigint | number, magnitude: number): boolean {
  if (isNumber(text, sum)) return true;
  if (typeof sum === 'bigint' && INTEGER.test(text)) return false;
  return Math.abs(Number(text) - Number(sum)) <= SUM_TOLERANCE * magnitude;
}

function isValue(text: string, value: LakeValue): boolean {
  return typeof value === 'object' ? isSameJson(text, value.json) : isNumber(text, value);
}

/** The same text, or the same JSON: whether statistics keep white space and the order of members is not promised. */
export function isSameJson(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    return canonical(a) === canonical(b);
  } catch {
    return false;
  }
}

function canonical(text: string): string {
  const parsed: unknown = JSON.parse(text, keepNumbers as (key: string, value: unknown) => unknown);
  return JSON.stringify(parsed, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/** Numbers that a double may not hold keep their text. */
function keepNumbers(_: string, value: unknown, { source }: { source?: string }): unknown {
  const exact = typeof value !== 'number' || (Number.isFinite(value) && (source?.length ?? 0) <= 15);
  return exact ? value : { number: source };
}

function describeValues(values: readonly LakeValue[]): string {
  const texts = values.map((value) => (typeof value === 'object' ? value.json.slice(0, 60) : String(value)));
  return texts.length === 0 ? 'none' : texts.slice(0, 3).join(' or ');
}

/** Aggregations that a window's value is compared exactly by; the others are sums of some kind. */
const EXACT = new Set(['count', 'min', 'max', 'first_val', 'last_val', 'first_time', 'last_time']);

/**
 * Is a cell of a statistics object what the service answers now? `micros` of the answer where it is a time. Derived
 * values are sums of some kind: equal to 1e-9 of the larger.
 */
export function isWindowValue(
  aggregation: string,
  cell: bigint | number | string | null,
  text: string | undefined,
  micros: number | undefined,
): boolean {
  if (cell === null || text === undefined) return cell === null && text === undefined;
  if (micros !== undefined) return Number(cell) === micros;
  if (typeof cell === 'string') return isSameJson(text, cell);
  if (!NUMBER.test(text)) return false;
  if (EXACT.has(aggregation)) return isNumber(text, cell);
  const [ours, theirs] = [Number(cell), Number(text)];
  return Math.abs(ours - theirs) <= SUM_TOLERANCE * Math.max(Math.abs(ours), Math.abs(theirs));
}
