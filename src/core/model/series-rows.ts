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
export type SeriesRowsJson = Readonly<
  Record<
    string,
    readonly [
      kinds: readonly [longs: number, doubles: number, jsons: number],
      numbers: readonly [
        min: LakeValueJson,
        max: LakeValueJson,
        sum: LakeValueJson,
        magnitude: number | null,
      ],
      first: readonly LakeValueJson[] | null,
      last: readonly LakeValueJson[] | null,
    ]
  >
>;
