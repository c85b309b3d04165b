import { readFileSync } from 'node:fs';
import { type ColumnBatch, createSeriesDictionary, DOUBLE, LONG } from '../../../src/core/model/index.ts';
import {
  createReadingDecoder,
  type ReadingDecoderOptions,
} from '../../../src/source/decode/reading-decoder.ts';

/** One row as text, so that −0 and long 5 differ from 0 and double 5: `<id> <micros> long 5`. */
export type RowText = string;

export function formatRow(id: string, micros: number, value: string): RowText {
  return `${id} ${micros} ${value}`;
}

export function formatDouble(value: number): string {
  return `double ${Object.is(value, -0) ? '-0' : String(value)}`;
}

/** Copies the rows of every batch as text. */
export function createRowCollector() {
  const dictionary = createSeriesDictionary();
  const rows: RowText[] = [];
  const batchRows: number[] = [];
  const onBatch = (batch: ColumnBatch) => {
    batchRows.push(batch.rows);
    for (let row = 0; row < batch.rows; row++)
      rows.push(
        formatRow(
          dictionary.ids[batch.seriesCodes[row]!]!,
          batch.timestampMicros[row]!,
          valueText(batch, row),
        ),
      );
  };
  return { dictionary, rows, batchRows, onBatch };
}

function valueText(batch: ColumnBatch, row: number): string {
  if (batch.kinds[row] === LONG) return `long ${batch.longs[row]}`;
  if (batch.kinds[row] === DOUBLE) return formatDouble(batch.doubles[row]!);
  const entry = Number(batch.longs[row]);
  const { bytes, ends } = batch.jsonText;
  const text = Buffer.from(bytes.subarray(entry === 0 ? 0 : ends[entry - 1], ends[entry]));
  return `json ${text.toString('utf8')}`;
}

export type Format = ReadingDecoderOptions['format'];

export interface DecodeOutcome {
  readonly rows: RowText[];
  readonly error: (Error & { code?: string }) | undefined;
}

/** Decode a body given in chunks; rows and the error, if any. */
export function decodeChunks(
  format: Format,
  chunks: Iterable<Uint8Array>,
  options: Partial<ReadingDecoderOptions> = {},
): DecodeOutcome {
  const { dictionary, rows, onBatch } = createRowCollector();
  try {
    const decoder = createReadingDecoder({ format, dictionary, onBatch, ...options });
    for (const chunk of chunks) {
      const reused = Uint8Array.from(chunk);
      decoder.push(reused);
      reused.fill(0x58);
    }
    decoder.end();
    return { rows, error: undefined };
  } catch (error) {
    return { rows, error: error as Error };
  }
}

/** Decode a whole body at once. */
export function decodeBody(
  format: Format,
  body: string | Uint8Array,
  options: Partial<ReadingDecoderOptions> = {},
) {
  return decodeChunks(format, [typeof body === 'string' ? Buffer.from(body) : body], options);
}

/** A golden wire body. */
export function wireBody(name: string): Buffer {
  return readFileSync(new URL(`../../fixtures/wire/${name}`, import.meta.url));
}

/** Cut at the given places (any numbers; taken modulo the length). */
export function cutAt(body: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (body.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => body.subarray(from, places[i] ?? body.length));
}

/** The timestamp of records that are given none. */
export const TIME = '2026-01-05T00:00:00.000000Z';

/** One reading in the contract's own spelling; the arguments are put in as they are. */
export function record(value: string, id = 'a', timestamp = TIME): string {
  return `{"id":"${id}","timestamp":"${timestamp}","value":${value}}`;
}

/** The body of some records in either format. */
export function bodyOf(format: Format, records: readonly string[]): string {
  return format === 'ndjson' ? records.map((text) => `${text}\n`).join('') : `[${records.join(',')}]`;
}

/** The code of the error that a body gives, if any. */
export function codeOf(body: string | Uint8Array, format: Format = 'ndjson'): string | undefined {
  const { error } = decodeBody(format, body);
  return error?.code;
}
