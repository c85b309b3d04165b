/**
 * Measurements as JSON text, written byte by byte: this is the service's hot path. Rows of a batch become one buffer;
 * memory is bounded by that buffer.
 */
import type { ColumnBatch } from '../model/index.ts';
import { DOUBLE, JSON_TEXT, jsonTextAt, LONG, MICROS_PER_SECOND, microsToIso } from '../model/index.ts';
import { floatText } from './formats.ts';

const SECOND_CHARS = 'YYYY-MM-DDTHH:MM:SS.'.length;
const MICROS_CHARS = 6;
/** A line's beginning is copied whole, then the time is written into it. */
const BLANK_TIME = Buffer.from('YYYY-MM-DDTHH:MM:SS.ffffffZ","value":');
/** Longest text of a number. */
const NUMBER_BYTES = 32;
const ZERO = 48;
const encoder = new TextEncoder();

/** Writes batches as objects `{"id":…,"timestamp":…,"value":…}`, each followed by a newline or led by a comma. */
export class MeasurementTextWriter {
  readonly #ids: readonly string[];
  /** Everything before the value, by series, with a blank time; made when the series is first met. */
  readonly #heads: (Uint8Array | undefined)[];
  readonly #timeAt: Int32Array;
  readonly #separator: 'newline' | 'comma';
  #first = true;
  #second = Number.NaN;
  readonly #secondText = new Uint8Array(SECOND_CHARS);

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
      this.#writeTime(out, at + this.#timeAt[code]!, timestampMicros[row]!);
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
    const start = encoder.encode(`{"id":${JSON.stringify(this.#ids[code])},"timestamp":"`);
    const head = Buffer.concat([start, BLANK_TIME]);
    this.#heads[code] = head;
    this.#timeAt[code] = start.length;
    return head;
  }

  #writeTime(out: Uint8Array, at: number, micros: number): void {
    const second = Math.floor(micros / MICROS_PER_SECOND);
    const text = this.#secondText;
    if (second !== this.#second) {
      encoder.encodeInto(microsToIso(second * MICROS_PER_SECOND), text);
      this.#second = second;
    }
    for (let i = 0; i < SECOND_CHARS; i++) out[at + i] = text[i]!;
    writeDigits(out, at + SECOND_CHARS, micros - second * MICROS_PER_SECOND, MICROS_CHARS);
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

function writeAscii(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i);
  return at + text.length;
}

/** `value` (an integer below 2^31) as exactly `digits` digits. */
function writeDigits(out: Uint8Array, at: number, value: number, digits: number): void {
  let rest = value | 0;
  for (let i = at + digits - 1; i >= at; i--) {
    const next = (rest / 10) | 0;
    out[i] = ZERO + (rest - next * 10);
    rest = next;
  }
}

function digitsOf(value: number): number {
  let digits = 1;
  for (let bound = 10; value >= bound && digits < 10; bound *= 10) digits++;
  return digits;
}

/**
 * Shortest text that reads back as the same double, with a decimal point. What has at most three decimals and
 * six digits before them, nearly every sensor value, goes without making a string.
 */
function writeDouble(out: Uint8Array, at: number, value: number): number {
  const thousandths = Math.round(value * 1000);
  if (Math.abs(thousandths) >= 1e9 || thousandths / 1000 !== value || (thousandths === 0 && 1 / value < 0))
    return writeAscii(out, at, floatText(value));
  let rest = thousandths;
  if (rest < 0) {
    out[at++] = 0x2d;
    rest = -rest;
  }
  const whole = (rest / 1000) | 0;
  const digits = digitsOf(whole);
  writeDigits(out, at, whole, digits);
  at += digits;
  out[at++] = 0x2e;
  let fraction = rest - whole * 1000;
  let places = 3;
  while (places > 1 && fraction % 10 === 0) {
    fraction = (fraction / 10) | 0;
    places--;
  }
  writeDigits(out, at, fraction, places);
  return at + places;
}

function writeLong(out: Uint8Array, at: number, batch: ColumnBatch, row: number): number {
  const low = batch.words[2 * row]!;
  if (batch.words[2 * row + 1]! !== low >> 31 || Math.abs(low) >= 1e9)
    return writeAscii(out, at, batch.longs[row]!.toString());
  let rest = low;
  if (rest < 0) {
    out[at++] = 0x2d;
    rest = -rest;
  }
  const digits = digitsOf(rest);
  writeDigits(out, at, rest, digits);
  return at + digits;
}
