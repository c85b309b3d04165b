/** What a process of the fleet tells: one stream of events, for metrics, the other processes and notices. */
import type { VesselDay } from '../core/model/index.ts';
import type { ExportEvent, VesselTrouble } from '../export/events.ts';
import type { JobVessels } from '../export/job-vessels.ts';
import type { KnownNotes } from '../lake/notes.ts';
import type { OpenWarnings } from '../lake/warnings.ts';
import type { MeasuredEvent } from '../runtime/monitoring/metrics.ts';
import type { DeadLetter } from './queue/vessel-day-queue.ts';

type Measured<K extends MeasuredEvent['kind']> = Extract<MeasuredEvent, { readonly kind: K }>;
/** With more than what metrics show of it. */
type Richer<K extends MeasuredEvent['kind'], T> = Omit<Measured<K>, keyof T> & T;
type More = 'missing' | 'discovered' | 'failed' | 'warned' | 'snapshots' | 'looked-back' | 'look-back-failed';

export type FleetEvent =
  | ExportEvent
  | Exclude<MeasuredEvent, { readonly kind: More | 'request' }>
  | Richer<'request', { readonly retry: number }>
  /** `unpublished`: those that are missing, and those that only the service's clock holds back. */
  | (Measured<'missing'> & { readonly unpublished: () => Iterable<VesselDay> })
  | Richer<'discovered', JobVessels>
  | Richer<'failed', FailedDays>
  | Richer<'warned', { readonly open: readonly OpenWarnings[] }>
  /** `last`: the day of a vessel's last snapshot, null where that is not known. */
  | Richer<
      'snapshots',
      { readonly late: readonly { readonly vessel: string; readonly last: string | null }[] }
    >
  | Richer<'looked-back', LookBack>
  | Richer<'look-back-failed', { readonly reason: string }>
  /** Vessel-days that nobody has taken yet, and workers that are connected to the queue. */
  | { readonly kind: 'queue'; readonly waiting: number; readonly workers: number }
  | { readonly kind: 'backfill'; readonly id: string; readonly progress: BackfillProgress }
  /** It is covered, or was cancelled. */
  | { readonly kind: 'backfill-ended'; readonly id: string };

export type OnFleetEvent = (event: FleetEvent) => void;

export interface FailedDays {
  readonly letters: readonly DeadLetter[];
  readonly notes: KnownNotes;
}

/** The days that a look-back looked at, and what could not be compared of them. */
export interface LookBack {
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  readonly uncompared: readonly { readonly what: string; readonly reason: string }[];
}

export interface BackfillProgress {
  /** Vessel-days of the range that are due. */
  readonly due: number;
  readonly done: number;
  readonly failed: number;
  /** In the queue, waiting or under way. */
  readonly queued: number;
  /** Due, but not in the queue yet. */
  readonly left: number;
  /** Every due vessel-day is done or has failed. */
  readonly finished: boolean;
  readonly troubles: readonly VesselTrouble[];
}
