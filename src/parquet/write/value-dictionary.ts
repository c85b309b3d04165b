import { type ByteSink, createByteSink, putBytes, putText, putVarint, reserve } from './byte-sink.ts';
import type { ColumnValues, Texts } from './page-values.ts';
import type { PageRows } from './pages.ts';

/**
 * Values that repeat, as entries of a dictionary. Codes take whole bytes: the upper one hardly changes within a series, which zstd sees.
 * Entries of two-byte codes are in the order of their bits, so that near values have near codes; others in the order of their first use.
 */
export interface ValueDictionary {
  readonly plain: Uint8Array;
  readonly entries: number;
  /** Of every row with a value, page after page. */
  readonly codes: Uint16Array;
}

const MAX_ENTRIES = 65_536;
/** Below this share of new values among all a dictionary may pay. */
const MAX_NEW_SHARE = 0.5;
/** Rows from all over the chunk that are looked at before all are, and the share among them, of which some come again. */
const SAMPLE_ROWS = 8_192;
const MAX_NEW_SAMPLE_SHARE = 0.75;
/** Texts after which it is. */
const FIRST_TEXTS = 4_096;
const MAX_SLOTS = 4 * MAX_ENTRIES;

export interface DictionaryScratch {
  /** Entry + 1 by hash, 0 where there is none. */
  readonly slots: Int32Array;
  codes: Uint16Array;
  entries: Int32Array<ArrayBuffer>;
}

export function createDictionaryScratch(): DictionaryScratch {
  return {
    slots: new Int32Array(MAX_SLOTS),
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
  /** As many of the scratch's as the values may need. */
  readonly slots: Int32Array;
  entries: number;
  at: number;
}

function ofCells(
  cells: Int32Array,
  pages: readonly PageRows[],
  count: number,
  scratch: DictionaryScratch,
): ValueDictionary | undefined {
  const slots = scratch.slots.subarray(0, Math.min(MAX_SLOTS, 2 ** Math.ceil(Math.log2(4 * count))));
  const empty: Filling = { cells, scratch, slots, entries: 0, at: 0 };
  if (count > 2 * SAMPLE_ROWS && newShareOf(pages, { ...empty }) > MAX_NEW_SAMPLE_SHARE) return undefined;
  const filling = { ...empty };
  slots.fill(0);
  for (const { set } of pages)
    for (let i = 0; i < set.length; i += 2) if (!addCells(filling, set[i]!, set[i + 1]!)) return undefined;
  if (filling.entries > MAX_NEW_SHARE * count) return undefined;
  if (isWide(filling.entries)) sortEntries(filling);
  const { buffer } = scratch.entries;
  return {
    plain: new Uint8Array(buffer, 0, 8 * filling.entries),
    entries: filling.entries,
    codes: scratch.codes.subarray(0, count),
  };
}

function newShareOf(pages: readonly PageRows[], filling: Filling): number {
  filling.slots.fill(0);
  const full = pages.filter(({ rows, nulls }) => nulls < rows);
  const ofPage = Math.ceil(SAMPLE_ROWS / full.length);
  for (const { set } of full) {
    const end = filling.at + ofPage;
    for (let i = 0; i < set.length && filling.at < end; i += 2)
      addCells(filling, set[i]!, Math.min(set[i + 1]!, set[i]! + end - filling.at));
  }
  return filling.entries / filling.at;
}

/** Entries in the order of their bits, as signed integers, and the codes with them. */
function sortEntries(filling: Filling): void {
  const { entries, at, scratch } = filling;
  const inOrder = new BigInt64Array(scratch.entries.buffer, 0, entries).slice().sort();
  const cells = new Int32Array(inOrder.buffer);
  const codeOf = new Uint16Array(entries);
  for (let code = 0; code < entries; code++)
    codeOf[filling.slots[slotOf(filling, cells[2 * code]!, cells[2 * code + 1]!)]! - 1] = code;
  scratch.entries.set(cells);
  const { codes } = scratch;
  for (let i = 0; i < at; i++) codes[i] = codeOf[codes[i]!]!;
}

function slotOf({ slots, scratch: { entries } }: Filling, low: number, high: number): number {
  const mask = slots.length - 1;
  // The upper bits of a product, into which all bits of both words go.
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  let slot = (mixed ^ (mixed >>> 15)) & mask;
  for (let entry = slots[slot]! - 1; entry >= 0; entry = slots[slot]! - 1) {
    if (entries[2 * entry] === low && entries[2 * entry + 1] === high) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

/** Put the codes of some rows behind those that are there; false where there are more entries than codes. */
function addCells(filling: Filling, from: number, to: number): boolean {
  const { cells, slots, scratch } = filling;
  const { codes, entries } = scratch;
  let { at, entries: known } = filling;
  for (let row = from; row < to; row++) {
    const low = cells[2 * row]!;
    const high = cells[2 * row + 1]!;
    const slot = slotOf(filling, low, high);
    let entry = slots[slot]! - 1;
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
        if (at === FIRST_TEXTS && known.size > MAX_NEW_SHARE * at) return undefined;
      }
  if (known.size > MAX_NEW_SHARE * count) return undefined;
  return {
    plain: plain.bytes.subarray(0, plain.at),
    entries: known.size,
    codes: scratch.codes.subarray(0, count),
  };
}

export function isWide(entries: number): boolean {
  return entries > 256;
}

/** Indices of the dictionary: their width in bits, and one run that is packed to whole bytes. */
export function putCodes(sink: ByteSink, codes: Uint16Array, entries: number): void {
  const isNarrow = !isWide(entries);
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
