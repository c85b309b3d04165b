import type { Dataset } from './job.ts';
import type { ApiVersion } from './query.ts';

/** What a receipt proves: counts equal to the source's, at least the source's, or nothing asked (`verify: off`). */
export type Proof = 'exact' | 'at-least' | 'unproven';

/**
 * The JSON that commits a published vessel-day and carries its proof. Small: a scan of the ledger must stay
 * cheap; counts per series and hour are in the detail object that `detail` names.
 */
export interface Receipt {
  readonly receiptVersion: 1;
  readonly job: string;
  readonly vessel: string;
  readonly date: string;
  readonly dataset: Dataset;
  /** Number of the attempt that published; fences every lower one. */
  readonly epoch: number;
  /** Hash of the settings that decide the content; another hash makes the day stale. */
  readonly settingsHash: string;
  readonly proof: Proof;
  /** Rows of the object; 0 for an empty day, which has no object. */
  readonly rows: number;
  /** Series with at least one row. */
  readonly series: number;
  readonly firstTimestamp: string | null;
  readonly lastTimestamp: string | null;
  readonly object: {
    readonly key: string;
    readonly sizeBytes: number;
    /** The upload's own id, which the object carries too (S3: as metadata). */
    readonly upload: string;
    readonly parts: readonly { readonly sizeBytes: number; readonly sha256: string }[];
  } | null;
  readonly detail: { readonly key: string; readonly sha256: string } | null;
  /** The source's total for the day, and when it was asked; null where `verify: off` asked nothing. */
  readonly source: {
    readonly rows: number;
    readonly askedAt: string;
    /** Digest of count, first and last time per series (`totalsDigest`): how reconcile sees that nothing changed. */
    readonly totalsSha256?: string;
  } | null;
  readonly apiVersion: ApiVersion;
  readonly formatVersion: number;
  readonly pages: number;
  readonly requests: number;
  readonly retries: number;
  readonly clippedRows: number;
  readonly startedAt: string;
  readonly finishedAt: string;
  /** Version of vessel-export. */
  readonly version: string;
}

/** A receipt before it is known who finishes the day, and when. */
export type ReceiptDraft = Omit<Receipt, 'epoch' | 'finishedAt'>;

/** What a look-back compared: the published day, by the epoch of its receipt, with the source's totals then. */
export interface ComparedDay {
  readonly epoch: number;
  /** `totalsDigest` of what the source counted. */
  readonly totalsSha256: string;
}

/** Why a vessel-day failed or was refused; gone once it is published. */
export interface Note {
  readonly noteVersion: 1;
  readonly job: string;
  readonly vessel: string;
  readonly date: string;
  readonly state: 'failed' | 'refused';
  readonly code: string;
  readonly message: string;
  readonly at: string;
  /** Digest of the source's totals that were refused: the day stays refused until they change. */
  readonly totalsSha256?: string;
}
