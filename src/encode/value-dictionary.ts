import type { ByteSink } from './byte-sink.ts';
import { createByteSink, putBytes, putVarint, reserve } from './byte-sink.ts';
import type { ColumnValues, Texts } from './page-values.ts';
import { putText } from './page-values.ts';
import type { PageRows } from './pages.ts';

/**
 * Values that repeat, as entries of a dictionary in the order of their first use, and the entry of each row that has a
 * value. Rows are sorted by series, so the entries of one series are near each other: written in whole bytes, their
 * upper one hardly changes, which zstd sees and could not in bits.
 */
export interface ValueDictionary {
  /** The entries as PLAIN has them. */
  readonly plain: Uint8Array;
  readonly entries: number;
  /** Of every row with a value, page after page. */
  readonly codes: Uint16Array;
}

/** What two bytes can tell apart. */
const MAX_ENTRIES = 65_536;
/** Below this share of new values among the first rows and all others a dictionary may pay. */
const MAX_NEW_SHARE = 0.5;
/** Rows after which that share is looked at first; pages are looked at one by one. */
const SLICE_ROWS = 4_096;
const SLOTS = 4 * MAX_ENTRIES;

/** Memory that is used again for the next dictionary. */
export interface DictionaryScratch {
  /** Entry + 1 by hash, 0 where there is none. */
  readonly slots: Int32Array;
  codes: Uint16Array;
  entries: Int32Array;
}

export function createDictionaryScratch(): DictionaryScratch {
  return {
    slots: new Int32Array(SLOTS),
    codes: new Uint16Array(0),
    entries: new Int32Array(2 * MAX_ENTRIES),
  };
}

/** Undefined where too many values are new. Good until the scratch is used again. */
export function buildDictionary(
  values: ColumnValues,
  pages: readonly PageRows[],
  scratch: DictionaryScratch,
): ValueDictionary | undefined {
  const count = pages.reduce((sum, page) => sum + page.rows - page.nulls, 0);
  if (count === 0) return undefined;
  if (scratch.codes.length < count) scratch.codes = new Uint16Array(count);
  if (values.cells !== undefined) return ofCells(values.cells, pages, count, scratch);
  return values.texts === undefined ? undefined : ofTexts(values.texts, pages, count, scratch);
}

interface Filling {
  readonly cells: Int32Array;
  readonly scratch: DictionaryScratch;
  entries: number;
  /** Codes so far. */
  at: number;
}

function ofCells(
  cells: Int32Array,
  pages: readonly PageRows[],
  count: number,
  scratch: DictionaryScratch,
): ValueDictionary | undefined {
  scratch.slots.fill(0);
  const filling: Filling = { cells, scratch, entries: 0, at: 0 };
  for (const { set } of pages)
    for (let i = 0; i < set.length; i += 2)
      for (let from = set[i]!; from < set[i + 1]!; from += SLICE_ROWS) {
        if (!addCells(filling, from, Math.min(set[i + 1]!, from + SLICE_ROWS))) return undefined;
        if (filling.at >= SLICE_ROWS && filling.entries > MAX_NEW_SHARE * filling.at) return undefined;
      }
  if (filling.entries > MAX_NEW_SHARE * count) return undefined;
  const { buffer } = scratch.entries;
  return {
    plain: new Uint8Array(buffer as ArrayBuffer, 0, 8 * filling.entries),
    entries: filling.entries,
    codes: scratch.codes.subarray(0, count),
  };
}

/** Put the codes of some rows behind those that are there; false where there are more entries than codes. */
function addCells(filling: Filling, from: number, to: number): boolean {
  const { cells, scratch } = filling;
  const { slots, codes, entries } = scratch;
  let { at, entries: known } = filling;
  for (let row = from; row < to; row++) {
    const low = cells[2 * row]!;
    const high = cells[2 * row + 1]!;
    let slot = hash(low, high);
    let entry = slots[slot]! - 1;
    while (entry >= 0 && (entries[2 * entry] !== low || entries[2 * entry + 1] !== high)) {
      slot = (slot + 1) & (SLOTS - 1);
      entry = slots[slot]! - 1;
    }
    if (entry < 0) {
      if (known === MAX_ENTRIES) return false;
      entry = known++;
      slots[slot] = known;
      entries[2 * entry] = low;
      entries[2 * entry + 1] = high;
    }
    codes[at++] = entry;
  }
  filling.at = at;
  filling.entries = known;
  return true;
}

/** A slot: the upper bits of a product, into which all bits of both words go. */
function hash(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return (mixed ^ (mixed >>> 15)) & (SLOTS - 1);
}

function ofTexts(
  { bytes, ends, entries, stride }: Texts,
  pages: readonly PageRows[],
  count: number,
  scratch: DictionaryScratch,
): ValueDictionary | undefined {
  const known = new Map<string, number>();
  const plain = createByteSink();
  let at = 0;
  for (const { set } of pages)
    for (let i = 0; i < set.length; i += 2)
      for (let row = set[i]!; row < set[i + 1]!; row++) {
        const textEntry = entries[row * stride]!;
        const [from, to] = [textEntry === 0 ? 0 : ends[textEntry - 1]!, ends[textEntry]!];
        const key = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');
        let code = known.get(key);
        if (code === undefined) {
          if (known.size === MAX_ENTRIES) return undefined;
          code = known.size;
          known.set(key, code);
          putText(plain, bytes, from, to);
        }
        scratch.codes[at++] = code;
        if (at === SLICE_ROWS && known.size > MAX_NEW_SHARE * at) return undefined;
      }
  if (known.size > MAX_NEW_SHARE * count) return undefined;
  return {
    plain: plain.bytes.subarray(0, plain.at),
    entries: known.size,
    codes: scratch.codes.subarray(0, count),
  };
}

/** Indices of the dictionary: their width in bits, and one run that is packed to whole bytes. */
export function putCodes(sink: ByteSink, codes: Uint16Array, entries: number): void {
  const isNarrow = entries <= 256;
  const groups = (codes.length + 7) >> 3;
  reserve(sink, 16 + 16 * groups);
  sink.bytes[sink.at++] = isNarrow ? 8 : 16;
  if (groups === 0) return;
  putVarint(sink, groups * 2 + 1);
  const end = sink.at + groups * (isNarrow ? 8 : 16);
  if (isNarrow) sink.bytes.set(codes, sink.at);
  else putBytes(sink, new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength));
  const filled = isNarrow ? sink.at + codes.length : sink.at;
  sink.bytes.fill(0, filled, end);
  sink.at = end;
}
