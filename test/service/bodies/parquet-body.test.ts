/** Parquet bodies made of readings of every kind, read back by DuckDB. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/model/index.ts';
import { parquetBody, ROW_GROUP_ROWS } from '../../../src/service/bodies/measurements-body.ts';

import { BatchBuilder } from '../../../src/service/data/batch-builder.ts';
import type { DataSource } from '../../../src/service/data/source.ts';
import type { SelectedSeries } from '../../../src/service/query/selection.ts';
import { createTurns } from '../../../src/service/turns.ts';

type Value = bigint | number | string;
interface Reading {
  readonly micros: number;
  readonly code: number;
  readonly value: Value;
}

const dir = mkdtempSync(join(tmpdir(), 'service-parquet-body-'));
const range = { fromMicros: 0, toMicros: 1 };
const work = createTurns(systemClock).begin();
let connection: DuckDBConnection;
let instance: DuckDBInstance;

beforeAll(async () => {
  instance = await DuckDBInstance.create();
  connection = await instance.connect();
});
afterAll(() => {
  connection.closeSync();
  instance.closeSync();
  rmSync(dir, { recursive: true });
});

/** A source of these batches, in the same memory as a real one. */
function sourceOf(batches: Iterable<readonly Reading[]>, onBatch: () => void = () => {}): DataSource {
  return {
    series: [],
    async *read() {
      const builder = new BatchBuilder();
      for (const readings of batches) {
        builder.reset();
        for (const { micros, code, value } of readings)
          if (typeof value === 'bigint') builder.appendLong(micros, code, value);
          else if (typeof value === 'number') builder.appendDouble(micros, code, value);
          else builder.appendJson(micros, code, value);
        onBatch();
        yield { batch: builder.batch, toMicros: 1 };
      }
    },
  };
}

const body = (source: DataSource, ids: readonly string[]) =>
  parquetBody(
    source,
    ids.map((id) => ({ id, domain: 'flat', record: {} }) as SelectedSeries),
    range,
    work,
  );

let files = 0;

/** Under a name of its own: DuckDB takes a file that was replaced within a tick of the disk's clock for the one before. */
async function fileOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const path = join(dir, `body-${files++}.parquet`);
  const sent: Uint8Array[] = [];
  for await (const piece of pieces) sent.push(piece);
  writeFileSync(path, Buffer.concat(sent));
  return path;
}

/** Doubles as bits: `-0.0` is not `0.0`. */
async function rowsOf(path: string): Promise<unknown[][]> {
  const reader = await connection.runAndReadAll(
    `SELECT "timestamp", id, long_value, double_value, signbit(double_value), json_value
     FROM read_parquet('${path}', file_row_number = true) ORDER BY file_row_number`,
  );
  return reader.getRows();
}

const expected = ({ micros, code, value }: Reading, ids: readonly string[]) => [
  BigInt(Math.floor(micros / 1000)),
  ids[code],
  typeof value === 'bigint' ? value : null,
  typeof value === 'number' ? value + 0 : null,
  typeof value === 'number' ? Object.is(value, -0) || value < 0 : null,
  typeof value === 'string' ? value : null,
];

describe('a Parquet body', () => {
  test('holds every reading as it is, in its order', async () => {
    const value = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(0, -0),
      fc.json(),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 40 }),
        fc.array(
          fc.array(fc.record({ micros: fc.integer({ min: -5_000_000, max: 4e15 }), code: fc.nat(), value }), {
            maxLength: 60,
          }),
          { maxLength: 4 },
        ),
        fc.boolean(),
        async (ids, drawn, sameInstant) => {
          // A source's rows ascend, and what the footer says of times is of the first and the last.
          const micros = drawn
            .flatMap((batch) => batch.map((reading) => reading.micros))
            .sort((a, b) => a - b);
          let row = 0;
          const batches = drawn.map((batch) =>
            batch.map(({ code, value }) => ({
              micros: sameInstant ? 1_767_571_200_000_999 : micros[row++]!,
              code: code % ids.length,
              value,
            })),
          );
          const found = await rowsOf(await fileOf(body(sourceOf(batches), ids)));
          const wanted = batches.flat().map((reading) => expected(reading, ids));
          expect(found.map((row) => row.map((cell) => (cell === 0 ? 0 : cell)))).toEqual(
            wanted.map((row) => row.map((cell) => (cell === 0 ? 0 : cell))),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  test('is sent row group by row group, each described by the footer', async () => {
    const ids = Array.from({ length: 300 }, (_, n) => `IMO9321483/Tag ${n % 290}`);
    let batches = 0;
    function* readings() {
      for (let at = 0; at < 3 * ROW_GROUP_ROWS + 1; at += 10_000)
        yield Array.from({ length: Math.min(10_000, 3 * ROW_GROUP_ROWS + 1 - at) }, (_, n) => ({
          micros: 1_767_571_200_000_000 + (at + n) * 1_000,
          code: (at + n) % 300,
          value: (at + n) % 3 === 0 ? BigInt(at + n) : (at + n) % 3 === 1 ? (at + n) / 8 : `{"n":${at + n}}`,
        }));
    }
    const pieces = body(
      sourceOf(readings(), () => batches++),
      ids,
    );
    const sent: Uint8Array[] = [];
    for await (const piece of pieces) {
      sent.push(piece);
      // The first after the magic: one row group has been read, and no more.
      if (sent.length === 2) expect(batches).toBe(Math.ceil(ROW_GROUP_ROWS / 10_000));
    }
    const path = join(dir, 'groups.parquet');
    writeFileSync(path, Buffer.concat(sent));
    const groups = await connection.runAndReadAll(
      `SELECT row_group_id, row_group_num_rows, stats_min_value, stats_max_value FROM parquet_metadata('${path}')
       WHERE path_in_schema = 'timestamp' ORDER BY 1`,
    );
    const first = 1_767_571_200_000;
    expect(groups.getRows()).toEqual(
      [0, 1, 2, 3].map((n) => {
        const from = n * ROW_GROUP_ROWS;
        const rows = n < 3 ? ROW_GROUP_ROWS : 1;
        return [BigInt(n), BigInt(rows), String(first + from), String(first + from + rows - 1)];
      }),
    );
    const sums = await connection.runAndReadAll(
      `SELECT count(*), sum(long_value), sum(double_value * 8), count(json_value), count(DISTINCT id),
              bool_and(id = 'IMO9321483/Tag ' || (("timestamp" - ${first}) % 300 % 290)) FROM read_parquet('${path}')`,
    );
    const total = 3 * ROW_GROUP_ROWS + 1;
    const sumOf = (rest: number) => {
      const count = Math.ceil((total - rest) / 3);
      return (3 * count * (count - 1)) / 2 + rest * count;
    };
    expect(sums.getRows()).toEqual([
      [BigInt(total), BigInt(sumOf(0)), sumOf(1), BigInt(Math.ceil((total - 2) / 3)), 290n, true],
    ]);
  });

  test('ends a row group early where its JSON is long', async () => {
    const text = JSON.stringify('x'.repeat(100_000));
    const batches = Array.from({ length: 30 }, (_, batch) =>
      Array.from({ length: 10 }, (_, n) => ({ micros: (batch * 10 + n) * 1_000, code: 0, value: text })),
    );
    const path = await fileOf(body(sourceOf(batches), ['a']));
    const found = await connection.runAndReadAll(
      `SELECT max(num_row_groups), (SELECT count(*) FROM read_parquet('${path}') WHERE length(json_value) = 100002)
       FROM parquet_file_metadata('${path}')`,
    );
    expect(found.getRows()).toEqual([[15n, 300n]]);
  });
});
