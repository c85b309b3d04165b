import type { JsonTextHeap } from '../model/index.ts';

/** A batch with more JSON text than this is handed over early: it bounds memory where values are huge. */
export const JSON_TEXT_LIMIT_BYTES = 8 * 1024 * 1024;
/** Below this a byte loop beats a call of `set` on a fresh subarray. */
const LOOP_BYTES = 48;

/** Append `bytes[start, end)` as the heap's next entry. */
export function appendJsonText(heap: JsonTextHeap, bytes: Uint8Array, start: number, end: number): void {
  const from = heap.count === 0 ? 0 : heap.ends[heap.count - 1]!;
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
  heap.ends[heap.count++] = to;
}

/** Empty the heap, keeping its memory. */
export function clearJsonText(heap: JsonTextHeap): void {
  heap.count = 0;
}
