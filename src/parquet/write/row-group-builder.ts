import { DataError } from '../../core/errors.ts';
import type { EncodedRowGroup } from '../../core/model/index.ts';
import { firstRowFrom, microsToIso, ROW_GROUP_TEXT_BYTES } from '../../core/model/index.ts';
import type { EncodeJob } from './encode-job.ts';
import type { Encoder } from './encoder.ts';
import { checkRowGroup, type RowFacts, splitParquetFile } from './parquet-tail.ts';
import type { RankedSeries } from './series-ranks.ts';

/** Gathers rows in time order and seals them into row groups. Memory: two row groups and a batch, used again. */
export interface RowGroupBuilder<Batch> {
  readonly rows: number;
  /** Of the newest row appended and not dropped, sealed or not. */
  readonly lastTimestampMicros: number | undefined;
  /** Copy rows `[fromRow, toRow)`, all or none. Throws DataError `timestamp-order`, `too-many-at-once` (of one instant), and of the dataset's values. */
  append(batch: Batch, fromRow: number, toRow: number): void;
  /** Forget the rows at or after an instant; how many. Throws RangeError when sealed rows are among them. */
  dropFrom(timestampMicros: number): number;
  /** Rows up to the first timestamp change at or after `rowGroupRows` rows, or `rowGroupTextBytes` of text; 0 while it is not known. */
  sealableRows(): number;
  /** Take the first `rows` out at once; sort, encode, check them. Throws FatalError `encode-failed`, `encode-check-failed`, and as the encoder. */
  seal(rows: number): Promise<EncodedRowGroup>;
  /** Give the memory back. Rows being encoded still come out. */
  close(): Promise<void>;
}

/** Rows of one instant: a vessel has some thousands of series, and each seldom two rows at once. */
const MAX_INSTANT_ROWS = 1_048_576;

interface GatheredRows {
  rows: number;
  readonly timestampMicros: Float64Array;
}

export interface RowStore<Batch, Rows extends GatheredRows> {
  /** No rows, with room for `capacity`. */
  open(capacity: number): Rows;
  /** Copy rows of a batch behind those of `rows`, which has room for them. */
  append(rows: Rows, batch: Batch, fromRow: number, toRow: number): void;
  /** Copy rows of `from` behind those of `rows`, which has room for them. */
  copy(rows: Rows, from: Rows, fromRow: number, toRow: number): void;
  /** How many of the first rows come to `bytes` of text together; Infinity where all are fewer. */
  rowsOfText(rows: Rows, bytes: number): number;
  truncate(rows: Rows, count: number): void;
  /** The rows as a job for the encoder, with their series. */
  job(rows: Rows): { job: EncodeJob & { readonly gathered: Rows }; ranked: RankedSeries };
  facts(rows: Rows): RowFacts;
}

/** Most rows of a small vessel-day; the next step; then a whole row group. Memory that is not written costs nothing. */
const CAPACITIES = [4_096, 65_536];

/** When a row group closes: at the first timestamp change after as much of either. */
export interface RowGroupSize {
  readonly rowGroupRows: number;
  readonly rowGroupTextBytes?: number | undefined;
}

function orderFault(micros: number, before: number): DataError {
  return new DataError(
    'timestamp-order',
    `got a row of ${microsToIso(micros)} after one of ${microsToIso(before)}, expected ascending timestamps as the contract promises; report it to the operator of the query service`,
  );
}

export function createRowGroupBuilder<Batch, Rows extends GatheredRows>(
  store: RowStore<Batch, Rows>,
  { rowGroupRows, rowGroupTextBytes = ROW_GROUP_TEXT_BYTES }: RowGroupSize,
  encoder: Encoder,
): RowGroupBuilder<Batch> {
  let gathered = store.open(0);
  let spare: Rows | undefined;
  let isClosed = false;
  let lastSealedMicros: number | undefined;
  /** Rows that a row group has at least, once it is known to be fewer than `rowGroupRows`. */
  let fullRows = Number.POSITIVE_INFINITY;
  /** No timestamp change between the least size of a row group and here. */
  let unchangedTo = rowGroupRows;

  const lastMicros = () =>
    gathered.rows > 0 ? gathered.timestampMicros[gathered.rows - 1] : lastSealedMicros;

  /** Room for one row group and a batch; a long run of equal timestamps may take more. */
  function reserve(rows: number): void {
    const capacity = gathered.timestampMicros.length;
    if (rows <= capacity) return;
    const whole = Math.ceil(rowGroupRows * 1.125);
    const usual = Math.min(CAPACITIES.find((most) => rows <= most) ?? whole, whole);
    const larger = store.open(Math.max(usual, rows > usual ? Math.ceil(rows * 1.25) : 0));
    store.copy(larger, gathered, 0, gathered.rows);
    gathered = larger;
  }

  function checkOrder(fromRow: number, before: number | undefined): void {
    const { timestampMicros, rows } = gathered;
    const last = before ?? Number.NEGATIVE_INFINITY;
    if (fromRow < rows && !(timestampMicros[fromRow]! >= last))
      throw orderFault(timestampMicros[fromRow]!, last);
    // Both from the array: a number that is carried from row to row costs an object a row.
    for (let row = fromRow + 1; row < rows; row++)
      if (!(timestampMicros[row]! >= timestampMicros[row - 1]!))
        throw orderFault(timestampMicros[row]!, timestampMicros[row - 1]!);
  }

  /** A row group never ends within an instant: one without end would be gathered without end. */
  function checkInstant(): void {
    const { timestampMicros, rows } = gathered;
    const from = rows - MAX_INSTANT_ROWS - 1;
    if (from < 0 || timestampMicros[from] !== timestampMicros[rows - 1]) return;
    throw new DataError(
      'too-many-at-once',
      `got more than ${MAX_INSTANT_ROWS} rows at ${microsToIso(timestampMicros[from]!)}, which is the limit; check the service's response for that time, or select fewer series for this job`,
    );
  }

  function takeOut(count: number): Rows {
    const taken = gathered;
    const rest = taken.rows - count;
    // After a complete row group another will come: room for it at once, not by doubling.
    const capacity = count >= rowGroupRows ? taken.timestampMicros.length : rest;
    const room = spare !== undefined && spare.timestampMicros.length >= rest ? spare : store.open(capacity);
    spare = undefined;
    store.truncate(room, 0);
    store.copy(room, taken, count, taken.rows);
    store.truncate(taken, count);
    gathered = room;
    fullRows = Number.POSITIVE_INFINITY;
    unchangedTo = rowGroupRows;
    lastSealedMicros = taken.timestampMicros[count - 1];
    return taken;
  }

  async function encode(rows: Rows): Promise<EncodedRowGroup> {
    const facts = store.facts(rows);
    const { job, ranked } = store.job(rows);
    const answer = await encoder.encode(job);
    if (!isClosed) spare = answer.gathered;
    const split = splitParquetFile(answer.file);
    let readings = 0;
    for (const count of answer.runs.counts) readings += count;
    checkRowGroup(split, facts, readings);
    const { minMicros = 0, maxMicros = 0 } = facts;
    const values = answer.values.map(({ rank, rows }) => ({ timeSeriesId: ranked.ids[rank]!, rows }));
    const { body, tail } = split;
    const runs = { ids: ranked.ids, ...answer.runs };
    return { body, tail, rows: facts.rows, minMicros, maxMicros, runs, values };
  }

  return {
    get rows() {
      return gathered.rows;
    },
    get lastTimestampMicros() {
      return lastMicros();
    },
    append(batch, fromRow, toRow) {
      const before = gathered.rows;
      const last = lastMicros();
      reserve(before + toRow - fromRow);
      try {
        store.append(gathered, batch, fromRow, toRow);
        checkOrder(before, last);
        checkInstant();
      } catch (error) {
        store.truncate(gathered, before);
        throw error;
      }
    },
    dropFrom(timestampMicros) {
      if (lastSealedMicros !== undefined && timestampMicros <= lastSealedMicros)
        throw new RangeError(
          `got ${microsToIso(timestampMicros)}, expected an instant after ${microsToIso(lastSealedMicros)}: rows until then are sealed`,
        );
      const before = gathered.rows;
      const kept = firstRowFrom(gathered, timestampMicros);
      store.truncate(gathered, kept);
      if (kept < fullRows) fullRows = Number.POSITIVE_INFINITY;
      unchangedTo = Math.max(Math.min(rowGroupRows, fullRows), Math.min(unchangedTo, kept));
      return before - kept;
    },
    sealableRows() {
      const { timestampMicros, rows } = gathered;
      if (fullRows === Number.POSITIVE_INFINITY) {
        fullRows = store.rowsOfText(gathered, rowGroupTextBytes);
        unchangedTo = Math.min(unchangedTo, fullRows);
      }
      for (; unchangedTo < rows; unchangedTo++)
        if (timestampMicros[unchangedTo] !== timestampMicros[unchangedTo - 1]) return unchangedTo;
      return 0;
    },
    seal(rows) {
      if (!Number.isInteger(rows) || rows < 1 || rows > gathered.rows)
        return Promise.reject(new RangeError(`got ${rows} rows to seal, expected 1 to ${gathered.rows}`));
      return encode(takeOut(rows));
    },
    async close() {
      isClosed = true;
      spare = undefined;
      gathered = store.open(0);
      lastSealedMicros = undefined;
    },
  };
}
