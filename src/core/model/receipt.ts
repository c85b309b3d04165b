import type { Dataset } from './job.ts';
import type { ApiVersion } from './query.ts';

/** What a receipt proves: counts equal to the source's, at least the source's, or nothing asked (`verify: off`). */
export type Proof = 'exact' | 'at-least' | 'unproven';

/** The JSON that commits a published vessel-day with its proof. Small, for ledgers are scanned: counts per series and hour are in its `detail`. */
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
  /** Rows of the object; 0 for an empty day, which has an object only where it had one before. */
  readonly rows: number;
  /** Series with at least one row. */
  readonly series: number;
  /** Series that `select` meant, with rows or without; older receipts do not have it. */
  readonly selectedSeries?: number;
  /** Optional expressions of `select` that matched no series, by their places there from 0; absent: none. */
  readonly unmatchedExpressions?: readonly number[];
  /** Hash of `select` alone: which receipts can be compared by their series. */
  readonly selectHash?: string;
  readonly firstTimestamp: string | null;
  readonly lastTimestamp: string | null;
  readonly object: {
    readonly key: string;
    readonly sizeBytes: number;
    /** The upload's own id, which the object carries too (S3: as metadata). */
    readonly upload: string;
    readonly parts: readonly { readonly sizeBytes: number; readonly sha256: string }[];
  } | null;
  /** The version of the job's table that brought the day as it is, in a delta lake; absent where it was always empty. */
  readonly table?: { readonly version: number };
  readonly detail: { readonly key: string; readonly sha256: string } | null;
  /** The source's total for the day, and when it was asked; null where `verify: off` asked nothing. */
  readonly source: {
    readonly rows: number;
    readonly askedAt: string;
    /** Digest of count, first and last time per series (`totalsDigest`): how reconcile sees that nothing changed. */
    readonly totalsSha256?: string;
  } | null;
  /** Base URL, with its tenant, of the service that was asked; older receipts do not have it. */
  readonly sourceUrl?: string;
  /** What is odd about the day, until it is accepted or fixed: series that are missing. */
  readonly remark?: FewerSeriesWarning;
  /** And whatever else: of each kind one. */
  readonly warnings?: readonly SeriesWarning[];
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
  /** True: the job's discovery did not name the vessel, which was known from the ledger. */
  readonly unlisted?: boolean;
}

/** An earlier selection of the vessel, which had more series. */
export interface ComparedSeries {
  /** Date of that vessel-day, and when it was published. */
  readonly date: string;
  readonly finishedAt: string;
  /** How many series it had. */
  readonly series: number;
  /** That day had another `select`: the number is of those that this one means, by its hash, as far as is known. */
  readonly selectHash?: string;
}

/** A vessel-day has fewer series than an earlier one: a source may lose sensors, and credentials may be narrowed. */
export interface FewerSeriesWarning {
  readonly kind: 'fewer-series';
  /** How many are missing, and what the first few of them are called. */
  readonly missing: number;
  readonly names: readonly string[];
  readonly comparedWith: ComparedSeries;
  /** Date of the vessel-day that had fewer first. */
  readonly since: string;
}

/** Odd series. `other-vessel`: expressions that name the vessel list them, metadata give them to another, and they are left out. */
export interface SeriesWarning {
  readonly kind: 'other-vessel';
  /** How many they are, and of the first few what they are called and what is odd. */
  readonly series: number;
  readonly names: readonly string[];
  /** Digest of all of them: who accepts the warning has seen just these. */
  readonly digest: string;
  /** Date of the vessel-day that left them out first. */
  readonly since: string;
}

/** What a receipt keeps saying about a published day, until it is accepted. */
export type Warning = FewerSeriesWarning | SeriesWarning;

/** A vessel-day that waits for its missing series. */
export interface Waiting {
  /** When it was first seen. */
  readonly firstSeenAt: string;
  /** When it is published without them. */
  readonly publishedFrom: string;
  /** Series that there were; with fewer still it waits anew. */
  readonly selectedSeries: number;
  readonly comparedWith: ComparedSeries;
}

/** Codes of notes of vessel-days whose receipt cannot be read. */
export const DAMAGED_RECEIPT = 'damaged-receipt';
export const NEWER_RECEIPT = 'unknown-receipt-version';

/** Is what a note tells of over, now that the vessel-day has this receipt? */
export function isOvertaken(
  { at, code }: Pick<Note, 'at' | 'code'>,
  { finishedAt }: Pick<Receipt, 'finishedAt'>,
): boolean {
  return at < finishedAt || code === DAMAGED_RECEIPT || code === NEWER_RECEIPT;
}

/** Milliseconds from the first attempt at a day until it was published, the time between attempts included. */
export function durationMsOf({ startedAt, finishedAt }: Pick<Receipt, 'startedAt' | 'finishedAt'>): number {
  return Date.parse(finishedAt) - Date.parse(startedAt);
}

/** A receipt before it is known who finishes the day, and when. */
export type ReceiptDraft = Omit<Receipt, 'epoch' | 'finishedAt'>;

/** What a look-back compared: the published day, by the epoch of its receipt, with the source's totals then. */
export interface ComparedDay {
  readonly epoch: number;
  /** `totalsDigest` of what the source counted. */
  readonly totalsSha256: string;
}

/** Why a vessel-day failed, was refused or waits; gone once it is published. */
export interface Note {
  readonly noteVersion: 1;
  readonly job: string;
  readonly vessel: string;
  readonly date: string;
  readonly state: 'failed' | 'refused' | 'waiting';
  readonly code: string;
  readonly message: string;
  readonly at: string;
  /** Digest of the source's totals that were refused: the day stays refused until they change. */
  readonly totalsSha256?: string;
  /** Outlasts other failures meanwhile. */
  readonly waiting?: Waiting;
}
