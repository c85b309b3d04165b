/** One time series as metadata describes it, in the shape of version 2026-09-10 whatever version answered. */
export interface SeriesMetadata {
  /** Id in the queried domain. */
  readonly id: string;
  readonly timeSeriesId: string;
  readonly source: string | null;
  readonly dataProvider: string | null;
  readonly unitOfMeasure: string | null;
  readonly scale: number | null;
  readonly vesselName: string | null;
  /** IMO number without the letters, `9321483`. */
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
  /** The `domains` (or `mapsTo`) object verbatim, so that fields that the contract does not list survive. */
  readonly domainsJson: string;
}

/** One row of a statistics answer, whichever version it came in: one window of one series. */
export interface StatisticsRow {
  /** Start of the window. */
  readonly timestampMicros: number;
  /** Id as answered: the series' UUID, since requests use `output_domain=id`. */
  readonly id: string;
  /** Lowercase aggregation → verbatim JSON text of its value (`12`, `3.5`, `"2026-…Z"`, `{"lat":…}`, `null`). */
  readonly values: ReadonlyMap<string, string>;
}

/** The sixteen aggregations of the contract. */
export const AGGREGATIONS = [
  'avg',
  'count',
  'delta',
  'first_time',
  'first_val',
  'integral',
  'kurtosis',
  'last_time',
  'last_val',
  'max',
  'mean',
  'min',
  'skewness',
  'stddev',
  'sum',
  'var',
] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];
