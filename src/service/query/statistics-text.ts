/** Statistics of version 2026-09-10 as JSON text, written byte by byte: counts per hour are most of what exporters ask. */
import type { Aggregation } from '../../core/model/index.ts';
import type { TextMemory } from '../bodies/text-bytes.ts';
import { NUMBER_BYTES, TIME_BYTES, TimeWriter, textMemory, writeAscii } from '../bodies/text-bytes.ts';
import type { SelectedSeries } from './selection.ts';
import type { StatisticsResult } from './statistics.ts';

const encoder = new TextEncoder();
/** Before the first value of an object: the time, then the id. */
const BEGIN = '{"timestamp":"';
const END = '}}';
/** Of an aggregation's value, as it is in most cases. */
const USUAL_VALUE_BYTES = NUMBER_BYTES + '""'.length;

/** Writes results as objects `{"timestamp":…,"id":…,"aggregations":{…}}`, each followed by a newline or led by a comma. */
export class StatisticsTextWriter {
  readonly #aggregations: readonly Aggregation[];
  /** `"<name>":` of each aggregation. */
  readonly #keys: readonly string[];
  readonly #separator: 'newline' | 'comma';
  /** What stands between the time and the first value. */
  readonly #heads = new Map<SelectedSeries, Uint8Array>();
  readonly #startTime = new TimeWriter();
  readonly #time = new TimeWriter();
  /** What an object takes besides its head and texts of unusual length. */
  readonly #usualBytes: number;
  #out: TextMemory = textMemory(new Uint8Array(0));
  #at = 0;
  #first = true;

  constructor(aggregations: readonly Aggregation[], separator: 'newline' | 'comma') {
    this.#aggregations = aggregations;
    this.#keys = aggregations.map((aggregation) => `${JSON.stringify(aggregation)}:`);
    this.#separator = separator;
    const values = this.#keys.reduce((sum, key) => sum + key.length + USUAL_VALUE_BYTES + 1, 0);
    this.#usualBytes = 1 + BEGIN.length + TIME_BYTES + values + END.length + 1;
  }

  /** Results as text, in memory of its own. */
  write(results: readonly StatisticsResult[]): Uint8Array {
    let bytes = 0;
    for (const { series } of results) bytes += this.#usualBytes + this.#headOf(series).length;
    this.#out = textMemory(new Uint8Array(bytes));
    this.#at = 0;
    for (const result of results) this.#writeObject(result);
    return this.#out.bytes.subarray(0, this.#at);
  }

  #writeObject({ start, series, values }: StatisticsResult): void {
    const lines = this.#separator === 'newline';
    const head = this.#headOf(series);
    this.#reserve(this.#usualBytes + head.length);
    if (!lines && !this.#first) this.#ascii(',');
    this.#first = false;
    this.#ascii(BEGIN);
    this.#startTime.write(this.#out.view, this.#at, start);
    this.#out.bytes.set(head, this.#at + TIME_BYTES);
    this.#at += TIME_BYTES + head.length;
    let separator = '';
    this.#aggregations.forEach((aggregation, index) => {
      const key = separator + this.#keys[index]!;
      if (this.#writeValue(values, aggregation, key)) separator = ',';
    });
    this.#ascii(lines ? '}}\n' : END);
  }

  /** A key and its value; false where that is not defined. */
  #writeValue(values: StatisticsResult['values'], aggregation: Aggregation, key: string): boolean {
    if (aggregation === 'first_time') this.#timeValue(key, values.firstMicros);
    else if (aggregation === 'last_time') this.#timeValue(key, values.lastMicros);
    else {
      const text = values.value(aggregation);
      if (text === undefined) return false;
      this.#ascii(key);
      if (text.length <= NUMBER_BYTES && isAscii(text)) this.#ascii(text);
      else this.#text(text);
    }
    return true;
  }

  #timeValue(key: string, micros: number): void {
    this.#ascii(key);
    this.#ascii('"');
    this.#time.write(this.#out.view, this.#at, micros);
    this.#at += TIME_BYTES;
    this.#ascii('"');
  }

  #headOf(series: SelectedSeries): Uint8Array {
    let head = this.#heads.get(series);
    if (head === undefined) {
      head = encoder.encode(`","id":${JSON.stringify(series.id)},"aggregations":{`);
      this.#heads.set(series, head);
    }
    return head;
  }

  #ascii(text: string): void {
    this.#at = writeAscii(this.#out.bytes, this.#at, text);
  }

  /** A text of any length, after which there is room for the rest of its object again. */
  #text(text: string): void {
    const bytes = encoder.encode(text);
    this.#reserve(bytes.length + this.#usualBytes);
    this.#out.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #reserve(bytes: number): void {
    const { bytes: before } = this.#out;
    if (this.#at + bytes <= before.length) return;
    const grown = new Uint8Array(Math.max(this.#at + bytes, before.length * 2));
    grown.set(before.subarray(0, this.#at));
    this.#out = textMemory(grown);
  }
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}
