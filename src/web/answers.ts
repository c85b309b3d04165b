/** The shape of every answer below `/api`, for the server and the page. Dates are UTC, `to` is exclusive. */
import type { CellState } from '../audit/status/cells.ts';
import type { Dataset, Job, Layout, Note, Receipt, VesselDay } from '../core/model/index.ts';
import type { Hold } from '../fleet/queue/hold.ts';
import type { KindCount } from '../fleet/queue/queued-day.ts';
import type { Backfill } from '../lake/backfills.ts';
import type { RequestCounts } from '../redis/fleet-facts.ts';
import type { Fact, ProcessFacts, RunningFacts } from '../redis/fleet-shapes.ts';
import type { Act } from './act-body.ts';

/** The answer of every error: HTTP status 4xx or 5xx. The message is cleaned of control characters and secrets. */
export interface ErrorAnswer {
  readonly error: { readonly code: string; readonly message: string };
}

/** `GET /api/session`: open to everyone. */
export interface SessionAnswer {
  /** The user who has signed in, or null. The log uses `name`. */
  readonly user: { readonly name: string } | null;
  readonly mayRead: boolean;
  readonly mayAct: boolean;
  /** Whether there is a password to sign in with, for reading or for acting. */
  readonly canSignIn: boolean;
  /** The address to sign in at with an own name (`?to=` a path of the page); null without a provider. */
  readonly providerUrl: string | null;
  /** False for users whom a proxy names. */
  readonly canSignOut: boolean;
  readonly canAct: boolean;
}

/** `GET /api/about` */
export interface AboutAnswer {
  readonly version: string;
  /** Without secrets. */
  readonly lakeUrl: string;
  readonly layout: Layout;
  readonly nowMs: number;
  /** False if the page is served from a lake alone. */
  readonly hasFleet: boolean;
  readonly jobs: readonly (Pick<Job, 'name' | 'dataset'> & { readonly hasSchedule: boolean })[];
}

/** States of cells: those of `status`, and those that the queue adds. */
export const CELL_LETTERS = {
  published: 'p',
  /** Published, with an open warning. */
  warned: 'k',
  empty: 'e',
  missing: 'm',
  /** Missing, stale or not asked for, and in the queue. */
  queued: 'q',
  stale: 's',
  failed: 'f',
  refused: 'r',
  waiting: 'w',
  running: 'u',
  'not-due': '.',
  'not-asked-for': '-',
} as const satisfies Record<CellState, string>;
export type { CellState };

/** `GET /api/jobs/:job/coverage?from=&to=`; without dates: the last 365 days, from the first published on. */
export interface CoverageAnswer {
  readonly job: string;
  readonly dataset: Dataset;
  readonly from: string;
  readonly to: string;
  /** When the lake was read; the answer may be cached. */
  readonly readAtMs: number;
  /** False: the queue did not respond, so no cell is `queued`; null without a fleet. */
  readonly isQueueKnown: boolean | null;
  /** Rows of the map, sorted. */
  readonly vessels: readonly string[];
  /** A letter of CELL_LETTERS for each vessel and date: all dates of the first vessel, then of the next. */
  readonly cells: string;
  /** For each vessel the index of the first date that is due, asked for and missing. */
  readonly firstGaps: readonly (number | null)[];
  readonly totals: Readonly<Record<CellState, number>>;
  readonly rows: number;
  /** First date of the job's ledger, whatever range was requested; null if nothing is published. */
  readonly firstDate: string | null;
  readonly oldestGap: Pick<VesselDay, 'vessel' | 'date'> | null;
  readonly lastPublished: Pick<Receipt, 'vessel' | 'date' | 'finishedAt'> | null;
  /** Why days failed, were refused or wait: the first 5,000 by date; `troubleCount` is how many there are. */
  readonly troubles: readonly CoverageTrouble[];
  readonly troubleCount: number;
  readonly warnings: readonly { readonly vessel: string; readonly date: string; readonly message: string }[];
}
export type CoverageTrouble = Pick<Note, 'vessel' | 'date' | 'state' | 'code' | 'message'>;

/** `GET /api/jobs/:job/days/:vessel/:date` */
export interface VesselDayAnswer extends VesselDay {
  readonly dataset: Dataset;
  readonly state: CellState;
  readonly readAtMs: number;
  readonly receipt: Receipt | null;
  /** From its first attempt until it was published; null if it is not published. */
  readonly durationMs: number | null;
  /** The last failure and its reason, whether the day was published after it, and what to do next. */
  readonly note: (Note & { readonly next: string; readonly isOver: boolean }) | null;
  readonly warning: { readonly message: string; readonly accepted: boolean } | null;
  /** An attempt under way, or one that was interrupted. */
  readonly claim: {
    readonly epoch: number;
    readonly host: string;
    readonly pid: number;
    readonly state: 'live' | 'left';
    readonly heartbeatAt: string;
    /** Figures of its checkpoint. */
    readonly rowsStored: number | null;
    readonly rowsKnown: number | null;
  } | null;
  /** In the queue, or in its failed set; null if it is in neither, or without a fleet. */
  readonly queued: {
    readonly state: string;
    readonly kind: string;
    readonly attempts: number;
    readonly reason: string | null;
  } | null;
  /** Fields by which a JSON log can be searched: `vesselDay`, and the epochs of the attempts. */
  readonly logIds: { readonly vesselDay: string; readonly epochs: readonly number[] };
  /** Counts per hour over all series, ours and the source's, 24 numbers each; null if the day has no detail. */
  readonly hours: {
    readonly ours: readonly number[];
    readonly source: readonly number[] | null;
  } | null;
  /** Series of the detail, most rows first. */
  readonly series: readonly DaySeries[];
  /** Earlier versions of the day that a table's log still names; empty in a plain lake. */
  readonly versions: readonly {
    readonly version: number;
    readonly at: string;
    readonly rows: number | null;
    readonly sizeBytes: number;
    readonly isCurrent: boolean;
  }[];
  /** Its object, readable by ranges with `If-Match: etag`; null: there is none. Earlier versions: with `?version=`. */
  readonly object: { readonly url: string; readonly sizeBytes: number; readonly etag: string } | null;
  /** What could not be read, a sentence each; the rest of the answer is still correct. */
  readonly problems: readonly string[];
}
export interface DaySeries {
  readonly id: string;
  /** The readable name, if the lake has one. */
  readonly name: string | null;
  readonly unit: string | null;
  readonly rows: number;
  readonly firstTimestamp: string | null;
  readonly lastTimestamp: string | null;
}

/** `GET /api/fleet`; 404 `no-fleet`, 503 `redis-away` or `redis-refuses`. What cannot be known now is null. */
export interface FleetAnswer {
  readonly readAtMs: number;
  readonly hold: Hold | null;
  readonly running: readonly RunningDay[];
  /** By kind (`nightly`, `reconcile`, `backfill`, `other`) and state; of delayed and failed ones a thousand each are read. */
  readonly queue: readonly KindCount[];
  readonly limits: {
    readonly concurrency: {
      readonly now: number;
      readonly setting: number;
      readonly inFlight: number | null;
    };
    /** Requests a minute; null: no limit. Without a setting the limit comes from refusals, and passes. */
    readonly pace: { readonly now: number; readonly setting: number | null } | null;
    /** All processes wait until then, as the service asked. */
    readonly holdUntilMs: number | null;
  };
  /** Requests to the service per ten minutes, the oldest first, over all processes; 24 hours. */
  readonly requests: readonly (RequestCounts & { readonly fromMs: number })[];
  /** `run` and `backfill` are commands that somebody runs. */
  readonly processes: readonly Timed<Omit<ProcessFacts, 'upMs' | 'running'> & { readonly seenMs: number }>[];
  readonly backfills: readonly (Pick<
    Backfill,
    'id' | 'job' | 'from' | 'to' | 'vessels' | 'paused' | 'createdAt'
  > & { readonly [F in keyof Fact<'backfill'>]: number | null })[];
  /** `found`: vessel-days by finding: `unchanged`, `changed`, … */
  readonly lookBacks: readonly (Fact<'look-back'> & { readonly job: string })[];
  /** For every job, as the scheduler that plans reported last; jobs without a schedule are run by hand. */
  readonly planned: readonly (Fact<'planned'> & { readonly job: string; readonly hasSchedule: boolean })[];
  /** Further remarks as sentences: no worker is connected, a backfill cannot be read. */
  readonly notes: readonly string[];
}
type Timed<T> = T & { readonly startedMs: number };
/** With the process that exports it. */
type RunningDay = Timed<Omit<RunningFacts, 'forMs'> & Pick<ProcessFacts, 'host' | 'pid'>>;

export type { Act };
/** What was done, as a sentence. */
export interface ActAnswer {
  readonly message: string;
}
