/**
 * Seals: what a date's folder of the ledger was when its receipts were looked at, kept beside them in the index. While the
 * folder is the same, and for a day at most, nothing was put into it, and those who only show the receipts need not list
 * them. A folder does not tell of bytes that somebody writes into a receipt in its place, as few restores do: who acts on
 * receipts lists them, and who shows them does so after a day.
 */
import { MICROS_PER_DAY, MICROS_PER_MILLI } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { keyPrefix } from '../keys.ts';
import { isCount, isObject, isText } from '../shapes.ts';

/** A folder before its receipts are looked at. */
export interface FolderLook {
  /** As the store's `folderState` says it. */
  readonly state: string;
  /** When somebody last looked at each receipt. */
  readonly lookedAtMs: number;
}

export interface Seal extends FolderLook {
  /** Vessels of receipts that lie there and have no row, such as cannot be read. */
  readonly others: readonly string[];
}

/** Of a date in an index. */
export interface IndexedSeal extends Seal {
  /** How many rows the date has. */
  readonly rows: number;
}

const BELIEVED_FOR_MS = MICROS_PER_DAY / MICROS_PER_MILLI;
/** They are read every time: a date with more of them is not sealed. */
export const MAX_OTHERS = 64;

/** Undefined where the store cannot tell. To be asked before the receipts are listed. */
export async function lookAtFolder(
  store: Pick<ObjectStore, 'folderState'>,
  job: string,
  date: string,
  nowMs: number,
): Promise<FolderLook | undefined> {
  const state = await store.folderState(keyPrefix('receipt', job, date));
  return state === undefined ? undefined : { state, lookedAtMs: nowMs };
}

/** Is what was seen then what would be seen now? A time that has not come yet is none of a look. */
export function isSameFolder<S extends FolderLook>(then: S | undefined, now: FolderLook): then is S {
  const agoMs = now.lookedAtMs - (then?.lookedAtMs ?? 0);
  return then?.state === now.state && agoMs >= 0 && agoMs < BELIEVED_FOR_MS;
}

/** By date. What is none is left out: it is as if nobody had looked. */
export function readSeals(value: unknown): Map<string, IndexedSeal> {
  const entries = Array.isArray(value) ? (value as unknown[]) : [];
  return new Map(entries.filter(isSealEntry));
}

function isSealEntry(entry: unknown): entry is readonly [date: string, seal: IndexedSeal] {
  if (!Array.isArray(entry) || typeof entry[0] !== 'string' || !isObject(entry[1])) return false;
  const { state, lookedAtMs, others, rows } = entry[1];
  const areOthers = Array.isArray(others) && others.length <= MAX_OTHERS && others.every(isText);
  return isText(state) && isCount(lookedAtMs) && isCount(rows) && areOthers;
}
