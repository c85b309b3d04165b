/**
 * Values of rows against the values that the service's statistics give, as JSON texts. Pure.
 *
 * What is compared exactly: counts and times, and first and last values, minimum, maximum and sums of longs. Whether a
 * service computes in doubles it does not say: beyond 2^53 an integer is compared exactly only where no double is
 * spelled so, and as a double where it may be one. Sums of doubles depend on the order of adding: n values added in any
 * order differ by at most about n × 2⁻⁵³ of the sum of their absolute values, which for ten million readings is 1.1e-9.
 */
import { hash } from 'node:crypto';
import { type LakeValue, type Micros, microsToIso, type SeriesRows, type TimeSpan } from '../model/index.ts';
import { isSameTime, type Precision } from './compare-counts.ts';

/** Two sums of doubles count as equal within this share of the sum of absolute values. */
const SUM_TOLERANCE = 1e-9;

/** What the source says of one series or window: aggregation → JSON text. */
export type AnsweredValues = ReadonlyMap<string, string>;

export interface SourceSeries {
  readonly count: number;
  readonly firstMicros: Micros | undefined;
  readonly lastMicros: Micros | undefined;
  readonly values: AnsweredValues;
}

interface ValueComparison {
  readonly differences: { readonly aggregation: string; readonly lake: string; readonly source: string }[];
  /** Aggregations that the service gave no value of. */
  readonly missing: string[];
}

/** Compare first and last times and values of one series. Its counts are known to be equal. */
export function compareSeries(
  { firstMicros, lastMicros }: TimeSpan,
  rows: SeriesRows,
  source: SourceSeries,
  precision: Precision,
): ValueComparison {
  const { differences, missing } = compareValues(rows, source.values);
  const times = [
    ['first_time', firstMicros, source.firstMicros],
    ['last_time', lastMicros, source.lastMicros],
  ] as const;
  for (const [aggregation, ours, theirs] of times) {
    if (theirs === undefined) missing.push(aggregation);
    else if (!isSameTime(ours, theirs, precision))
      differences.push({ aggregation, lake: microsToIso(ours), source: microsToIso(theirs) });
  }
  return { differences, missing };
}

export function compareValues(rows: SeriesRows, answered: AnsweredValues): ValueComparison {
  const { differences, missing }: ValueComparison = { differences: [], missing: [] };
  const compare = (aggregation: string, lake: string, isEqual: (text: string) => boolean) => {
    const source = answered.get(aggregation);
    if (source !== undefined && isEqual(source)) return;
    if (source === undefined || source === 'null') missing.push(aggregation);
    else differences.push({ aggregation, lake, source: source.slice(0, 100) });
  };
  const compareEdge = (aggregation: string, values: readonly LakeValue[] | undefined) => {
    if (values === undefined) return;
    compare(aggregation, describeValues(values), (text) => values.some((value) => isValue(text, value)));
  };
  compareEdge('first_val', rows.first);
  compareEdge('last_val', rows.last);
  // A series that holds any JSON has no minimum, maximum and sum.
  if (rows.jsons === 0) {
    const { min, max, sum, magnitude } = rows;
    // Where NaN belongs among numbers engines do not agree, and JSON cannot say it.
    if (min !== undefined && !Number.isNaN(min)) compare('min', String(min), (text) => isNumber(text, min));
    if (max !== undefined && !Number.isNaN(max)) compare('max', String(max), (text) => isNumber(text, max));
    if (sum !== undefined && Number.isFinite(magnitude))
      compare('sum', String(sum), (text) => isSum(text, rows, sum));
  }
  return { differences, missing };
}

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Does a JSON number spell this value, or the double that is nearest to it? */
function isNumber(text: string, value: bigint | number): boolean {
  if (!NUMBER.test(text)) return false;
  if (typeof value === 'bigint' && !mayBeDouble(text)) return BigInt(text) === value;
  return Number(text) === Number(value);
}

/** Is there a double that a service may spell so: with its exact digits, or with the fewest that tell it from others? */
function mayBeDouble(text: string): boolean {
  const double = Number(text);
  if (!INTEGER.test(text) || !Number.isFinite(double)) return true;
  return text === String(double) || BigInt(text) === BigInt(double);
}

function isSum(text: string, { longs, magnitude }: SeriesRows, sum: bigint | number): boolean {
  if (isNumber(text, sum)) return true;
  const isWhole = typeof sum === 'bigint' && INTEGER.test(text);
  if (isWhole && (magnitude <= 2 ** 53 || !mayBeDouble(text))) return false;
  // Each long is rounded once, and each sum of some of them.
  const tolerance = isWhole ? 2 * longs * 2 ** -53 : SUM_TOLERANCE;
  return Math.abs(Number(text) - Number(sum)) <= tolerance * magnitude;
}

function isValue(text: string, value: LakeValue): boolean {
  if (typeof value !== 'object') return isNumber(text, value);
  if (!('json' in value)) return digestJson(text) === value.jsonSha256;
  return isSameJson(text, value.json) || isSameDouble(text, value.json);
}

/** A number beyond the longs is JSON in the lake, and may be a double to the service. */
function isSameDouble(text: string, json: string): boolean {
  const double = Number(text);
  if (![text, json].every((one) => NUMBER.test(one)) || !mayBeDouble(text)) return false;
  return Number.isFinite(double) && double === Number(json);
}

/** The same text, or the same JSON: whether statistics keep white space and the order of members is not promised. */
function isSameJson(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    return canonical(a) === canonical(b);
  } catch {
    return false;
  }
}

/** SHA-256 (hex) of a JSON text: the same for texts that are the same JSON. */
export function digestJson(text: string): string {
  try {
    return hash('sha256', canonical(text));
  } catch {
    return hash('sha256', text);
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
  const texts = values.map((value) => {
    if (typeof value !== 'object') return String(value);
    return 'json' in value ? value.json.slice(0, 60) : `JSON of SHA-256 ${value.jsonSha256.slice(0, 16)}…`;
  });
  return texts.length === 0 ? 'none' : texts.slice(0, 3).join(' or ');
}

/** Aggregations that a window's value is compared exactly by; the others are sums of some kind. */
const EXACT = new Set(['count', 'min', 'max', 'first_val', 'last_val', 'first_time', 'last_time']);

/** Does a cell of a statistics object equal the answer? `micros` of an answer that is a time. Derived values may differ by 1e-9. */
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
