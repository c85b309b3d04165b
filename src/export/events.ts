/** One stream of events for screens, traces, metrics and other processes; nothing that is done depends on it. */
import type { Job, Receipt, VesselDay } from '../core/model/index.ts';

/** How one vessel-day ended. */
export interface DayResult {
  readonly day: VesselDay;
  readonly status:
    | 'published'
    | 'empty'
    | 'done'
    | 'unchanged'
    | 'not-due'
    | 'failed'
    | 'refused'
    | 'waiting'
    | 'running-elsewhere'
    | 'interrupted'
    | 'not-begun';
  readonly rows?: number;
  /** Of the object in the lake. */
  readonly sizeBytes?: number;
  readonly resumed?: boolean;
  /** What the receipt keeps saying until it is accepted. */
  readonly warning?: string;
  readonly code?: string;
  readonly message?: string;
}

/** How an attempt ended; `receipt` where it published the day. */
export interface DayEnd extends Pick<DayResult, 'status' | 'warning' | 'code' | 'message'> {
  readonly receipt?: Receipt | undefined;
}

/** `unlisted`: only the ledger knows it, its days are planned. `malformed-imo`: named by what is no IMO number. */
export interface VesselTrouble {
  readonly vessel: string;
  readonly code: 'unlisted' | 'malformed-imo';
  readonly message: string;
}

/** Rows fetched so far, of the rows that the source counted (undefined where it counts something else, or was not asked). */
export interface Progress {
  readonly rows: number;
  readonly rowsKnown: number | undefined;
}

/** Of one vessel-day under way; all of an attempt carry the same object as its `day`. */
type DayEvent = { readonly day: VesselDay } & (
  | { readonly kind: 'day-begun'; readonly job: Job; readonly origin: string }
  | { readonly kind: 'day-claimed'; readonly epoch: number }
  /** A step of the crash table is done; after `completed` nothing is left but a commit that other vessel-days join. */
  | { readonly kind: 'day-step'; readonly step: string }
  | ({ readonly kind: 'day-rows' } & Progress)
  | { readonly kind: 'day-ended'; readonly end: DayEnd }
);

/** Of an export of many vessel-days. */
export type ExportEvent =
  | DayEvent
  /** These will be worked on. */
  | { readonly kind: 'planned'; readonly days: readonly VesselDay[] }
  | { readonly kind: 'day-result'; readonly result: DayResult }
  | { readonly kind: 'vessel-trouble'; readonly job: string; readonly trouble: VesselTrouble };

export type OnExportEvent = (event: ExportEvent) => void;
