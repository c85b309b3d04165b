/** UTF-8 JSON texts, verbatim as the service sent them: entry `n` is `bytes[ends[n-1] ?? 0, ends[n])`. */
export interface JsonTextHeap {
  count: number;
  bytes: Uint8Array;
  ends: Int32Array;
}

/** Below this a byte loop beats a call of `set` on a fresh subarray. */
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

/** Append entries `[first, end)` of another heap. */
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
