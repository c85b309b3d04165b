import { type ColumnBatch, createColumnBatch, moveRows } from '../../core/model/column-batch.ts';
import { appendJsonText, DOUBLE, JSON_TEXT, LONG } from '../../core/model/index.ts';

const INITIAL_ROWS = 1024;
const encoder = new TextEncoder();

/** Fills a column batch row by row, growing it as needed; `reset` starts the next batch in the same memory. */
export class BatchBuilder {
  #batch: ColumnBatch;

  constructor(capacity: number = INITIAL_ROWS) {
    this.#batch = createColumnBatch(Math.max(1, capacity));
  }

  get batch(): ColumnBatch {
    return this.#batch;
  }

  get rows(): number {
    return this.#batch.rows;
  }

  reset(): void {
    this.#batch.rows = 0;
    this.#batch.jsonText.count = 0;
  }

  reserve(rows: number): void {
    const wanted = this.#batch.rows + rows;
    if (wanted <= this.#batch.timestampMicros.length) return;
    const old = this.#batch;
    const grown = createColumnBatch(Math.max(wanted, old.timestampMicros.length * 2));
    moveRows(old, grown);
    this.#batch = grown;
  }

  appendTime(timestampMicros: number, code: number): void {
    this.#next(timestampMicros, code, LONG);
  }

  appendDouble(timestampMicros: number, code: number, value: number): void {
    const row = this.#next(timestampMicros, code, DOUBLE);
    this.#batch.doubles[row] = value;
  }

  appendLong(timestampMicros: number, code: number, value: bigint): void {
    const row = this.#next(timestampMicros, code, LONG);
    this.#batch.longs[row] = value;
  }

  /** A long of at most 2^53: without BigInt. */
  appendSmallLong(timestampMicros: number, code: number, value: number): void {
    const row = this.#next(timestampMicros, code, LONG);
    this.#batch.words[2 * row] = value | 0;
    this.#batch.words[2 * row + 1] = Math.floor(value / 2 ** 32);
  }

  appendJson(timestampMicros: number, code: number, text: string | Uint8Array): void {
    const row = this.#next(timestampMicros, code, JSON_TEXT);
    const bytes = typeof text === 'string' ? encoder.encode(text) : text;
    this.#batch.words[2 * row] = appendJsonText(this.#batch.jsonText, bytes, 0, bytes.length);
    this.#batch.words[2 * row + 1] = 0;
  }

  #next(timestampMicros: number, code: number, kind: number): number {
    this.reserve(1);
    const row = this.#batch.rows++;
    this.#batch.timestampMicros[row] = timestampMicros;
    this.#batch.seriesCodes[row] = code;
    this.#batch.kinds[row] = kind;
    return row;
  }
}
