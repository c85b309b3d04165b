/** The one owner of a vessel-day's state, for `status`, the page and notices. Pure: what lake and queue have is passed in. */
import { isOvertaken, type Note, type Receipt, type VesselDay } from '../../core/model/index.ts';
import type { AskedState } from '../../core/plan/due.ts';

/**
 * `published`: with rows; `empty`: published, and the source had none; `missing`: due, asked for and never
 * published; `stale`: published with other settings, or proven less than is asked now; `failed`: the last attempt, whatever
 * is published; `refused`: published, and the source has fewer readings now; `waiting`: for series that are missing;
 * `running`: a live process works on it; `not-asked-for`: over and never published, and nobody has asked for it.
 */
export const COVERAGE_STATES = [
  'published',
  'empty',
  'missing',
  'stale',
  'failed',
  'refused',
  'waiting',
  'running',
  'not-due',
  'not-asked-for',
] as const;
/** The state of a vessel-day in the lake. */
export type CoverageState = (typeof COVERAGE_STATES)[number];

/** What is wrong. A refused day is a good one that stays: somebody's decision is asked for, as with a warning. */
export const WRONG_STATES = ['failed', 'missing', 'stale', 'waiting'] as const satisfies CoverageState[];

/** `queued`: to be exported, and in the queue; `warned`: published, and a warning of it stands open. */
export type CellState = CoverageState | 'queued' | 'warned';

/** States in which nothing has to be in the lake, or somebody is at it. */
const NO_GAPS: ReadonlySet<CoverageState> = new Set(['not-due', 'not-asked-for', 'running']);

/** Is it due and asked for, not published, and does nobody work on it? */
export function isGap({ state, finishedAt }: Pick<Coverage, 'state' | 'finishedAt'>): boolean {
  return finishedAt === null && !NO_GAPS.has(state);
}

export type CoveredReceipt = Pick<Receipt, 'settingsHash' | 'proof' | 'rows' | 'finishedAt' | 'unlisted'>;

export interface LakeFacts {
  readonly day: VesselDay;
  readonly planned: AskedState;
  readonly receipt: CoveredReceipt | undefined;
  /** Of a receipt or note that cannot be read: `damagedNote`. */
  readonly note: Pick<Note, 'state' | 'code' | 'message' | 'at'> | undefined;
  /** A claim of a process that lives, or of one that does not. */
  readonly claim: 'live' | 'left' | undefined;
}

/** One cell of the grid. */
export interface Coverage {
  readonly day: VesselDay;
  readonly state: CoverageState;
  /** Rows of the published day; null when nothing is published. */
  readonly rows: number | null;
  readonly finishedAt: string | null;
  /** An attempt was interrupted: the next one may continue it. */
  readonly begun?: boolean;
  /** Published although discovery left the vessel out. */
  readonly unlisted?: boolean;
  readonly code?: string;
  readonly message?: string;
}

/** The state by the lake alone, which is what `status` says. */
export function coverageOf({ day, planned, receipt, note, claim }: LakeFacts): Coverage {
  const cell = {
    day,
    rows: receipt?.rows ?? null,
    finishedAt: receipt?.finishedAt ?? null,
    ...(receipt?.unlisted && { unlisted: true }),
  };
  const begun = claim === 'left' ? { begun: true } : {};
  if (claim === 'live') return { ...cell, state: 'running' };
  // Somebody has begun it.
  const expected = planned === 'not-asked-for' && claim !== undefined ? 'missing' : planned;
  // A snapshot of a day that is over waits no more.
  const isOver = note?.state === 'waiting' && planned === 'not-due';
  if (note !== undefined && !isOver && (receipt === undefined || !isOvertaken(note, receipt))) {
    // No good day stays where none is published.
    const state = note.state === 'refused' && receipt === undefined ? 'failed' : note.state;
    return { ...cell, ...begun, state, code: note.code, message: note.message };
  }
  if (expected !== 'done') return { ...cell, ...begun, state: expected };
  return { ...cell, state: receipt?.rows === 0 ? 'empty' : 'published' };
}

/** What is known of a vessel-day besides: where it is in the queue, and whether a warning of it stands open. */
export interface OtherFacts {
  readonly queued?: 'in-queue' | 'failed' | undefined;
  readonly isWarned?: boolean;
}

/** States of days that an export in the queue may be about, while nothing in the lake says so. */
const OPEN_STATES: ReadonlySet<CoverageState> = new Set(['missing', 'stale', 'not-asked-for']);

const FAILED_IN_QUEUE = {
  code: 'failed-in-queue',
  message:
    "it is in the queue's failed set, and the lake has no note with a reason: its worker ended, or could not write there; check the worker's log, then try again",
};

/** The state by lake and queue, which is what the page says; with the reason of one that failed, was refused or waits. */
export function stateOf(
  { state, code = '', message = '' }: Pick<Coverage, 'state' | 'code' | 'message'>,
  { queued, isWarned = false }: OtherFacts,
): { readonly state: CellState; readonly trouble?: Pick<Note, 'state' | 'code' | 'message'> } {
  if (state === 'failed' || state === 'refused' || state === 'waiting')
    return { state, trouble: { state, code, message } };
  if (state === 'published' && isWarned) return { state: 'warned' };
  if (queued === undefined || !OPEN_STATES.has(state)) return { state };
  return queued === 'in-queue'
    ? { state: 'queued' }
    : { state: 'failed', trouble: { state: 'failed', ...FAILED_IN_QUEUE } };
}

export interface CoverageSummary {
  readonly vesselDays: number;
  readonly totals: Readonly<Record<CoverageState, number>>;
  readonly rows: number;
  readonly oldestGap: VesselDay | null;
  readonly lastPublished: (VesselDay & { readonly finishedAt: string }) | null;
}

export function createCoverageSum(): { add(cell: Coverage): void; end(): CoverageSummary } {
  const totals = Object.fromEntries(COVERAGE_STATES.map((state) => [state, 0])) as Record<
    CoverageState,
    number
  >;
  let rows = 0;
  let gap: VesselDay | undefined;
  let last: Coverage | undefined;
  let vesselDays = 0;
  return {
    add(cell) {
      vesselDays++;
      totals[cell.state]++;
      rows += cell.rows ?? 0;
      if (isGap(cell) && (gap === undefined || cell.day.date < gap.date)) gap = cell.day;
      if ((cell.finishedAt ?? '') > (last?.finishedAt ?? '')) last = cell;
    },
    end: () => ({
      ...{ vesselDays, totals, rows, oldestGap: gap ?? null },
      lastPublished: last === undefined ? null : { ...last.day, finishedAt: last.finishedAt! },
    }),
  };
}
