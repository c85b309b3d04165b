/** What is in the lake of each vessel-day, in one word. Pure: ledger, notes and claims are passed in. */
import type { Note, Receipt, VesselDay } from '../../core/model/index.ts';
import { isOvertaken } from '../../core/model/index.ts';
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
/** What the lake has of a vessel-day, or why it has nothing. */
export type CoverageState = (typeof COVERAGE_STATES)[number];

/**
 * What is wrong: not in the lake although it should be, or not as it should be. A refused day is a good one that stays, and
 * somebody's decision is asked for, as with a remark.
 */
export const WRONG_STATES = ['failed', 'missing', 'stale', 'waiting'] as const satisfies CoverageState[];

/** May an export of it be in the queue, and nothing in the lake say so? */
export function isOpen(state: CoverageState): boolean {
  return state === 'missing' || state === 'stale' || state === 'not-asked-for';
}

/** States in which nothing has to be in the lake, or somebody is at it. */
const NO_GAPS: ReadonlySet<CoverageState> = new Set(['not-due', 'not-asked-for', 'running']);

/** Is it due and asked for, not published, and does nobody work on it? */
export function isGap({ state, finishedAt }: Pick<Coverage, 'state' | 'finishedAt'>): boolean {
  return finishedAt === null && !NO_GAPS.has(state);
}

/** The part of a receipt that coverage is about. */
export type CoveredReceipt = Pick<Receipt, 'settingsHash' | 'proof' | 'rows' | 'finishedAt' | 'unlisted'>;

interface CoverageFacts {
  readonly day: VesselDay;
  readonly planned: AskedState;
  readonly receipt: CoveredReceipt | undefined;
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
  /** An attempt was broken off: the next one may go on where it stopped. */
  readonly begun?: boolean;
  /** Published although discovery left the vessel out. */
  readonly unlisted?: boolean;
  readonly code?: string;
  readonly message?: string;
}

export function coverageOf({ day, planned, receipt, note, claim }: CoverageFacts): Coverage {
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

export interface CoverageSummary {
  readonly vesselDays: number;
  readonly totals: Readonly<Record<CoverageState, number>>;
  /** Rows of all published days. */
  readonly rows: number;
  /** The earliest vessel-day that is a gap. */
  readonly oldestGap: VesselDay | null;
  /** The vessel-day that was published last. */
  readonly lastPublished: (VesselDay & { readonly finishedAt: string }) | null;
}

/** Sums up cells, one after the other. */
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
