import { UNSEEN_CHAR } from './foreign-text.ts';

/** Member of `domainsJson` that holds what no column and no domain has; no domain is named so. */
export const OTHER_FIELDS = '_other';

/** One time series as metadata describes it, in the shape of version 2026-09-10 whatever version answered. */
export interface SeriesMetadata {
  readonly id: string;
  readonly timeSeriesId: string;
  readonly source: string | null;
  readonly dataProvider: string | null;
  readonly unitOfMeasure: string | null;
  readonly scale: number | null;
  readonly vesselName: string | null;
  /** IMO number without the letters, `9321483`; text that is no such number as it came (`vesselOf` tells). */
  readonly vesselImo: string | null;
  readonly jsmea: {
    readonly id: string | null;
    readonly namingRule: string | null;
    readonly category: string | null;
    readonly subcategory: string | null;
    readonly content: string | null;
    readonly item: string | null;
  };
  readonly flat: { readonly id: string | null; readonly shortName: string | null };
  readonly maker: {
    readonly id: string | null;
    readonly name: string | null;
    readonly description: string | null;
    readonly rangeHigh: number | null;
    readonly rangeLow: number | null;
  };
  /** The `domains` (or `mapsTo`) object verbatim, so that unknown fields survive; those outside of it, of series and `vessel`, stand in OTHER_FIELDS. */
  readonly domainsJson: string;
}

/** Series of a vessel-day, and of one answer: a process holds some 2 kB of each. Vessels have some thousands. */
export const MAX_SERIES = 50_000;

/** One row of a statistics answer, whichever version it came in: one window of one series. */
export interface StatisticsRow {
  readonly timestampMicros: number;
  /** Id as answered: the series' UUID, since requests use `output_domain=id`. */
  readonly id: string;
  /** Lowercase aggregation → verbatim JSON text of its value (`12`, `3.5`, `"2026-…Z"`, `{"lat":…}`, `null`). */
  readonly values: ReadonlyMap<string, string>;
}

/** A row that holds count, first and last time and nothing else. Its reader uses it again for the next row. */
export interface CountedRow {
  id: string;
  /** Code of the id in the dictionary of its answer. */
  code: number;
  timestampMicros: number;
  count: number;
  firstMicros: number;
  lastMicros: number;
}

/** The sixteen aggregations of the contract. */
export const AGGREGATIONS = [
  ...(['avg', 'count', 'delta', 'first_time', 'first_val', 'integral', 'kurtosis', 'last_time'] as const),
  ...(['last_val', 'max', 'mean', 'min', 'skewness', 'stddev', 'sum', 'var'] as const),
] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

interface AggregationColumn {
  readonly name: string;
  readonly type: 'long' | 'double' | 'timestamp' | 'text';
}

/** The columns that one aggregation fills: two for `first_val` and `last_val`, whose series may hold JSON. */
export function aggregationColumns(aggregation: Aggregation): readonly AggregationColumn[] {
  const double = { name: aggregation, type: 'double' } as const;
  if (aggregation === 'count') return [{ name: aggregation, type: 'long' }];
  if (aggregation.endsWith('_time')) return [{ name: aggregation, type: 'timestamp' }];
  return aggregation.endsWith('_val') ? [double, { name: `${aggregation}_json`, type: 'text' }] : [double];
}

/** An id is a UUID; whatever a service has instead, a line of text is enough. Thousands of ids are held. */
export const MAX_ID_BYTES = 4_096;
/** What is expected where `isSeriesId` says no. */
export const ID_RULE = `an id of at most ${MAX_ID_BYTES} bytes without control or invisible characters`;

const PLAIN_ID = /^[\x20-\x7e]*$/;
const UNSEEN = new RegExp(UNSEEN_CHAR, 'u');

/** Whether a text can be an id. Every answer that names series is held against it: ids go on into SQL, files and screens. */
export function isSeriesId(id: string): boolean {
  return new TextEncoder().encode(id).length <= MAX_ID_BYTES && (PLAIN_ID.test(id) || !UNSEEN.test(id));
}
