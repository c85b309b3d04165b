/**
 * Measurements as JSON text, written byte by byte: this is the service's hot path. Rows of a batch become one buffer;
 * memory is bounded by that buffer.
 */
import type { ColumnBatch } from '../../core/model/index.ts';
import { DOUBLE, JSON_TEXT, jsonTextAt, LONG } from '../../core/model/index.ts';
import type { PieceMemory } from './piece-memory.ts';
import { freshMemory } from './piece-memory.ts';
import type { TextMemory } from './text-bytes.ts';
import { NUMBER_BYTES, NumberWriter, TimeWriter, textMemory } from './text-bytes.ts';

const encoder = new TextEncoder();
/** A line's beginning is copied whole, then the time is written into it. */
const BLANK_TIME = 'YYYY-MM-DDTHH:MM:SS.ffffffZ","value":';
/** Written by one call: short calls, so that the loop in them is soon compiled with all that is known of it. */
const ROWS_PER_CALL = 256;
/** Below this a byte loop beats a call of `set` on a fresh subarray. */
const LOOP_BYTES = 48;

/** Writes batches as objects `{"id":…,"timestamp":…,"value":…}`, each followed by a newline or led by a comma. */
export class MeasurementTextWriter {
  readonly #ids: readonly string[];
  /** Everything before the value, by series, with a blank time; made when the series is first met. */
  readonly #heads: (Uint8Array | undefined)[];
  readonly #timeAt: Int32Array;
  readonly #lines: boolean;
  readonly #memory: PieceMemory;
  readonly #time = new TimeWriter();
  readonly #numbers = new NumberWriter();
  #first = true;

  /** `ids[code]` is how the series of that code is answered. */
  constructor(ids: readonly string[], separator: 'newline' | 'comma', memory: PieceMemory = freshMemory) {
    this.#ids = ids;
    this.#heads = new Array(ids.length).fill(undefined);
    this.#timeAt = new Int32Array(ids.length);
    this.#lines = separator === 'newline';
    this.#memory = memory;
  }

  /** Rows `[from, to)` of the batch as text. */
  write(batch: ColumnBatch, from = 0, to = batch.rows): Uint8Array {
    const bytes =
      (to - from) * (NUMBER_BYTES + 2) + this.#headBytes(batch, from, to) + jsonBytesOf(batch, from, to);
    const out = textMemory(this.#memory.take(bytes));
    let at = 0;
    for (let row = from; row < to; row += ROWS_PER_CALL)
      at = this.#writeRows(out, at, batch, row, Math.min(to, row + ROWS_PER_CALL));
    return out.bytes.subarray(0, at);
  }

  #writeRows(out: TextMemory, start: number, batch: ColumnBatch, from: number, to: number): number {
    const { bytes, view } = out;
    const { timestampMicros, seriesCodes, kinds, doubles, words } = batch;
    const [heads, timeAt, time, numbers, lines] = [
      this.#heads,
      this.#timeAt,
      this.#time,
      this.#numbers,
      this.#lines,
    ];
    let at = start;
    for (let row = from; row < to; row++) {
      if (!lines) {
        if (!this.#first) bytes[at++] = 0x2c;
        this.#first = false;
      }
      const code = seriesCodes[row]!;
      const head = heads[code]!;
      bytes.set(head, at);
      time.write(view, at + timeAt[code]!, timestampMicros[row]!);
      at += head.length;
      const kind = kinds[row]!;
      if (kind === DOUBLE) at = numbers.writeDouble(out, at, doubles[row]!);
      else if (kind === LONG) at = numbers.writeLong(out, at, words[2 * row]!, words[2 * row + 1]!);
      else at = copyText(bytes, at, jsonTextAt(batch.jsonText, words[2 * row]!));
      bytes[at++] = 0x7d;
      if (lines) bytes[at++] = 0x0a;
    }
    return at;
  }

  /** Makes the heads that rows `[from, to)` need; their bytes. */
  #headBytes({ seriesCodes }: ColumnBatch, from: number, to: number): number {
    let bytes = 0;
    for (let row = from; row < to; row++) {
      const code = seriesCodes[row]!;
      bytes += (this.#heads[code] ?? this.#makeHead(code)).length;
    }
    return bytes;
  }

  #makeHead(code: number): Uint8Array {
    const head = encoder.encode(`{"id":${JSON.stringify(this.#ids[code])},"timestamp":"${BLANK_TIME}`);
    this.#heads[code] = head;
    this.#timeAt[code] = head.length - BLANK_TIME.length;
    return head;
  }
}

function copyText(out: Uint8Array, at: number, text: Uint8Array): number {
  if (text.length > LOOP_BYTES) out.set(text, at);
  else for (let i = 0; i < text.length; i++) out[at + i] = text[i]!;
  return at + text.length;
}

/** Bytes of the JSON texts among rows `[from, to)`. */
function jsonBytesOf({ kinds, words, jsonText }: ColumnBatch, from: number, to: number): number {
  let bytes = 0;
  for (let row = from; row < to; row++) {
    if (kinds[row] !== JSON_TEXT) continue;
    const entry = words[2 * row]!;
    bytes += jsonText.ends[entry]! - (entry === 0 ? 0 : jsonText.ends[entry - 1]!);
  }
  return bytes;
}
