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
  if (to > heap.bytes.length) {
    const wider = new Uint8Array(Math.max(to, heap.bytes.length * 2, 1024));
    wider.set(heap.bytes.subarray(0, from));
    heap.bytes = wider;
  }
  if (heap.count === heap.ends.length) {
    const wider = new Int32Array(Math.max(heap.count * 2, 256));
    wider.set(heap.ends);
    heap.ends = wider;
  }
  if (end - start > LOOP_BYTES) heap.bytes.set(bytes.subarray(start, end), from);
  else for (let i = start, to = from; i < end; i++) heap.bytes[to++] = bytes[i]!;
  heap.ends[heap.count] = to;
  return heap.count++;
}

/** The text of an entry: a view of the heap. */
export function jsonTextAt({ bytes, ends }: JsonTextHeap, entry: number): Uint8Array {
  return bytes.subarray(entry === 0 ? 0 : ends[entry - 1]!, ends[entry]!);
}

/** Bytes of all texts of a heap. */
export function jsonTextBytes({ count, ends }: JsonTextHeap): number {
  return count === 0 ? 0 : ends[count - 1]!;
}
