/** What is in the lake of each vessel-day, in one word. Pure: ledger, notes and claims are passed in. */
import type { Note, Receipt, VesselDay } from '../model/index.ts';
import { isOvertaken } from '../model/index.ts';
import type { DayState } from '../plan/due.ts';

/**
 * `published`: with rows; `empty`: published, and the source had none; `missing`: due and never
 * published; `stale`: published with other settings, or proven less than is asked now; `failed`, `refused`: the last
 * attempt, whatever is published; `waiting`: for series that are missing; `running`: a live process works on it.
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
] as const;
export type CoverageState = (typeof COVERAGE_STATES)[number];

/** The part of a receipt that coverage is about. */
export type CoveredReceipt = Pick<Receipt, 'settingsHash' | 'proof' | 'rows' | 'finishedAt' | 'unlisted'>;

interface CoverageFacts {
  readonly day: VesselDay;
  readonly planned: DayState;
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
  // A snapshot of a day that is over waits no more.
  const isOver = note?.state === 'waiting' && planned === 'not-due';
  if (note !== undefined && !isOver && (receipt === undefined || !isOvertaken(note, receipt)))
    return { ...cell, ...begun, state: note.state, code: note.code, message: note.message };
  if (planned !== 'done') return { ...cell, ...begun, state: planned };
  return { ...cell, state: receipt?.rows === 0 ? 'empty' : 'published' };
}

export interface CoverageSummary {
  readonly vesselDays: number;
  readonly totals: Readonly<Record<CoverageState, number>>;
  /** Rows of all published days. */
  readonly rows: number;
  /** The earliest vessel-day that is due, not published, and that nobody works on. */
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
      const isGap = cell.finishedAt === null && cell.state !== 'not-due' && cell.state !== 'running';
      if (isGap && (gap === undefined || cell.day.date < gap.date)) gap = cell.day;
      if ((cell.finishedAt ?? '') > (last?.finishedAt ?? '')) last = cell;
    },
    end: () => ({
      ...{ vesselDays, totals, rows, oldestGap: gap ?? null },
      lastPublished: last === undefined ? null : { ...last.day, finishedAt: last.finishedAt! },
    }),
  };
}
