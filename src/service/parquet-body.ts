/**
 * Measurements as one Parquet file. A Parquet file ends with what it holds, so the whole answer is written to a
 * scratch file first and then sent; memory stays bounded because DuckDB spills.
 */
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api';
import type { ColumnBatch, TimeRange } from '../model/index.ts';
import { DOUBLE, jsonTextAt, LONG, MICROS_PER_MILLI } from '../model/index.ts';
import type { ParquetEncoder } from './answers.ts';
import type { Engine } from './data/engine.ts';
import { sqlText } from './data/engine.ts';
import type { DataSource } from './data/source.ts';
import type { SelectedSeries } from './selection.ts';

/** Rows of a DuckDB data chunk. */
const CHUNK_ROWS = 2048;
const SEND_BYTES = 256 * 1024;
const decoder = new TextDecoder();
let fileNumber = 0;

/** An encoder that writes with the engine. */
export function createParquetEncoder(engine: Engine): ParquetEncoder {
  return async function* encode(source, series, range) {
    await using opened = await engine.connect();
    const { connection, scratchDir } = opened;
    const path = join(scratchDir, `answer-${++fileNumber}.parquet`);
    try {
      await connection.run(
        'CREATE TEMP TABLE rows (code INTEGER, ms BIGINT, long BIGINT, double DOUBLE, json VARCHAR)',
      );
      await connection.run('CREATE TEMP TABLE ids (list VARCHAR[])');
      const { listValue, LIST, VARCHAR } = await import('@duckdb/node-api');
      const ids = listValue(series.map(({ id }) => id));
      await connection.run('INSERT INTO ids VALUES ($1)', [ids], [LIST(VARCHAR)]);
      await fill(await connection.createAppender('rows'), source, series, range);
      const options = (await hasNegativeZero(connection)) ? ', DICTIONARY_SIZE_LIMIT 0' : '';
      await connection.run(
        `COPY (SELECT ms AS "timestamp", (SELECT list FROM ids)[code + 1] AS id,
                      long AS long_value, double AS double_value, json AS json_value FROM rows)
         TO ${sqlText(path)} (FORMAT parquet${options})`,
      );
      await connection.run('DROP TABLE rows');
      yield* createReadStream(path, { highWaterMark: SEND_BYTES });
    } finally {
      await rm(path, { force: true });
    }
  };
}

/** DuckDB's dictionaries take -0.0 and 0.0 for one value, and the sign of the first for all. */
async function hasNegativeZero(connection: DuckDBConnection): Promise<boolean> {
  const found = await connection.runAndReadAll(
    'SELECT count(*) > 0 FROM rows WHERE double = 0 AND signbit(double)',
  );
  return found.getRows()[0]![0] === true;
}

async function fill(
  appender: DuckDBAppender,
  source: DataSource,
  series: readonly SelectedSeries[],
  range: TimeRange,
): Promise<void> {
  const { BIGINT, DOUBLE: DOUBLE_TYPE, DuckDBDataChunk, INTEGER, VARCHAR } = await import('@duckdb/node-api');
  const types = [INTEGER, BIGINT, BIGINT, DOUBLE_TYPE, VARCHAR];
  const records = series.map(({ record }) => record);
  for await (const { batch } of source.read(records, range, { values: true, interleaved: true })) {
    for (let from = 0; from < batch.rows; from += CHUNK_ROWS) {
      const to = Math.min(batch.rows, from + CHUNK_ROWS);
      const chunk = DuckDBDataChunk.create(types, to - from);
      chunk.setColumns(columnsOf(batch, from, to));
      appender.appendDataChunk(chunk);
    }
    appender.flushSync();
  }
  appender.closeSync();
}

/** Rows `[from, to)` as code, milliseconds (rounded down) and the three value columns. */
function columnsOf(batch: ColumnBatch, from: number, to: number) {
  const codes: number[] = [];
  const times: bigint[] = [];
  const longs: (bigint | null)[] = [];
  const doubles: (number | null)[] = [];
  const texts: (string | null)[] = [];
  for (let row = from; row < to; row++) {
    const kind = batch.kinds[row]!;
    codes.push(batch.seriesCodes[row]!);
    times.push(BigInt(Math.floor(batch.timestampMicros[row]! / MICROS_PER_MILLI)));
    longs.push(kind === LONG ? batch.longs[row]! : null);
    doubles.push(kind === DOUBLE ? batch.doubles[row]! : null);
    texts.push(
      kind === LONG || kind === DOUBLE
        ? null
        : decoder.decode(jsonTextAt(batch.jsonText, batch.words[2 * row]!)),
    );
  }
  return [codes, times, longs, doubles, texts];
}
