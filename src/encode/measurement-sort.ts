import type { ColumnBatch } from '../model/index.ts';
import { DOUBLE, JSON_TEXT, jsonTextAt, jsonTextBytes, LONG } from '../model/index.ts';
import type { Arena, ColumnBuffers } from './arrow-stream.ts';
import { openArrowStream, rankScratch } from './arrow-stream.ts';
import { MEASUREMENT_VALUES } from './columns.ts';
import type { SeriesRanks } from './series-ranks.ts';
import type { RunColumns } from './series-runs.ts';
import { findRuns } from './series-runs.ts';
import type { RankValues } from './series-values.ts';
import { readingValues } from './series-values.ts';

/**
 * Readings in order of arrival → Arrow columns in order of (time_series_id, timestamp, value), and how many rows each
 * series has; its columns follow from those.
 *
 * Rows arrive in time order, so a stable counting sort by series leaves only runs of equal (series, timestamp)
 * to be put in order. Value order: longs, then doubles, then JSON texts; longs as numbers, doubles by their
 * IEEE 754 bits read as a signed 64-bit integer, texts by bytes. Equal readings are kept and are alike, so the
 * result depends on the multiset of readings alone.
 */
interface SortedReadings {
  readonly stream: Uint8Array;
  readonly runs: RunColumns;
  /** By rank. */
  readonly rowsOfRank: Int32Array;
  readonly values: readonly RankValues[];
}

const TWO_32 = 2 ** 32;

interface Targets {
  readonly timestamps: Int32Array;
  readonly index: Int32Array;
  readonly long: ColumnBuffers;
  readonly double: ColumnBuffers;
  readonly json: ColumnBuffers;
}

/** Count the rows of each rank; what is returned holds the first position of each rank's rows. */
function firstPositions(batch: ColumnBatch, rows: number, rankOfCode: Int32Array): Int32Array {
  const next = new Int32Array(rankOfCode.length + 1);
  const codes = batch.seriesCodes;
  for (let row = 0; row < rows; row++) next[rankOfCode[codes[row]!]! + 1]!++;
  for (let rank = 0; rank < rankOfCode.length; rank++) next[rank + 1]! += next[rank]!;
  return next;
}

function countKinds(batch: ColumnBatch, rows: number): [longs: number, doubles: number, texts: number] {
  let longs = 0;
  let doubles = 0;
  for (let row = 0; row < rows; row++) {
    const kind = batch.kinds[row];
    if (kind === LONG) longs++;
    else if (kind === DOUBLE) doubles++;
  }
  return [longs, doubles, rows - longs - doubles];
}

/**
 * Write each row to its place; true when some series has two rows of the same timestamp. A JSON row's entry
 * number is kept in the low word of its long cell, which is null and so never encoded. `next` holds the first position
 * of each rank, and is used up.
 */
function scatter(
  batch: ColumnBatch,
  rows: number,
  rankOfCode: Int32Array,
  next: Int32Array,
  to: Targets,
): boolean {
  const { timestampMicros, seriesCodes, kinds, words } = batch;
  const lastMicros = new Float64Array(rankOfCode.length).fill(Number.NaN);
  const { timestamps, index } = to;
  const { cells: longCells, validity: longBits } = to.long;
  const { cells: doubleCells, validity: doubleBits } = to.double;
  const { validity: jsonBits } = to.json;
  let hasEqual = false;
  for (let row = 0; row < rows; row++) {
    const rank = rankOfCode[seriesCodes[row]!]!;
    const at = next[rank]!;
    next[rank] = at + 1;
    const micros = timestampMicros[row]!;
    if (micros === lastMicros[rank]) hasEqual = true;
    lastMicros[rank] = micros;
    timestamps[2 * at] = micros | 0;
    timestamps[2 * at + 1] = Math.floor(micros / TWO_32);
    index[at] = rank;
    const kind = kinds[row];
    const bit = 1 << (at & 7);
    if (kind === DOUBLE) {
      doubleCells[2 * at] = words[2 * row]!;
      doubleCells[2 * at + 1] = words[2 * row + 1]!;
      doubleBits[at >> 3]! |= bit;
    } else {
      longCells[2 * at] = words[2 * row]!;
      longCells[2 * at + 1] = words[2 * row + 1]!;
      if (kind === LONG) longBits[at >> 3]! |= bit;
      else jsonBits[at >> 3]! |= bit;
    }
  }
  return hasEqual;
}

const hasBit = (bits: Uint8Array, at: number): boolean => ((bits[at >> 3]! >> (at & 7)) & 1) === 1;

function setBit(bits: Uint8Array, at: number, on: boolean): void {
  const mask = 1 << (at & 7);
  if (on) bits[at >> 3]! |= mask;
  else bits[at >> 3]! &= ~mask;
}

interface Reading {
  readonly kind: number;
  readonly low: number;
  readonly high: number;
}

function readingAt(to: Targets, at: number): Reading {
  const kind = hasBit(to.long.validity, at) ? LONG : hasBit(to.double.validity, at) ? DOUBLE : JSON_TEXT;
  const { cells } = kind === DOUBLE ? to.double : to.long;
  return { kind, low: cells[2 * at]!, high: cells[2 * at + 1]! };
}

function putReading(to: Targets, at: number, { kind, low, high }: Reading): void {
  const { cells } = kind === DOUBLE ? to.double : to.long;
  cells[2 * at] = low;
  cells[2 * at + 1] = high;
  setBit(to.long.validity, at, kind === LONG);
  setBit(to.double.validity, at, kind === DOUBLE);
  setBit(to.json.validity, at, kind === JSON_TEXT);
}

function compareReadings(batch: ColumnBatch, a: Reading, b: Reading): number {
  if (a.kind !== b.kind) return a.kind - b.kind;
  if (a.kind === JSON_TEXT)
    return Buffer.compare(jsonTextAt(batch.jsonText, a.low), jsonTextAt(batch.jsonText, b.low));
  return a.high - b.high || (a.low >>> 0) - (b.low >>> 0);
}

/** Put each run of equal (series, timestamp) in order of value. */
function sortEqualRuns(batch: ColumnBatch, rows: number, to: Targets): void {
  const { timestamps, index } = to;
  const isSame = (a: number, b: number): boolean =>
    timestamps[2 * a] === timestamps[2 * b] &&
    timestamps[2 * a + 1] === timestamps[2 * b + 1] &&
    index[a] === index[b];
  let from = 0;
  for (let end = 1; end <= rows; end++) {
    if (end < rows && isSame(from, end)) continue;
    if (end - from > 1) {
      const run: Reading[] = [];
      for (let at = from; at < end; at++) run.push(readingAt(to, at));
      run.sort((a, b) => compareReadings(batch, a, b));
      for (const [offset, reading] of run.entries()) putReading(to, from + offset, reading);
    }
    from = end;
  }
}

/** Write the JSON texts in row order. */
function fillJsonText(batch: ColumnBatch, rows: number, to: Targets): void {
  const { cells: offsets, text, validity } = to.json;
  const { bytes, ends } = batch.jsonText;
  let end = 0;
  offsets[0] = 0;
  for (let at = 0; at < rows; at++) {
    if (hasBit(validity, at)) {
      const entry = to.long.cells[2 * at]!;
      const until = ends[entry]!;
      // A loop, since most texts are far shorter than what makes a call of `set` pay.
      for (let from = entry === 0 ? 0 : ends[entry - 1]!; from < until; from++) text[end++] = bytes[from]!;
    }
    offsets[at + 1] = end;
  }
}

/** Sort the first `batch.rows` rows into an Arrow stream in the arena. The batch's heap holds just their texts. */
export function sortMeasurements(batch: ColumnBatch, ranks: SeriesRanks, arena: Arena): SortedReadings {
  const { rows } = batch;
  const [longs, doubles, texts] = countKinds(batch, rows);
  const textBytes = jsonTextBytes(batch.jsonText);
  const nullCounts = [0, rows - longs, rows - doubles, rows - texts];
  const layouts = MEASUREMENT_VALUES.map((column, i) => {
    const layout = { column, nullCount: nullCounts[i]! };
    return column.type === 'text' ? { ...layout, textBytes } : layout;
  });
  const { columns, bytes } = openArrowStream(arena, layouts, rows);
  const [timestamp, long, double, json] = columns as [
    ColumnBuffers,
    ColumnBuffers,
    ColumnBuffers,
    ColumnBuffers,
  ];
  const index = rankScratch(arena, rows);
  const to: Targets = { timestamps: timestamp.cells, index, long, double, json };
  const first = firstPositions(batch, rows, ranks.rankOfCode);
  if (scatter(batch, rows, ranks.rankOfCode, first.slice(), to)) sortEqualRuns(batch, rows, to);
  if (texts > 0) fillJsonText(batch, rows, to);
  else json.cells.fill(0);
  const rowsOfRank = first.subarray(1).map((end, rank) => end - first[rank]!);
  const textAt = (row: number) => Buffer.from(jsonTextAt(batch.jsonText, long.cells[2 * row]!)).toString();
  const values = readingValues(rowsOfRank, { timestamps: timestamp.cells, long, double, jsonAt: textAt });
  return { stream: bytes, runs: findRuns(index, timestamp.cells, rows), rowsOfRank, values };
}
