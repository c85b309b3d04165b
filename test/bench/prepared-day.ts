/**
 * One vessel-day as files of bytes, ready to be served: a block of readings as NDJSON, which is the whole day or
 * an hour that every hour of the day repeats, where each second begins in it, the bodies of metadata and
 * statistics, and what the rows of a right export add up to.
 */
import { closeSync, existsSync, openSync, readdirSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { microsToIso } from '../../src/core/model/index.ts';
import { createRandom, createSignals, type Signal } from './signals.ts';

export const VESSEL = 'IMO9321483';
export const DATE = '2026-01-05';
export const HOURS = 24;
export const SECONDS_PER_HOUR = 3600;
const MICROS_PER_HOUR = 3_600_000_000;
const DAY_MICROS = Date.parse(`${DATE}T00:00:00Z`) * 1000;
/** A prime: sums of products of remainders stay exact, and catch values that stand in another row's place. */
export const BINDING_PRIME = 65_521;
const WRITE_BYTES = 4 << 20;

/** What the rows of one series add up to, over the day. */
export interface SeriesTruth {
  readonly timeSeriesId: string;
  readonly id: string;
  readonly column: 'long_value' | 'double_value' | 'json_value';
  rows: number;
  /** Of `Signal.amount`. */
  amounts: number;
  /** Of microseconds within the hour. */
  micros: number;
  /** Of (microseconds within the hour % p) × (amount % p). */
  binding: number;
}

export interface PreparedDay {
  readonly dir: string;
  readonly rows: number;
  /** Of all pages together. */
  readonly bytes: number;
  /** The block repeats until the day is full. */
  readonly repeats: number;
  readonly series: readonly SeriesTruth[];
}

export const fileIn = (dir: string) => ({
  readings: join(dir, 'readings.ndjson'),
  offsets: join(dir, 'offsets.bin'),
  metadata: join(dir, 'metadata.json'),
  statistics: join(dir, 'statistics.json'),
  day: join(dir, 'day.json'),
});

/** Write a day of `rows` readings into a folder; with `repeats: 24` an hour's worth that is repeated. */
export function prepareDay(dir: string, rows: number, repeats: 1 | 24): PreparedDay {
  const random = createRandom();
  const signals = createSignals(VESSEL, random);
  const block = writeBlock(dir, signals, random, Math.round(rows / repeats), HOURS / repeats);
  for (const truth of block.series) {
    truth.rows *= repeats;
    truth.amounts *= repeats;
    truth.micros *= repeats;
    truth.binding *= repeats;
  }
  const day = {
    dir,
    rows: block.rows * repeats,
    bytes: block.bytes * repeats,
    repeats,
    series: block.series,
  };
  const files = fileIn(dir);
  writeFileSync(files.metadata, metadataBody(signals));
  writeFileSync(files.statistics, statisticsBody(signals, block.hours));
  writeFileSync(files.offsets, new Uint8Array(block.offsets.buffer));
  writeFileSync(files.day, JSON.stringify(day));
  return day;
}

/** The day that `prepareDay` left in a folder. */
export async function readPreparedDay(dir: string): Promise<PreparedDay> {
  return JSON.parse(await readFile(fileIn(dir).day, 'utf8'));
}

/** Readings of a series in an hour. */
interface HourTruth {
  count: number;
  firstMicros: number;
  lastMicros: number;
}

interface Block {
  readonly rows: number;
  readonly bytes: number;
  /** By series, then by hour of the block. */
  readonly hours: HourTruth[][];
  readonly series: SeriesTruth[];
  /** Where each second begins, and the end. */
  readonly offsets: Float64Array<ArrayBuffer>;
}

function writeBlock(
  dir: string,
  signals: readonly Signal[],
  random: () => number,
  rows: number,
  hours: number,
): Block {
  const seconds = hours * SECONDS_PER_HOUR;
  const block: Block & { bytes: number } = {
    rows,
    bytes: 0,
    hours: signals.map(() =>
      Array.from({ length: hours }, () => ({ count: 0, firstMicros: 0, lastMicros: 0 })),
    ),
    series: signals.map(emptyTruth),
    offsets: new Float64Array(seconds + 1),
  };
  const draw = createDeck(signals, random);
  const file = openSync(fileIn(dir).readings, 'w');
  let text = '';
  for (let second = 0; second < seconds; second++) {
    block.offsets[second] = block.bytes + text.length;
    const count = Math.floor(((second + 1) * rows) / seconds) - Math.floor((second * rows) / seconds);
    const prefix = `","timestamp":"${microsToIso(DAY_MICROS + second * 1_000_000).slice(0, 20)}`;
    for (let i = 0; i < count; i++) {
      const index = draw();
      const signal = signals[index]!;
      const micros = Math.floor(((i + random()) * 1_000_000) / count);
      const value = signal.next();
      addReading(block, index, second * 1_000_000 + micros, signal.amount);
      text += `{"id":"${signal.timeSeriesId}${prefix}${String(micros).padStart(6, '0')}Z","value":${value}}\n`;
    }
    if (text.length > WRITE_BYTES || second === seconds - 1) {
      writeSync(file, text, null, 'latin1');
      block.bytes += text.length;
      text = '';
    }
  }
  block.offsets[seconds] = block.bytes;
  closeSync(file);
  return block;
}

/** Series in random order, each as often as its frequency says, again and again. */
function createDeck(signals: readonly Signal[], random: () => number): () => number {
  const deck = signals.flatMap(({ frequency }, index) => new Array<number>(frequency).fill(index));
  let at = 0;
  return () => {
    // One step of a shuffle at a time: swap the next card with any that is not drawn yet.
    const from = at + Math.floor(random() * (deck.length - at));
    const index = deck[from]!;
    deck[from] = deck[at]!;
    deck[at] = index;
    at = (at + 1) % deck.length;
    return index;
  };
}

function emptyTruth({ timeSeriesId, id, kind }: Signal): SeriesTruth {
  const column =
    kind === 'double' ? 'double_value' : kind === 'long' || kind === 'wide' ? 'long_value' : 'json_value';
  return { timeSeriesId, id, column, rows: 0, amounts: 0, micros: 0, binding: 0 };
}

function addReading(block: Block, index: number, micros: number, amount: number): void {
  const hour = Math.floor(micros / MICROS_PER_HOUR);
  const inHour = micros - hour * MICROS_PER_HOUR;
  const truth = block.series[index]!;
  truth.rows += 1;
  truth.amounts += amount;
  truth.micros += inHour;
  truth.binding += (inHour % BINDING_PRIME) * (amount % BINDING_PRIME);
  const ofHour = block.hours[index]![hour]!;
  if (ofHour.count === 0) ofHour.firstMicros = inHour;
  ofHour.lastMicros = inHour;
  ofHour.count += 1;
}

function metadataBody(signals: readonly Signal[]): string {
  const vessel = { name: 'Bench', imo: VESSEL.slice(3) };
  return JSON.stringify(
    signals.map(({ timeSeriesId, id }) => ({
      id,
      timeSeriesId,
      source: 'bench',
      dataProvider: 'bench',
      unitOfMeasure: '',
      scale: 1,
      vessel,
      domains: { flat: { id, shortName: id.slice(VESSEL.length + 1) } },
    })),
  );
}

/** Hourly counts with first and last time; the block's hours repeated. */
function statisticsBody(signals: readonly Signal[], hours: readonly (readonly HourTruth[])[]): string {
  const rows: object[] = [];
  for (let hour = 0; hour < HOURS; hour++) {
    const hourMicros = DAY_MICROS + hour * MICROS_PER_HOUR;
    for (const [index, { timeSeriesId }] of signals.entries()) {
      const ofSeries = hours[index]!;
      const { count, firstMicros, lastMicros } = ofSeries[hour % ofSeries.length]!;
      if (count === 0) continue;
      const aggregations = {
        count,
        first_time: microsToIso(hourMicros + firstMicros),
        last_time: microsToIso(hourMicros + lastMicros),
      };
      rows.push({ timestamp: microsToIso(hourMicros), id: timeSeriesId, aggregations });
    }
  }
  return JSON.stringify(rows);
}

/** A day that a contender reads, and the file that it writes of it. */
export interface DayFiles {
  /** Filled as `prepareDay` does. */
  readonly dir: string;
  /** Its Parquet file. */
  readonly out: string;
}

/** One prepared day and its file; or the prepared days in a folder, and files of their names in the folder `out`. */
export function daysIn(dir: string, out: string): DayFiles[] {
  if (existsSync(fileIn(dir).readings)) return [{ dir, out }];
  return readdirSync(dir).map((name) => ({ dir: join(dir, name), out: join(out, `${name}.parquet`) }));
}

/** Bytes of what was written. */
export function bytesOf(days: readonly DayFiles[]): number {
  return days.reduce((sum, { out }) => sum + statSync(out).size, 0);
}
