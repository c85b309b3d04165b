/**
 * Measurements as JSON text, written byte by byte: this is the service's hot path. Rows of a batch become one buffer;
 * memory is bounded by that buffer.
 */
import type { ColumnBatch } from '../model/index.ts';
import { DOUBLE, JSON_TEXT, jsonTextAt, LONG } from '../model/index.ts';
import { NUMBER_BYTES, TimeWriter, writeAscii, writeDouble, writeSmallInteger } from './text-bytes.ts';

/** A line's beginning is copied whole, then the time is written into it. */
const BLANK_TIME = 'YYYY-MM-DDTHH:MM:SS.ffffffZ","value":';

/** Writes batches as objects `{"id":…,"timestamp":…,"value":…}`, each followed by a newline or led by a comma. */
export class MeasurementTextWriter {
  readonly #ids: readonly string[];
  /** Everything before the value, by series, with a blank time; made when the series is first met. */
  readonly #heads: (Uint8Array | undefined)[];
  readonly #timeAt: Int32Array;
  readonly #separator: 'newline' | 'comma';
  readonly #time = new TimeWriter();
  #first = true;

  /** `ids[code]` is how the series of that code is answered. */
  constructor(ids: readonly string[], separator: 'newline' | 'comma') {
    this.#ids = ids;
    this.#heads = new Array(ids.length).fill(undefined);
    this.#timeAt = new Int32Array(ids.length);
    this.#separator = separator;
  }

  /** Rows `[from, to)` of the batch as text, in memory of its own. */
  write(batch: ColumnBatch, from = 0, to = batch.rows): Uint8Array {
    const { timestampMicros, seriesCodes, kinds, jsonText } = batch;
    // Only what is written is ever touched by the operating system.
    const out = Buffer.allocUnsafeSlow(
      (to - from) * (NUMBER_BYTES + 2) + this.#headBytes(batch, from, to) + jsonBytesOf(batch, from, to),
    );
    const lines = this.#separator === 'newline';
    let at = 0;
    for (let row = from; row < to; row++) {
      if (!lines) {
        if (!this.#first) out[at++] = 0x2c;
        this.#first = false;
      }
      const code = seriesCodes[row]!;
      const head = this.#heads[code]!;
      out.set(head, at);
      this.#time.write(out, at + this.#timeAt[code]!, timestampMicros[row]!);
      at += head.length;
      const kind = kinds[row]!;
      if (kind === DOUBLE) at = writeDouble(out, at, batch.doubles[row]!);
      else if (kind === LONG) at = writeLong(out, at, batch, row);
      else {
        const text = jsonTextAt(jsonText, batch.words[2 * row]!);
        out.set(text, at);
        at += text.length;
      }
      out[at++] = 0x7d;
      if (lines) out[at++] = 0x0a;
    }
    return out.subarray(0, at);
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
    const head = Buffer.from(`{"id":${JSON.stringify(this.#ids[code])},"timestamp":"${BLANK_TIME}`);
    this.#heads[code] = head;
    this.#timeAt[code] = head.length - BLANK_TIME.length;
    return head;
  }
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

function writeLong(out: Uint8Array, at: number, batch: ColumnBatch, row: number): number {
  const low = batch.words[2 * row]!;
  if (batch.words[2 * row + 1]! !== low >> 31 || Math.abs(low) >= 1e9)
    return writeAscii(out, at, batch.longs[row]!.toString());
  return writeSmallInteger(out, at, low);
}
