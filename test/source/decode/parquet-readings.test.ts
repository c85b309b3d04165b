import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import {
  type DataType,
  Dictionary,
  Float64,
  Int32,
  Int64,
  LargeUtf8,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import * as parquetWasm from 'parquet-wasm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DataError } from '../../../src/core/errors.ts';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { decodeParquetReadings } from '../../../src/source/decode/parquet-readings.ts';
import { arrowBody } from './arrow-body.ts';
import { createRowCollector } from './decoded-rows.ts';

const START_MILLIS = Date.UTC(2026, 0, 5);

let folder: string;
let duckdb: DuckDBInstance;
let connection: DuckDBConnection;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parquet-readings-'));
  duckdb = await DuckDBInstance.create(':memory:', { threads: '1' });
  connection = await duckdb.connect();
});
afterAll(() => {
  connection.closeSync();
  duckdb.closeSync();
  rmSync(folder, { recursive: true, force: true });
});

/** Parquet of a query, written by DuckDB. */
async function parquetOf(query: string, options = 'format parquet'): Promise<Buffer> {
  const file = join(folder, 'body.parquet');
  await connection.run(`copy (${query}) to '${file}' (${options})`);
  return readFileSync(file);
}

interface Cells {
  readonly timestamp?: string;
  readonly id?: string;
  readonly long?: string;
  readonly double?: string;
  readonly json?: string;
}

/** A query for the contract's rows; cells are SQL. */
function rowsOf(rows: readonly Cells[], types: { timestamp?: string } = {}): string {
  const values = rows.map(
    ({ timestamp = String(START_MILLIS), id = "'a'", long = 'null', double = 'null', json = 'null' }) =>
      `(${timestamp}, ${id}, ${long}, ${double}, ${json})`,
  );
  return `select t::${types.timestamp ?? 'bigint'} as timestamp, i::varchar as id, l::bigint as long_value,
    d::double as double_value, j::varchar as json_value from (values ${values.join(',')}) v(t, i, l, d, j)`;
}

async function decode(bytes: Uint8Array, options = {}) {
  const collector = createRowCollector();
  const error = await decodeParquetReadings(bytes, collector.dictionary, collector.onBatch, options).then(
    () => undefined,
    (thrown: Error & { code?: string }) => thrown,
  );
  return { ...collector, error };
}

describe('values', () => {
  it('come out exactly', async () => {
    const body = await parquetOf(
      rowsOf([
        { long: '9223372036854775807' },
        { long: "'-9223372036854775808'" },
        { id: '\'Ærø "Q"/1\'', double: '0.1' },
        { timestamp: String(START_MILLIS + 1), double: "'-0.0'::double" },
        { timestamp: String(START_MILLIS + 1), json: `'{"lat": 55.1, "é":[]}'` },
        { timestamp: String(START_MILLIS + 1), json: `'"Stand by"'` },
        { timestamp: String(START_MILLIS + 1), json: "'123456789012345678901234567890'" },
      ]),
    );
    const { rows, error } = await decode(body);
    expect(error).toBeUndefined();
    expect(rows).toEqual([
      `a ${START_MILLIS}000 long 9223372036854775807`,
      `a ${START_MILLIS}000 long -9223372036854775808`,
      `Ærø "Q"/1 ${START_MILLIS}000 double 0.1`,
      `a ${START_MILLIS + 1}000 double -0`,
      `a ${START_MILLIS + 1}000 json {"lat": 55.1, "é":[]}`,
      `a ${START_MILLIS + 1}000 json "Stand by"`,
      `a ${START_MILLIS + 1}000 json 123456789012345678901234567890`,
    ]);
  });

  it.each([
    ['bigint', String(START_MILLIS + 1), 1000],
    ['timestamp_ms', "'2026-01-05 00:00:00.001'", 1000],
    ['timestamp', "'2026-01-05 00:00:00.000007'", 7],
    ['timestamptz', "'2026-01-05 01:00:00.000007+01'", 7],
    ['timestamp_ns', "'2026-01-05 00:00:00.000007'", 7],
  ])('of time come as %s', async (type, timestamp, micros) => {
    const { rows, error } = await decode(
      await parquetOf(rowsOf([{ timestamp, long: '1' }], { timestamp: type })),
    );
    expect(error).toBeUndefined();
    expect(rows).toEqual([`a ${START_MILLIS * 1000 + micros} long 1`]);
  });
});

/** Many rows: series interleave, ids repeat, every kind of value. */
const MANY = `select ${START_MILLIS} + range // 3 as timestamp, 'IMO9321483/tag ' || range % 97 as id,
  case when range % 3 = 0 then range + 9007199254740993 end as long_value,
  case when range % 3 = 1 then range / 8 end as double_value,
  case when range % 3 = 2 then '{"n":' || range || '}' end as json_value from range(50000)`;

function manyRow(n: number): string {
  const head = `IMO9321483/tag ${n % 97} ${START_MILLIS + Math.floor(n / 3)}000`;
  if (n % 3 === 0) return `${head} long ${BigInt(n) + 9007199254740993n}`;
  return n % 3 === 1 ? `${head} double ${n / 8}` : `${head} json {"n":${n}}`;
}

describe('bodies', () => {
  it.each([
    ['one row group', 'format parquet', {}],
    ['many row groups', 'format parquet, row_group_size 2048', { batchRows: 5_000 }],
    ['batches that end where the body ends', 'format parquet', { batchRows: 1_000 }],
    [
      'zstd and plain strings',
      'format parquet, compression zstd, dictionary_size_limit 1',
      { batchRows: 7_777 },
    ],
    ['version 2 encodings', 'format parquet, parquet_version v2', {}],
  ])('with %s give every row once, in order', async (_name, copyOptions, options) => {
    const { rows, dictionary, error } = await decode(await parquetOf(MANY, copyOptions), options);
    expect(error).toBeUndefined();
    expect(rows).toHaveLength(50_000);
    for (let n = 0; n < 50_000; n++) if (rows[n] !== manyRow(n)) expect(rows[n]).toBe(manyRow(n));
    expect(dictionary.ids).toHaveLength(97);
  });

  it('may have other columns and another order of columns', async () => {
    const query = `select json_value, 1 as extra, double_value, id, long_value, timestamp from (${rowsOf([{ long: '1' }])})`;
    expect((await decode(await parquetOf(query))).rows).toEqual([`a ${START_MILLIS}000 long 1`]);
  });

  it.each<[string, (dictionaryId: number) => DataType]>([
    ['dictionaries', (dictionaryId) => new Dictionary(new Utf8(), new Int32(), dictionaryId)],
    ['strings', () => new Utf8()],
    ['large strings', () => new LargeUtf8()],
  ])('whose writer left an Arrow schema with %s give the same', async (_name, textType) => {
    const table = new Table({
      timestamp: vectorFromArray([0n, 0n, 1n], new Int64()),
      id: vectorFromArray(['b', 'a', 'b'], textType(1)),
      long_value: vectorFromArray([1n, null, null], new Int64()),
      double_value: vectorFromArray([null, 1.5, null], new Float64()),
      json_value: vectorFromArray([null, null, '"é"'], textType(2)),
    });
    const body = parquetWasm.writeParquet(parquetWasm.Table.fromIPCStream(tableToIPC(table, 'stream')));
    const { rows, error } = await decode(body);
    expect(error).toBeUndefined();
    expect(rows).toEqual(['b 0 long 1', 'a 0 double 1.5', 'b 1000 json "é"']);
  });

  it.each<[string, string]>([
    ['snappy', 'compression snappy'],
    ['gzip', 'compression gzip'],
    ['brotli', 'compression brotli'],
    ['LZ4', 'compression lz4_raw'],
    ['nothing', 'compression uncompressed'],
  ])('compressed with %s give the same', async (_name, copyOptions) => {
    const query = `from (${MANY}) limit 5000`;
    const { rows, error } = await decode(await parquetOf(query, `format parquet, ${copyOptions}`));
    expect(error).toBeUndefined();
    expect(rows).toEqual(Array.from({ length: 5_000 }, (_, n) => manyRow(n)));
  });

  describe.each([false, true])('of arrow-rs, version 2 of pages: %s', (isVersion2) => {
    const arrowRows = Array.from({ length: 10_000 }, (_, n) => ({
      millis: BigInt(START_MILLIS + Math.floor(n / 3)),
      id: `IMO9321483/tag ${n % 97}`,
      value: [BigInt(n) + 9007199254740993n, n / 8, `{"n":${n}}`][n % 3]!,
    }));
    const expected = Array.from({ length: 10_000 }, (_, n) => manyRow(n));
    const [plain, delta] = ['PLAIN', 'DELTA_BINARY_PACKED'] as const;

    it.each<[string, Parameters<typeof arrowBody>[1]]>([
      ['dictionaries', {}],
      ['small pages', { pageBytes: 512 }],
      ['plain values', { encodings: { timestamp: plain, id: plain, json_value: plain } }],
      ['deltas', { encodings: { timestamp: delta, long_value: delta, id: 'DELTA_LENGTH_BYTE_ARRAY' } }],
      ['prefixes', { encodings: { id: 'DELTA_BYTE_ARRAY', json_value: 'DELTA_BYTE_ARRAY' } }],
      ['split bytes', { encodings: { double_value: 'BYTE_STREAM_SPLIT', long_value: 'BYTE_STREAM_SPLIT' } }],
      ['zstd', { compression: 'ZSTD', pageBytes: 4_096 }],
    ])('with %s give the same', async (_name, layout) => {
      const { rows, error } = await decode(arrowBody(arrowRows, { ...layout, isVersion2 }));
      expect(error).toBeUndefined();
      expect(rows).toEqual(expected);
    });
  });

  it('with numbers of all sizes as deltas give the same', async () => {
    const numbers = [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 5n, 2n ** 32n, -(2n ** 32n) - 1n, 2n ** 53n + 1n];
    const all = Array.from({ length: 500 }, (_, n) => numbers[(n * n + 3 * n) % 8]! ^ BigInt(n % 2));
    const arrowRows = all.map((value, n) => ({ millis: BigInt(n + 1), id: 'a', value }));
    const body = arrowBody(arrowRows, { encodings: { long_value: 'DELTA_BINARY_PACKED' } });
    expect((await decode(body)).rows).toEqual(all.map((value, n) => `a ${n + 1}000 long ${value}`));
  });

  it('without rows give none', async () => {
    const { rows, error } = await decode(await parquetOf(`${rowsOf([{ long: '1' }])} limit 0`));
    expect({ rows, error }).toEqual({ rows: [], error: undefined });
  });

  it('wait for each batch to be taken', async () => {
    const events: string[] = [];
    await decodeParquetReadings(
      await parquetOf(MANY),
      createSeriesDictionary(),
      async ({ rows }) => {
        events.push(`take ${rows}`);
        await new Promise((resolve) => setImmediate(resolve));
        events.push('done');
      },
      { batchRows: 20_000 },
    );
    expect(events).toEqual(['take 20000', 'done', 'take 20000', 'done', 'take 10000', 'done']);
  });
});

describe('faults', () => {
  it.each([
    ['not-one-value', [{ long: '1' }, { long: '1', double: '1' }]],
    ['not-one-value', [{ long: '1' }, {}]],
    ['missing-field', [{ long: '1' }, { id: 'null', long: '1' }]],
    ['missing-field', [{ long: '1' }, { timestamp: 'null', long: '1' }]],
    ['out-of-order', [{ long: '1' }, { timestamp: String(START_MILLIS - 1), long: '1' }]],
    ['bad-timestamp', [{ long: '1' }, { timestamp: '99999999999999', long: '1' }]],
    ['malformed-json', [{ long: '1' }, { json: '\'{"a":}\'' }]],
    ['malformed-json', [{ long: '1' }, { json: "'Stand by'" }]],
  ])('of a row are told as %s with its number, after the rows before it: %j', async (code, cells) => {
    const { rows, error } = await decode(await parquetOf(rowsOf(cells)));
    expect(error).toBeInstanceOf(DataError);
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(/^row 2 of the Parquet body: found .*, expected .*;/);
    expect(rows).toEqual([`a ${START_MILLIS}000 long 1`]);
  });

  it('of nanoseconds are told', async () => {
    const cells = [{ timestamp: "'2026-01-05 00:00:00.000000001'", long: '1' }];
    const { error } = await decode(await parquetOf(rowsOf(cells, { timestamp: 'timestamp_ns' })));
    expect(error?.code).toBe('timestamp-too-fine');
  });

  it.each([
    ['no such column', 'select * exclude (json_value)'],
    ["'long_value': found type", 'select * replace (long_value::integer as long_value)'],
    ["'double_value': found type", 'select * replace (double_value::float as double_value)'],
    ["'timestamp': found type", "select * replace ('x' as timestamp)"],
    ["'id': found type", 'select * replace (7 as id)'],
  ])('of the columns are told: %s', async (message, select) => {
    const { error } = await decode(await parquetOf(`${select} from (${rowsOf([{ long: '1' }])})`));
    expect(error?.code).toBe('bad-parquet');
    expect(error?.message).toContain(message);
  });

  it('of an id that is no UTF-8 are told', async () => {
    const body = await parquetOf(
      rowsOf([{ id: "'needle'", long: '1' }]),
      'format parquet, compression uncompressed',
    );
    for (let at = body.indexOf('needle'); at >= 0; at = body.indexOf('needle', at + 1)) body[at] = 0xff;
    const { rows, error } = await decode(body);
    expect(error).toBeInstanceOf(DataError);
    expect(error?.code).toBe('invalid-utf8');
    expect(rows).toEqual([]);
  });

  it('of a body cut anywhere are told', async () => {
    const body = await parquetOf(rowsOf([{ long: '1' }, { json: "'null'" }]));
    for (let length = 0; length < body.length; length += 7) {
      const { rows, error } = await decode(body.subarray(0, length));
      expect(error).toBeInstanceOf(DataError);
      expect(error?.code).toBe('body-truncated');
      expect(rows).toEqual([]);
    }
  });

  it('of a damaged body are told', async () => {
    const body = await parquetOf(MANY);
    body.fill(0x07, 1000, 9000);
    expect((await decode(body)).error?.code).toBe('bad-parquet');
  });
});
