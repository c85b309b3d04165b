/** Bytes that are written one after the other, in memory that only grows and is used again. */
export interface ByteSink {
  bytes: Uint8Array<ArrayBuffer>;
  view: DataView<ArrayBuffer>;
  /** Bytes in use; where the next one goes. */
  at: number;
}

const FIRST_BYTES = 64 * 1024;
/** Below this a byte loop beats a call of `set`. */
const LOOP_BYTES = 32;

export function createByteSink(firstBytes = FIRST_BYTES): ByteSink {
  const bytes = new Uint8Array(firstBytes);
  return { bytes, view: new DataView(bytes.buffer), at: 0 };
}

/** Make room for so many more bytes. Whoever writes to `bytes` by itself asks for it first. */
export function reserve(sink: ByteSink, more: number): void {
  const needed = sink.at + more;
  if (needed <= sink.bytes.length) return;
  const larger = new Uint8Array(Math.max(needed, sink.bytes.length * 2));
  larger.set(sink.bytes.subarray(0, sink.at));
  sink.bytes = larger;
  sink.view = new DataView(larger.buffer);
}

export function putBytes(sink: ByteSink, source: Uint8Array, from = 0, to = source.length): void {
  reserve(sink, to - from);
  if (to - from > LOOP_BYTES) {
    sink.bytes.set(source.subarray(from, to), sink.at);
    sink.at += to - from;
    return;
  }
  const { bytes } = sink;
  let at = sink.at;
  for (let i = from; i < to; i++) bytes[at++] = source[i]!;
  sink.at = at;
}

/** LEB128 of a whole number from 0 to 2^53; there is room for it. */
export function putVarint(sink: ByteSink, value: number): void {
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) sink.bytes[sink.at++] = (rest % 128) | 128;
  sink.bytes[sink.at++] = rest;
}

export function putUint32(sink: ByteSink, value: number): void {
  reserve(sink, 4);
  sink.view.setUint32(sink.at, value, true);
  sink.at += 4;
}

/** What `put` writes, behind its length in four bytes. */
export function putSized(sink: ByteSink, put: () => void): void {
  const lengthAt = sink.at;
  putUint32(sink, 0);
  put();
  sink.view.setUint32(lengthAt, sink.at - lengthAt - 4, true);
}

export function putText(sink: ByteSink, bytes: Uint8Array, from = 0, to = bytes.length): void {
  putUint32(sink, to - from);
  putBytes(sink, bytes, from, to);
}
