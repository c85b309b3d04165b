/**
 * Decoded readings as typed arrays: what the decoders fill and the row group builder copies from.
 * The decoder owns the arrays and uses them again after its callback returns; who wants to keep rows copies.
 */
import type { JsonTextHeap } from './json-text-heap.ts';

/** Which of the three value columns a reading fills. */
export const LONG = 0;
export const DOUBLE = 1;
export const JSON_TEXT = 2;

export interface ColumnBatch {
  /** Rows in use; the arrays may be longer. */
  rows: number;
  /** Whole microseconds since the epoch. */
  readonly timestampMicros: Float64Array;
  /** Index into the dictionary's `ids`. */
  readonly seriesCodes: Int32Array;
  /** LONG, DOUBLE or JSON_TEXT. */
  readonly kinds: Uint8Array;
  /**
   * One 8-byte cell a row, in two views of the same buffer: `longs[i]` where kind is LONG, `doubles[i]` where
   * it is DOUBLE. Where it is JSON_TEXT, `longs[i]` is the row's entry number in `jsonText`.
   */
  readonly longs: BigInt64Array;
  readonly doubles: Float64Array;
  /** The same buffer as 32-bit words, two a row, little-endian (low word first): avoids BigInt on hot paths. */
  readonly words: Int32Array;
  readonly jsonText: JsonTextHeap;
}

/** Series ids in order of first appearance; a code is an index into `ids`. Shared by the answers of a vessel-day. */
export interface SeriesDictionary {
  readonly ids: string[];
  /** Code of an id, added when new. */
  codeOf(id: string): number;
}

/** A dictionary without a size limit. */
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

/** A batch with room for `capacity` rows. */
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
