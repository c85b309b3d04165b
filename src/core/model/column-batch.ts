/** Decoded readings as typed arrays. The decoder owns them and uses them again after its callback: who wants to keep rows copies. */

/** Which of the three value columns a reading fills. */
export const LONG = 0;
export const DOUBLE = 1;
export const JSON_TEXT = 2;

export interface ColumnBatch {
  /** Rows in use; the arrays may be longer. */
  rows: number;
  readonly timestampMicros: Float64Array;
  /** Index into the dictionary's `ids`. */
  readonly seriesCodes: Int32Array;
  readonly kinds: Uint8Array;
  /** One 8-byte cell a row, in two views of one buffer: by `kinds` a long, a double, or the entry number in `jsonText`. */
  readonly longs: BigInt64Array;
  readonly doubles: Float64Array;
  /** The same buffer as 32-bit words, two a row, little-endian (low word first): avoids BigInt on hot paths. */
  readonly words: Int32Array;
  readonly jsonText: JsonTextHeap;
}

/** Series ids in order of first appearance; a code is an index into `ids`. Shared by the answers of a vessel-day. */
export interface SeriesDictionary {
  readonly ids: string[];
  codeOf(id: string): number;
}

export function createSeriesDictionary(initial: readonly string[] = []): SeriesDictionary {
  const ids: string[] = [];
  const codes = new Map<string, number>();
  const codeOf = (id: string): number => {
    let code = codes.get(id);
    if (code === undefined) {
      code = ids.push(id) - 1;
      codes.set(id, code);
    }
    return code;
  };
  for (const id of initial) codeOf(id);
  return { ids, codeOf };
}

/** First of rows in time order that is not older than an instant; `rows` where all are. */
export function firstRowFrom(
  { timestampMicros, rows }: Pick<ColumnBatch, 'timestampMicros' | 'rows'>,
  micros: number,
): number {
  let low = 0;
  let high = rows;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (timestampMicros[middle]! < micros) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function createColumnBatch(capacity: number): ColumnBatch {
  const cells = new ArrayBuffer(capacity * 8);
  return {
    rows: 0,
    timestampMicros: new Float64Array(capacity),
    seriesCodes: new Int32Array(capacity),
    kinds: new Uint8Array(capacity),
    longs: new BigInt64Array(cells),
    doubles: new Float64Array(cells),
    words: new Int32Array(cells),
    jsonText: { count: 0, bytes: new Uint8Array(0), ends: new Int32Array(0) },
  };
}

/** The rows of a batch at the begin of one with room for as many; both have the same heap of texts then. */
export function moveRows(from: ColumnBatch, to: ColumnBatch): void {
  to.rows = from.rows;
  to.timestampMicros.set(from.timestampMicros);
  to.seriesCodes.set(from.seriesCodes);
  to.kinds.set(from.kinds);
  to.words.set(from.words);
  Object.assign(to.jsonText, from.jsonText);
}

/** UTF-8 JSON texts, verbatim as the service sent them: entry `n` is `bytes[ends[n-1] ?? 0, ends[n])`. */
export interface JsonTextHeap {
  count: number;
  bytes: Uint8Array;
  ends: Int32Array;
}

/** A byte loop beats a call of `set` on a fresh subarray for fewer bytes. */
const LOOP_BYTES = 48;

/** Append `bytes[start, end)` as the heap's next entry; its number. */
export function appendJsonText(heap: JsonTextHeap, bytes: Uint8Array, start: number, end: number): number {
  const from = jsonTextBytes(heap);
  const to = from + end - start;
  reserve(heap, to, heap.count + 1);
  if (end - start > LOOP_BYTES) heap.bytes.set(bytes.subarray(start, end), from);
  else for (let i = start, to = from; i < end; i++) heap.bytes[to++] = bytes[i]!;
  heap.ends[heap.count] = to;
  return heap.count++;
}

export function appendJsonTexts(heap: JsonTextHeap, from: JsonTextHeap, first: number, end: number): void {
  const start = jsonTextBytes(from, first);
  const shift = jsonTextBytes(heap) - start;
  const to = jsonTextBytes(from, end);
  reserve(heap, to + shift, heap.count + end - first);
  heap.bytes.set(from.bytes.subarray(start, to), start + shift);
  for (let entry = first; entry < end; entry++) heap.ends[heap.count++] = from.ends[entry]! + shift;
}

/** What an end can tell. */
const MAX_BYTES = 2 ** 31 - 1;

/** Make room for so many bytes and entries. Throws RangeError for more than 2 GiB, where texts could not be told apart. */
function reserve(heap: JsonTextHeap, bytes: number, entries: number): void {
  if (bytes > heap.bytes.length) {
    if (bytes > MAX_BYTES) throw new RangeError(`got ${bytes} bytes of JSON, expected at most ${MAX_BYTES}`);
    const wider = new Uint8Array(Math.min(Math.max(bytes, heap.bytes.length * 2, 1024), MAX_BYTES));
    wider.set(heap.bytes.subarray(0, jsonTextBytes(heap)));
    heap.bytes = wider;
  }
  if (entries > heap.ends.length) {
    const wider = new Int32Array(Math.max(entries, heap.count * 2, 256));
    wider.set(heap.ends);
    heap.ends = wider;
  }
}

/** The text of an entry: a view of the heap. */
export function jsonTextAt({ bytes, ends }: JsonTextHeap, entry: number): Uint8Array {
  return bytes.subarray(entry === 0 ? 0 : ends[entry - 1]!, ends[entry]!);
}

/** Bytes of the first `entries` texts of a heap, or of all. */
export function jsonTextBytes({ count, ends }: JsonTextHeap, entries = count): number {
  return entries === 0 ? 0 : ends[entries - 1]!;
}
