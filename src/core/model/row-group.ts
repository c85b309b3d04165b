/** Rows after which a row group closes at the next timestamp change: a constant of the format. */
export const ROW_GROUP_ROWS = 524_288;
/** The same for statistics, whose rows are many times wider. */
export const STATISTICS_ROW_GROUP_ROWS = 65_536;
/** The same by bytes of JSON text: a row group is held in memory several times while it is encoded. */
export const ROW_GROUP_TEXT_BYTES = 64 * 1024 * 1024;
/** Least size of a part: a constant of the format (and S3's own minimum for all parts but the last). */
const PART_BYTES = 5 * 1024 * 1024;
/** Raised whenever the bytes of a published day change for the same data. Days of an older one are left alone. */
export const FORMAT_VERSION = 3;

/** Sizes that shape the bytes of an object; overridable only by tests. */
export interface FormatSizes {
  readonly rowGroupRows: number;
  /** Absent: `ROW_GROUP_TEXT_BYTES`. */
  readonly rowGroupTextBytes?: number;
  readonly partBytes: number;
}
export const FORMAT_SIZES: FormatSizes = { rowGroupRows: ROW_GROUP_ROWS, partBytes: PART_BYTES };

/** The runs of a row group by series and UTC hour, in columns: a small vessel-day is little else. */
export interface RunColumns {
  readonly ranks: Int32Array;
  /** Readings (statistics: the sum of the `count` column of the windows). */
  readonly counts: Float64Array;
  readonly firstMicros: Float64Array;
  readonly lastMicros: Float64Array;
}

export interface SeriesRuns extends RunColumns {
  readonly ids: readonly string[];
}

/** For rows that are no readings. */
export const NO_RUNS: RunColumns = {
  ranks: new Int32Array(0),
  counts: new Float64Array(0),
  firstMicros: new Float64Array(0),
  lastMicros: new Float64Array(0),
};

/**
 * A row group to be spliced out of a file of its own whose body began at byte 4: `body` is its column chunks, `tail` what follows (page indexes, footer,
 * its length, magic), with offsets that count from that file's beginning.
 */
export interface EncodedRowGroup {
  readonly body: Uint8Array;
  readonly tail: Uint8Array;
  readonly rows: number;
  readonly minMicros: number;
  readonly maxMicros: number;
  /** What the group holds of each series in each UTC hour: taken from the sorted rows that were encoded. */
  readonly runs: SeriesRuns;
  /** What its values come to, of each series of which that can be told. */
  readonly values: readonly { readonly timeSeriesId: string; readonly rows: SeriesRows }[];
}

/** What must be remembered of a row group that has been uploaded, to write the footer at the end. */
export interface SplicedRowGroup {
  readonly bodyBytes: number;
  readonly tail: Uint8Array;
  readonly rows: number;
}

/** A value as the lake holds it: a long, a double, or a JSON text, or what is kept of that. */
export type LakeValue = bigint | number | { readonly json: string } | { readonly jsonSha256: string };

/** What one series' rows come to. */
export interface SeriesRows {
  readonly longs: number;
  readonly doubles: number;
  readonly jsons: number;
  /** Undefined without a number, or where nothing is known of it; as for the next two. */
  readonly min: bigint | number | undefined;
  readonly max: bigint | number | undefined;
  /** Exact where every number is a long. */
  readonly sum: bigint | number | undefined;
  /** Sum of the absolute values: what the error of a sum is measured by. */
  readonly magnitude: number;
  /** Values at the first and at the last instant: the contract gives no order to those. Undefined: not known. */
  readonly first: readonly LakeValue[] | undefined;
  readonly last: readonly LakeValue[] | undefined;
}

/** Values at one instant that are remembered as possible first or last ones. */
export const MAX_EDGE_VALUES = 1_000;

/** A double as `12`, a long as `"12"`, JSON as `["<SHA-256>"]`; null where nothing is known. */
export type LakeValueJson = number | string | readonly [string] | null;

/** Time series id → what its rows come to. */
export type SeriesRowsJson = Readonly<Record<string, readonly [Kinds, Numbers, first: Edge, last: Edge]>>;
type Kinds = readonly [longs: number, doubles: number, jsons: number];
type Numbers = readonly [
  min: LakeValueJson,
  max: LakeValueJson,
  sum: LakeValueJson,
  magnitude: number | null,
];
type Edge = readonly LakeValueJson[] | null;
