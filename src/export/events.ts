/** One stream of events for screens, traces, metrics and other processes; no export depends on its listeners. */
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
  /** Bytes of the object in the lake. */
  readonly sizeBytes?: number;
  readonly resumed?: boolean;
  /** The warning of the receipt until it is accepted. */
  readonly warning?: string;
  readonly code?: string;
  readonly message?: string;
}

/** How an attempt ended; with `receipt` if it published the day. */
export interface DayEnd extends Pick<DayResult, 'status' | 'warning' | 'code' | 'message'> {
  readonly receipt?: Receipt | undefined;
}

/** `unlisted`: only the ledger has the vessel, and its days are planned. `malformed-imo`: its name is no IMO number. */
export interface VesselTrouble {
  readonly vessel: string;
  readonly code: 'unlisted' | 'malformed-imo';
  readonly message: string;
}

/** Rows fetched so far, and the rows that the source counted (undefined if it counts something else, or no counts are requested). */
export interface Progress {
  readonly rows: number;
  readonly rowsKnown: number | undefined;
}

/** Events of one vessel-day under way; all events of an attempt have the same object as `day`. */
type DayEvent = { readonly day: VesselDay } & (
  | { readonly kind: 'day-begun'; readonly job: Job; readonly origin: string }
  | { readonly kind: 'day-claimed'; readonly epoch: number }
  /** A step of the crash table is done; after `completed` only a shared commit is left. */
  | { readonly kind: 'day-step'; readonly step: string }
  | ({ readonly kind: 'day-rows' } & Progress)
  | { readonly kind: 'day-ended'; readonly end: DayEnd }
);

/** Events of an export of many vessel-days. */
export type ExportEvent =
  | DayEvent
  /** These will be exported. */
  | { readonly kind: 'planned'; readonly days: readonly VesselDay[] }
  | { readonly kind: 'day-result'; readonly result: DayResult }
  | { readonly kind: 'vessel-trouble'; readonly job: string; readonly trouble: VesselTrouble };

export type OnExportEvent = (event: ExportEvent) => void;
