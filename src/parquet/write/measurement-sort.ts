import { type ColumnBatch, JSON_TEXT, jsonTextAt } from '../../core/model/index.ts';
import { createKindRuns, type KindRuns, startRun } from './pages.ts';

/**
 * Readings in order of (time_series_id, timestamp, value): a stable counting sort by series leaves only runs of equal times. Longs come first, then
 * doubles by their bits as a signed integer, then texts by bytes; so the result depends on the multiset of readings alone.
 */
export interface SortedReadings {
  readonly rows: number;
  readonly micros: Float64Array;
  /** Two little-endian words a row; the entry in the batch's heap in the first where the row is JSON. */
  readonly cells: Int32Array;
  readonly first: Int32Array;
  /** Rows of one kind of value that follow each other, whatever their series. */
  readonly kinds: KindRuns;
}

/** Memory for the rows of one row group, used again for the next. It only grows, to the largest seen. */
interface SortScratch {
  micros: Float64Array;
  cells: Int32Array;
  longs: BigInt64Array;
}

export function createSortScratch(): SortScratch {
  return { micros: new Float64Array(0), cells: new Int32Array(0), longs: new BigInt64Array(0) };
}

/** Sort the first `batch.rows` rows. What comes back is good until the scratch is used again. */
export function sortMeasurements(
  batch: ColumnBatch,
  rankOfCode: Int32Array,
  scratch: SortScratch,
): SortedReadings {
  const { rows } = batch;
  if (scratch.micros.length < rows) {
    scratch.micros = new Float64Array(rows);
    scratch.cells = new Int32Array(2 * rows);
    scratch.longs = new BigInt64Array(scratch.cells.buffer);
  }
  const first = new Int32Array(rankOfCode.length + 1);
  const kindsOfRank = new Uint8Array(rankOfCode.length);
  countRanks(batch, rankOfCode, first, kindsOfRank);
  for (let rank = 0; rank < rankOfCode.length; rank++) first[rank + 1]! += first[rank]!;
  const mayBeEqual = scatter(batch, rankOfCode, first.slice(), scratch);
  const kindOfRow = kindsOfRank.some(isMixed) ? kindsInOrder(batch, rankOfCode, first) : undefined;
  const sorting = { batch, scratch, first, kindsOfRank, kindOfRow };
  if (mayBeEqual)
    for (let rank = 0; rank < rankOfCode.length; rank++)
      sortEqualTimes(sorting, first[rank]!, first[rank + 1]!, rank);
  return {
    rows,
    micros: scratch.micros,
    cells: scratch.cells.subarray(0, 2 * rows),
    first,
    kinds: kindRuns(sorting, rows),
  };
}

const isMixed = (kinds: number): boolean => (kinds & (kinds - 1)) !== 0;

const onlyKind = (kinds: number): number => 31 - Math.clz32(kinds);

function countRanks(
  { rows, seriesCodes, kinds }: ColumnBatch,
  rankOfCode: Int32Array,
  first: Int32Array,
  kindsOfRank: Uint8Array,
): void {
  for (let row = 0; row < rows; row++) {
    const rank = rankOfCode[seriesCodes[row]!]!;
    first[rank + 1]!++;
    kindsOfRank[rank]! |= 1 << kinds[row]!;
  }
}

/** True where a row may have series and time of the one before it. BigInts are copied as bits, once this is compiled. */
function scatter(
  { rows, timestampMicros, seriesCodes, longs }: ColumnBatch,
  rankOfCode: Int32Array,
  next: Int32Array,
  { micros: toMicros, longs: toLongs }: SortScratch,
): boolean {
  let mayBeEqual = false;
  for (let row = 0; row < rows; row++) {
    const at = next[rankOfCode[seriesCodes[row]!]!]!++;
    const micros = timestampMicros[row]!;
    if (at > 0 && toMicros[at - 1] === micros) mayBeEqual = true;
    toMicros[at] = micros;
    toLongs[at] = longs[row]!;
  }
  return mayBeEqual;
}

function kindsInOrder({ rows, seriesCodes, kinds }: ColumnBatch, rankOfCode: Int32Array, first: Int32Array) {
  const next = first.slice();
  const kindOfRow = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) kindOfRow[next[rankOfCode[seriesCodes[row]!]!]!++] = kinds[row]!;
  return kindOfRow;
}

interface Sorting {
  readonly batch: ColumnBatch;
  readonly scratch: SortScratch;
  readonly first: Int32Array;
  readonly kindsOfRank: Uint8Array;
  readonly kindOfRow: Uint8Array | undefined;
}

interface Reading {
  readonly kind: number;
  readonly bits: bigint;
}

/** Put each run of equal times among rows `[from, to)` of a series in order of value. */
function sortEqualTimes(sorting: Sorting, from: number, to: number, rank: number): void {
  const { micros, longs } = sorting.scratch;
  const { kindOfRow } = sorting;
  for (let start = from, at = from + 1; at <= to; at++) {
    if (at < to && micros[at] === micros[start]) continue;
    if (at - start > 1) {
      const kindAt = (row: number) => kindOfRow?.[row] ?? onlyKind(sorting.kindsOfRank[rank]!);
      const run: Reading[] = [];
      for (let row = start; row < at; row++) run.push({ kind: kindAt(row), bits: longs[row]! });
      run.sort((a, b) => compareReadings(sorting.batch, a, b));
      for (const [offset, { kind, bits }] of run.entries()) {
        longs[start + offset] = bits;
        if (kindOfRow !== undefined) kindOfRow[start + offset] = kind;
      }
    }
    start = at;
  }
}

function compareReadings({ jsonText }: ColumnBatch, a: Reading, b: Reading): number {
  if (a.kind !== b.kind) return a.kind - b.kind;
  if (a.kind === JSON_TEXT)
    return Buffer.compare(jsonTextAt(jsonText, Number(a.bits)), jsonTextAt(jsonText, Number(b.bits)));
  return a.bits < b.bits ? -1 : a.bits > b.bits ? 1 : 0;
}

function kindRuns({ first, kindsOfRank, kindOfRow }: Sorting, rows: number): KindRuns {
  const runs = createKindRuns();
  for (const [rank, kinds] of kindsOfRank.entries()) {
    const [from, to] = [first[rank]!, first[rank + 1]!];
    if (from === to) continue;
    if (kindOfRow === undefined || !isMixed(kinds)) startRun(runs, from, onlyKind(kinds));
    else for (let row = from; row < to; row++) startRun(runs, row, kindOfRow[row]!);
  }
  runs.rows = rows;
  return runs;
}
