/** The shape of every answer below `/api`, for the server and the page. Dates are UTC, `to` is exclusive. */
import type { CellState } from '../audit/status/cells.ts';
import type { Dataset, Job, Layout, Note, Receipt, VesselDay } from '../core/model/index.ts';
import type { Hold } from '../fleet/queue/hold.ts';
import type { KindCount } from '../fleet/queue/queued-day.ts';
import type { Backfill } from '../lake/backfills.ts';
import type { RequestCounts } from '../redis/fleet-facts.ts';
import type { Fact, ProcessFacts, RunningFacts } from '../redis/fleet-shapes.ts';
import type { Act } from './act-body.ts';

/** Every answer that is no success: HTTP status 4xx or 5xx. The message is cleaned of control characters and secrets. */
export interface ErrorAnswer {
  readonly error: { readonly code: string; readonly message: string };
}

/** `GET /api/session`: open to everyone. */
export interface SessionAnswer {
  /** Who has signed in; null where nobody has. `name` is what the log calls them. */
  readonly user: { readonly name: string } | null;
  readonly mayRead: boolean;
  readonly mayAct: boolean;
  /** Is there a password to sign in with, for reading or for acting? */
  readonly canSignIn: boolean;
  /** Where one goes to sign in with one's own name (`?to=` a path of the page); null where there is no provider. */
  readonly providerUrl: string | null;
  /** False for who is named by a proxy. */
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
  /** False where the page is served from a lake alone. */
  readonly hasFleet: boolean;
  readonly jobs: readonly (Pick<Job, 'name' | 'dataset'> & { readonly hasSchedule: boolean })[];
}

/** States of cells: those of `status`, and of what the queue knows besides. */
export const CELL_LETTERS = {
  published: 'p',
  /** Published, and a warning of it stands open. */
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
  /** When the lake was read; it may be a little while ago. */
  readonly readAtMs: number;
  /** False: the queue did not answer, so that none is `queued`; null where there is no fleet. */
  readonly isQueueKnown: boolean | null;
  /** Rows of the map, sorted. */
  readonly vessels: readonly string[];
  /** A letter of CELL_LETTERS for each vessel and date: all dates of the first vessel, then of the next. */
  readonly cells: string;
  /** Of each vessel the index of the first date that is due, asked for and not there. */
  readonly firstGaps: readonly (number | null)[];
  readonly totals: Readonly<Record<CellState, number>>;
  readonly rows: number;
  /** First date of the job's ledger, whatever was asked; null where nothing is published. */
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
  /** Until it was published, from its first attempt on; null where nothing is. */
  readonly durationMs: number | null;
  /** What was tried last and why it failed, whether the day was published after it, and what to do next. */
  readonly note: (Note & { readonly next: string; readonly isOver: boolean }) | null;
  readonly warning: { readonly message: string; readonly accepted: boolean } | null;
  /** An attempt under way, or one that was broken off. */
  readonly claim: {
    readonly epoch: number;
    readonly host: string;
    readonly pid: number;
    readonly state: 'live' | 'left';
    readonly heartbeatAt: string;
    /** Of its checkpoint. */
    readonly rowsStored: number | null;
    readonly rowsKnown: number | null;
  } | null;
  /** In the queue, or in its failed set; null where there is none or no fleet. */
  readonly queued: {
    readonly state: string;
    readonly kind: string;
    readonly attempts: number;
    readonly reason: string | null;
  } | null;
  /** What a log of JSON lines can be searched for: the field `vesselDay`, and the epochs there were. */
  readonly logIds: { readonly vesselDay: string; readonly epochs: readonly number[] };
  /** Counts per hour over all series, ours and the source's; null where the day has no detail. 24 numbers each. */
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
  /** Readable by ranges, with `If-Match: etag`; null: there is none. Earlier versions: with `?version=`. */
  readonly object: { readonly url: string; readonly sizeBytes: number; readonly etag: string } | null;
  /** What could not be read or known, a sentence each; the rest of the answer is good without it. */
  readonly problems: readonly string[];
}
export interface DaySeries {
  readonly id: string;
  /** The readable name, where the lake knows it. */
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
  /** By kind (`nightly`, `reconcile`, `backfill`, `other`) and state; of the delayed and failed a thousand each. */
  readonly queue: readonly KindCount[];
  readonly limits: {
    readonly concurrency: {
      readonly now: number;
      readonly setting: number;
      readonly inFlight: number | null;
    };
    /** Requests a minute; null: there is none. Without a setting it was made by refusals, and passes. */
    readonly pace: { readonly now: number; readonly setting: number | null } | null;
    /** Everyone waits until then, as the service asked. */
    readonly holdUntilMs: number | null;
  };
  /** What was asked of the service, in steps of ten minutes, the oldest first, over all processes; 24 hours. */
  readonly requests: readonly (RequestCounts & { readonly fromMs: number })[];
  /** `run` and `backfill` are somebody's command, while it lasts. */
  readonly processes: readonly Timed<Omit<ProcessFacts, 'upMs' | 'running'> & { readonly seenMs: number }>[];
  readonly backfills: readonly (Pick<
    Backfill,
    'id' | 'job' | 'from' | 'to' | 'vessels' | 'paused' | 'createdAt'
  > & { readonly [F in keyof Fact<'backfill'>]: number | null })[];
  /** `found`: vessel-days by what was found: `unchanged`, `changed`, … */
  readonly lookBacks: readonly (Fact<'look-back'> & { readonly job: string })[];
  /** Of every job, as the scheduler that plans said last; jobs without a schedule are planned by hand. */
  readonly planned: readonly (Fact<'planned'> & { readonly job: string; readonly hasSchedule: boolean })[];
  /** What else somebody should know, as sentences: no worker is connected, a backfill that cannot be read. */
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
