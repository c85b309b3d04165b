import type { CountsJson } from './counts.ts';
import type { ReceiptDraft } from './receipt.ts';
import type { SeriesRowsJson, SplicedRowGroup } from './row-group.ts';

/** A process, named such that another one can tell whether it still lives. */
export interface ProcessId {
  /** Host, boot and process name space: equal only where `pid` means the same thing. */
  readonly host: string;
  readonly pid: number;
}

export interface UploadRef {
  readonly key: string;
  readonly uploadId: string;
  readonly nonce: string;
}

/** A stored part of one. `tag` is the store's own name for its content (S3: the ETag). */
export interface PartRef {
  readonly partNumber: number;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly tag: string;
}

/** Durable progress of one unfinished vessel-day: the state of its open upload, and the proof so far. */
export interface Checkpoint {
  /** Version of the row groups; absent in checkpoints of version 1. */
  readonly formatVersion?: number;
  readonly upload: UploadRef;
  readonly parts: readonly PartRef[];
  /** Row groups in those parts; `footer` is the tail, base64. */
  readonly rowGroups: readonly {
    readonly bodyBytes: number;
    readonly footer: string;
    readonly rows: number;
  }[];
  /** Every reading before this instant is in the parts, none after. */
  readonly cursorMicros: number;
  /** Time series id → id in the selected domain: the set of series this day was begun with. */
  readonly series: Readonly<Record<string, string | null>>;
  readonly counts: CountsJson;
  /** What their values come to; absent in checkpoints of earlier versions. */
  readonly values?: SeriesRowsJson;
  readonly tally: Tally;
}

/** The same before it is text, or read from it: row groups as they are. */
export type OpenCheckpoint = Omit<Checkpoint, 'rowGroups'> & {
  readonly rowGroups: readonly SplicedRowGroup[];
};

/** What an attempt has done so far, for the receipt; carried over a resume. */
export interface Tally {
  readonly startedAt: string;
  readonly pages: number;
  readonly requests: number;
  readonly retries: number;
  readonly clippedRows: number;
}

/** What publishing a day changes in its job's table, in a delta lake. */
export interface TableChange {
  /** The files that the table has of the day: one mostly, none for a new day. */
  readonly remove: readonly { readonly key: string; readonly sizeBytes: number }[];
  /** The file that takes their place; null: the day has no rows. */
  readonly add: {
    readonly key: string;
    readonly sizeBytes: number;
    readonly modifiedMs: number;
    /** Statistics of its columns, as JSON text. */
    readonly stats: string;
  } | null;
  /** A version that there was when the change was decided. */
  readonly since: number;
}

/** A finished, verified, not yet published day: from here on only publish and receipt remain. */
export interface SealedDay {
  /** Null for a day that is empty and has no object in the lake; in a delta lake for one that is empty, or unchanged. */
  readonly upload: UploadRef | null;
  readonly parts: readonly PartRef[];
  readonly draft: ReceiptDraft;
  /** The detail object's JSON text, gzipped, base64. */
  readonly detail: string | null;
  /** Set in a delta lake; null where the table already has the day as it is to be. */
  readonly table?: TableChange | null;
}

/** A lease on an unfinished vessel-day: who owns it, how far it is, when the owner last said that it lives. In `_checkpoints/…/<epoch>.json`. */
export interface ClaimFile {
  readonly claimVersion: 1;
  readonly epoch: number;
  /** Random; tells two attempts of the same process apart. */
  readonly attempt: string;
  readonly owner: ProcessId;
  readonly settingsHash: string;
  /** Wall clock of the owner when it last said that it lives; 0 after it gave the vessel-day back. */
  readonly heartbeatMs: number;
  readonly checkpoint: Checkpoint | null;
  readonly sealed: SealedDay | null;
  /** Epoch of the attempt that took over: from then on the owner can write neither this file nor anything else. */
  readonly fencedBy?: number;
}
