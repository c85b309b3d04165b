/** What is asked of the ledger, and how it was read (`ledger-index.ts`). */
import type { DataError } from '../../core/errors.ts';
import type { Log, VesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { FolderLook } from './folder-seals.ts';
import type { IndexedMember, IndexedPart } from './indexed-receipt.ts';
import type { ListedVessel } from './ledger.ts';

/** What is asked, but for what becomes of each receipt. */
export interface LedgerQuestion<M extends IndexedMember> {
  readonly store: ObjectStore;
  readonly job: string;
  readonly dates: readonly string[];
  /** Absent: every vessel. */
  readonly vessels?: ReadonlySet<string>;
  /** What is asked of each receipt. */
  readonly members: readonly M[];
  /** False for callers that promise to write nothing. */
  readonly writeIndex: boolean;
  readonly log: Log;
}

export interface LedgerScan<M extends IndexedMember> extends LedgerQuestion<M> {
  /** Given each receipt once, those of a date in no order. */
  readonly take: (receipt: IndexedPart<M>) => void;
  /** For those who only show receipts: what is sealed is not listed (`folder-seals.ts`). */
  readonly shown?: ShownDates;
}

/** What somebody who shows receipts has of them from an earlier reading. */
export interface ShownDates {
  nowMs(): number;
  /** Has it the receipts of this date since a look at which its folder was the same? */
  isSame(date: string, look: FolderLook): boolean;
  /** Has it the receipts of this date as they are listed? Where not, it forgets the date. `look`: before it was listed. */
  isListed(date: string, listed: readonly ListedVessel[], look: FolderLook | undefined): boolean;
  /** It is to forget the date, and is given what was seen at an earlier look. */
  begin(date: string, look: FolderLook): void;
}

/** How the receipts were read. */
export interface LedgerReading {
  /** Receipts that cannot be read. */
  readonly damaged: readonly { readonly day: VesselDay; readonly error: DataError }[];
  /** How many receipts came out of the index, and how many were fetched. */
  readonly fromIndex: number;
  readonly fetched: number;
}

export interface GrowingReading {
  readonly damaged: { day: VesselDay; error: DataError }[];
  fromIndex: number;
  fetched: number;
}
