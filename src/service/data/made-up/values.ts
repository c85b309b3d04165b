import type { JsonTextHeap } from '../../../core/model/index.ts';
import { appendJsonText, DOUBLE, JSON_TEXT, LONG, MICROS_PER_HOUR } from '../../../core/model/index.ts';
import { NumberWriter, textMemory, writeAscii } from '../../bodies/text-bytes.ts';
import type { DriverLine } from './driver-line.ts';
import type { FleetSeries } from './fleet.ts';
import { mix, mix2, unit } from './random.ts';
import type { CounterRule, JsonRule, NumberRule } from './template.ts';
import type { Voyage } from './voyage.ts';

const HALF_HOUR = MICROS_PER_HOUR / 2;
const LOW_WORDS = 2 ** 32;
const POSITION_BYTES = 64;
const encoder = new TextEncoder();

/** Readings of which times and hashes are known, and room for their values: as in a ColumnBatch. */
export interface ReadingRows {
  readonly timestampMicros: Float64Array;
  /** Of the slot. */
  readonly hashes: Int32Array;
  readonly kinds: Uint8Array;
  readonly doubles: Float64Array;
  readonly words: Int32Array;
  readonly jsonText: JsonTextHeap;
  /** For the maker alone, with room for as many. */
  readonly driven: Float64Array;
  readonly secondDriven: Float64Array;
}

/** Makes the readings of one series: pure in series and time. Loops over columns, as large days are made by it. */
export interface ReadingMaker {
  /**
   * The values of rows `[from, to)`, by ascending time. A second reading of the same instant comes right after the
   * first: its value is the same or a step higher.
   */
  fill(rows: ReadingRows, from: number, to: number): void;
}

export function createReadingMaker(series: FleetSeries, voyage: Voyage): ReadingMaker {
  const rule = series.template.value;
  if (rule.kind === 'number') return new NumberMaker(series, rule, voyage);
  if (rule.kind === 'counter') return new CounterMaker(rule, voyage);
  if (rule.kind === 'position') return new PositionMaker(voyage);
  return new TextMaker(series, rule, voyage);
}

class NumberMaker implements ReadingMaker {
  readonly #line: DriverLine;
  readonly #rule: NumberRule;
  readonly #low: number;
  readonly #high: number;
  readonly #scale: number;

  constructor(series: FleetSeries, rule: NumberRule, voyage: Voyage) {
    this.#line = voyage.line(rule.driver);
    this.#rule = rule;
    this.#low = series.template.low ?? Number.NEGATIVE_INFINITY;
    this.#high = series.template.high ?? Number.POSITIVE_INFINITY;
    this.#scale = 10 ** rule.decimals;
  }

  fill(rows: ReadingRows, from: number, to: number): void {
    this.#line.fill(rows.timestampMicros, from, to, rows.driven);
    this.#toSteps(rows, from, to);
    if (this.#rule.type === 'long') storeLongs(rows, from, to);
    else storeDoubles(rows, from, to, this.#scale);
  }

  /** From what drives the series to whole steps of its value. */
  #toSteps({ timestampMicros, hashes, driven: cells }: ReadingRows, from: number, to: number): void {
    const { offset, gain, noise } = this.#rule;
    const [low, high, scale] = [this.#low, this.#high, this.#scale];
    let before = Number.NaN;
    for (let row = from; row < to; row++) {
      const hash = hashes[row]!;
      const driven = gain * cells[row - from]!;
      let value = offset + driven;
      // What is proportional to something at rest rests too: a stopped shaft has no power.
      if (driven !== 0 || offset !== 0 || gain === 0) value += (2 * unit(mix(hash)) - 1) * noise;
      if (value > high) value = high;
      if (value < low) value = low;
      const micros = timestampMicros[row]!;
      const step = micros === before ? (hash >>> 9) & 1 : 0;
      cells[row - from] = Math.round(value * scale) + step;
      before = micros;
    }
  }
}

function storeLongs({ kinds, words, driven: steps }: ReadingRows, from: number, to: number): void {
  for (let row = from; row < to; row++) {
    const value = steps[row - from]!;
    kinds[row] = LONG;
    words[2 * row] = value | 0;
    words[2 * row + 1] = Math.floor(value / LOW_WORDS);
  }
}

function storeDoubles(
  { kinds, doubles, driven: steps }: ReadingRows,
  from: number,
  to: number,
  scale: number,
): void {
  for (let row = from; row < to; row++) {
    kinds[row] = DOUBLE;
    // `+ 0` turns -0 into 0.
    doubles[row] = steps[row - from]! / scale + 0;
  }
}

class CounterMaker implements ReadingMaker {
  readonly #line: DriverLine;
  readonly #gain: number;
  readonly #baseLow: number;
  readonly #baseHigh: number;

  constructor({ driver, gain, base }: CounterRule, voyage: Voyage) {
    this.#line = voyage.line(driver);
    this.#gain = gain;
    this.#baseLow = Number(BigInt.asUintN(32, base));
    this.#baseHigh = Number(base >> 32n);
  }

  fill({ timestampMicros, kinds, words, driven }: ReadingRows, from: number, to: number): void {
    this.#line.fill(timestampMicros, from, to, driven);
    for (let row = from; row < to; row++) {
      const steps = Math.floor(driven[row - from]! * this.#gain);
      // The base may be beyond 2^53: a word at a time is exact.
      const stepsHigh = Math.floor(steps / LOW_WORDS);
      const low = this.#baseLow + (steps - stepsHigh * LOW_WORDS);
      kinds[row] = LONG;
      words[2 * row] = low | 0;
      words[2 * row + 1] = this.#baseHigh + stepsHigh + (low >= LOW_WORDS ? 1 : 0);
    }
  }
}

/** One of a few texts. */
class TextMaker implements ReadingMaker {
  readonly #seed: number;
  readonly #rule: Exclude<JsonRule, { kind: 'position' }>;
  readonly #line: DriverLine;
  readonly #bytes = new Map<string, Uint8Array>();

  constructor(series: FleetSeries, rule: Exclude<JsonRule, { kind: 'position' }>, voyage: Voyage) {
    this.#seed = series.seed;
    this.#rule = rule;
    this.#line = voyage.line(rule.driver ?? 'constant');
  }

  fill(rows: ReadingRows, from: number, to: number): void {
    this.#line.fill(rows.timestampMicros, from, to, rows.driven);
    for (let row = from; row < to; row++) {
      const bytes = this.#bytesOf(this.#text(rows.timestampMicros[row]!, rows.driven[row - from]!));
      storeText(rows, row, bytes, bytes.length);
    }
  }

  #text(micros: number, driven: number): string {
    const rule = this.#rule;
    if (rule.kind === 'flag') return driven > rule.above ? 'true' : 'false';
    const index =
      rule.driver === undefined
        ? mix2(this.#seed, Math.floor(micros / HALF_HOUR)) % rule.texts.length
        : Math.round(driven);
    return rule.texts[index] ?? 'null';
  }

  #bytesOf(text: string): Uint8Array {
    let bytes = this.#bytes.get(text);
    if (bytes === undefined) {
      bytes = encoder.encode(text);
      this.#bytes.set(text, bytes);
    }
    return bytes;
  }
}

class PositionMaker implements ReadingMaker {
  readonly #latitude: DriverLine;
  readonly #longitude: DriverLine;
  readonly #text = textMemory(new Uint8Array(POSITION_BYTES));
  readonly #numbers = new NumberWriter();

  constructor(voyage: Voyage) {
    this.#latitude = voyage.line('latitude');
    this.#longitude = voyage.line('longitude');
  }

  fill(rows: ReadingRows, from: number, to: number): void {
    const { timestampMicros, hashes, driven, secondDriven } = rows;
    this.#latitude.fill(timestampMicros, from, to, driven);
    this.#longitude.fill(timestampMicros, from, to, secondDriven);
    const [text, numbers] = [this.#text, this.#numbers];
    const { bytes } = text;
    for (let row = from; row < to; row++) {
      const hash = hashes[row]!;
      let end = writeAscii(bytes, 0, '{"lat":');
      end = numbers.writeFixed5(text, end, driven[row - from]! + (unit(hash >>> 0) - 0.5) * 2e-5);
      end = writeAscii(bytes, end, ',"lon":');
      end = numbers.writeFixed5(text, end, secondDriven[row - from]! + (unit(mix(hash)) - 0.5) * 2e-5);
      bytes[end++] = 0x7d;
      storeText(rows, row, bytes, end);
    }
  }
}

function storeText(
  { kinds, words, jsonText }: ReadingRows,
  row: number,
  bytes: Uint8Array,
  end: number,
): void {
  kinds[row] = JSON_TEXT;
  words[2 * row] = appendJsonText(jsonText, bytes, 0, end);
  words[2 * row + 1] = 0;
}
