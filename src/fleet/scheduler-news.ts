/**
 * What a scheduler learns, and whoever is told of it: metrics, the other processes, people. Each is told figures first, and
 * then what they count.
 */
import type { VesselDay } from '../core/model/index.ts';
import type { JobVessels, VesselTrouble } from '../export/job-vessels.ts';
import type { KnownNotes } from '../lake/notes.ts';
import type { OpenRemark } from '../lake/remarks.ts';
import type { DeadLetter } from './queue/vessel-day-queue.ts';

interface SchedulerNews {
  /** What planning found missing of a job, and what is left of that later. */
  onPlanned(
    job: string,
    missing: number,
    oldest: string | undefined,
    unpublished: () => Iterable<VesselDay>,
  ): void;
  /** How many vessels discovery did not settle. */
  onDiscovered(job: string, troubles: number, found: JobVessels): void;
  /** Vessel-days that failed for good, and those that would lose readings. */
  onFailed(job: string, failed: number, refused: number, days: FailedDays): void;
  /** Vessels with a remark that nobody has accepted. */
  onRemarked(job: string, vessels: number, open: readonly OpenRemark[]): void;
  /** Vessels whose snapshot of metadata was not taken on the day that their schedule asked for, nor since. */
  onSnapshots(job: string, late: number, vessels: readonly LateSnapshot[]): void;
  /** A job was planned, or found to be planned. */
  onLooked(job: string): void;
  /** How many vessel-days a look-back found, by state. */
  onLookedBack(job: string, found: Readonly<Record<string, number>>, look: LookBack): void;
  /** How many look-backs of a job have failed since one has ended, and why the last did. */
  onLookBackFailed(job: string, times: number, reason: string): void;
  /** How far a backfill is, and that it is there no more. */
  onBackfill(id: string, progress: BackfillProgress): void;
  onBackfillEnded(id: string): void;
  /** Backfills whose last look failed, with the reason of each. */
  onStuckBackfills(stuck: number, reasons: ReadonlyMap<string, string>): void;
  /** Something could not be planned. */
  onFailure(): void;
  /** At each look, whether this process is the one that plans; undefined: that cannot be known now. */
  onLead(leads: boolean | undefined): void;
}

export type NewsListener = Partial<SchedulerNews>;

/** All of them as one. */
export function tellAll(listeners: readonly NewsListener[]): NewsListener {
  const names = new Set(listeners.flatMap(Object.keys).filter((name) => name.startsWith('on')));
  const tell = (name: string) => (news: readonly unknown[]) => {
    for (const one of listeners)
      (one as Readonly<Record<string, ((...news: readonly unknown[]) => void) | undefined>>)[name]?.(...news);
  };
  return Object.fromEntries(
    [...names].map((name) => [name, (...news: readonly unknown[]) => tell(name)(news)]),
  );
}

/** Of one job. */
export interface FailedDays {
  /** Of the failed set. */
  readonly letters: readonly DeadLetter[];
  /** Of the lake. */
  readonly notes: KnownNotes;
}

/** A vessel whose snapshots have stopped; `last`: the day of its last one, null where that is not known. */
export interface LateSnapshot {
  readonly vessel: string;
  readonly last: string | null;
}

/** The days that a look-back looked at, and what could not be compared of them. */
export interface LookBack {
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** Vessels and vessel-days. */
  readonly uncompared: readonly { readonly what: string; readonly reason: string }[];
}

export interface BackfillProgress {
  /** Vessel-days of the range that are due. */
  readonly due: number;
  readonly done: number;
  /** In the failed set. */
  readonly failed: number;
  /** In the queue, waiting or under way. */
  readonly queued: number;
  /** Due, but not in the queue yet. */
  readonly left: number;
  /** Every due vessel-day is done or has failed. */
  readonly finished: boolean;
  /** Vessels that discovery did not settle. */
  readonly troubles: readonly VesselTrouble[];
}
