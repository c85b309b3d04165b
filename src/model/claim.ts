import type { CountsJson } from './counts.ts';
import type { ReceiptDraft } from './receipt.ts';

/** A process, named such that another one can tell whether it still lives. */
export interface ProcessId {
  /** Host, boot and process name space: equal only where `pid` means the same thing. */
  readonly host: string;
  readonly pid: number;
}

/** Durable progress of one unfinished vessel-day: the state of its open upload, and the proof so far. */
export interface Checkpoint {
  readonly upload: { readonly key: string; readonly uploadId: string; readonly nonce: string };
  readonly parts: readonly {
    readonly partNumber: number;
    readonly sizeBytes: number;
    readonly sha256: string;
    readonly tag: string;
  }[];
  /** Row groups in those parts; `footer` is base64. */
  readonly rowGroups: readonly {
    readonly bodyBytes: number;
    readonly footer: string;
    readonly rows: number;
  }[];
  /** Every reading before this instant is in the parts, none after. */
  readonly cursorMicros: number;
  /** Time series id → id in the selected domain: the set of series this day was begun with. */
  readonly series: Readonly<Record<string, string | null>>;
  /** What the parts hold. */
  readonly counts: CountsJson;
  readonly tally: Tally;
}

/** What an attempt has done so far, for the receipt; carried over a resume. */
export interface Tally {
  readonly startedAt: string;
  readonly pages: number;
  readonly requests: number;
  readonly retries: number;
  readonly clippedRows: number;
}

/** A finished, verified, not yet published day: from here on only publish and receipt remain. */
export interface SealedDay {
  /** Null for an empty day, which publishes by removing what was there. */
  readonly upload: Checkpoint['upload'] | null;
  readonly parts: Checkpoint['parts'];
  readonly draft: ReceiptDraft;
  /** The detail object's JSON text, gzipped, base64. */
  readonly detail: string | null;
}

/** A claim's file `_checkpoints/…/<epoch>.json`: who owns an unfinished vessel-day, and how far it is. */
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
}
