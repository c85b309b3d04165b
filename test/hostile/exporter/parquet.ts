/** Parquet from the peer: cut, false, and small files that stand for a lot. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Category, HostileInput } from '../input.ts';
import { altered } from './answers.ts';
import type { ExporterFace, JobFile } from './exporter-face.ts';
import { READINGS } from './exporter-face.ts';
import type { PeerOptions } from './held.ts';
import { peer } from './held.ts';

const PARQUET: JobFile = { ...READINGS, transport: 'parquet' };
const TYPE = 'application/vnd.apache.parquet';
const START = Date.UTC(2026, 0, 5);

/** The columns of the contract, as a query over `range(rows)`; each may be another expression. */
function rows(count: number, more: Partial<Record<string, string>> = {}): string {
  const columns: Record<string, string> = {
    timestamp: `${START}::bigint`,
    id: `'x'`,
    long_value: '1::bigint',
    double_value: 'null::double',
    json_value: 'null::varchar',
    ...more,
  };
  const list = Object.entries(columns).map(([name, sql]) => `${sql} as ${name}`);
  return `select ${list.join(', ')} from range(${count})`;
}

/** Queries whose Parquet is small, or is not what the contract says. */
const WRITTEN: readonly (readonly [string, string, string?])[] = [
  ['5 million rows of one value', rows(5_000_000), 'row_group_size 5000000'],
  ['2 million rows in row groups of 2048', rows(2_000_000), 'row_group_size 2048'],
  [
    'a million strings of 100 kB',
    rows(1_000_000, { long_value: 'null::bigint', json_value: `'"' || repeat('x', 100000) || '"'` }),
    'row_group_size 1000000',
  ],
  ['a million ids of 10 kB', rows(1_000_000, { id: `repeat('x', 10000)` }), 'row_group_size 1000000'],
  [
    'a string of 100 MB',
    rows(1, { long_value: 'null::bigint', json_value: `'"' || repeat('x', 100000000) || '"'` }),
  ],
  ['100,000 ids', rows(100_000, { id: `'series ' || range` })],
  ['no rows', rows(0)],
  ['no values', rows(10, { long_value: 'null::bigint' })],
  ['two values', rows(10, { double_value: '1.5::double' })],
  ['null for a time', rows(10, { timestamp: 'null::bigint' })],
  ['null for an id', rows(10, { id: 'null::varchar' })],
  ['times that go back', rows(10, { timestamp: `${START}::bigint - range` })],
  ['the year 292278994', rows(10, { timestamp: '9223372036854775807::bigint' })],
  ['negative times', rows(10, { timestamp: '-1::bigint' })],
  ['times as text', rows(10, { timestamp: `'2026-01-05T00:00:00Z'` })],
  ['times as doubles', rows(10, { timestamp: `'nan'::double` })],
  ['ids as numbers', rows(10, { id: '5::bigint' })],
  ['ids as lists', rows(10, { id: `['a','b']` })],
  ['longs as decimals', rows(10, { long_value: '1::decimal(38,10)' })],
  ['JSON that is none', rows(10, { long_value: 'null::bigint', json_value: `'{'` })],
  ['a thousand columns', `select ${Array.from({ length: 1_000 }, (_, i) => `${i} as c${i}`).join()}`],
  ['columns with hostile names', `select 1 as "${'x'.repeat(5_000)}", 2 as "__proto__", 3 as "a\u001b[31m"`],
  ['no columns of ours', 'select 1 as x'],
];

/** Bytes of a body made from an honest one. */
const CUT: readonly (readonly [string, (body: Buffer) => Buffer])[] = [
  ['nothing', () => Buffer.alloc(0)],
  ['magic alone', () => Buffer.from('PAR1')],
  ['magic twice', () => Buffer.from('PAR1PAR1')],
  ['magic around zeros', () => Buffer.from('PAR1\0\0\0\0\0\0\0\0PAR1', 'latin1')],
  ['cut in half', (body) => body.subarray(0, body.length >> 1)],
  ['without its head', (body) => body.subarray(100)],
  ['a footer of 4 GB', (body) => withFooterLength(body, 0xffff_fff0)],
  ['a footer of 0 bytes', (body) => withFooterLength(body, 0)],
  ['a footer longer than the file', (body) => withFooterLength(body, body.length + 1)],
  ['encrypted magic', (body) => Buffer.concat([body.subarray(0, -4), Buffer.from('PARE')])],
  ['text', () => Buffer.from('{"id":"x"}\n')],
  ['twice', (body) => Buffer.concat([body, body])],
  ['200 bytes of zeros in the middle', (body) => zeroed(body, body.length >> 1, 200)],
  ...Array.from(
    { length: 12 },
    (_, i) =>
      [`bits of byte ${i}/12 of the footer flipped`, (body: Buffer) => flippedFooter(body, i / 12)] as const,
  ),
];

/** A page has no checksum that must be there: what is flipped may be another value, which is then the source's. */
const FLIPPED_PAGES = Array.from({ length: 6 }, (_, i): [string, (body: Buffer) => Buffer] => [
  `bits of byte ${i}/6 of the pages flipped`,
  (body) => flippedAt(body, 4 + Math.floor(((body.length - footerLength(body) - 12) * i) / 6)),
]);

const footerLength = (body: Buffer) => body.readUInt32LE(body.length - 8);

function withFooterLength(body: Buffer, length: number): Buffer {
  const copy = Buffer.from(body);
  copy.writeUInt32LE(length, copy.length - 8);
  return copy;
}

function flippedAt(body: Buffer, at: number): Buffer {
  const copy = Buffer.from(body);
  copy[at] = copy[at]! ^ 0xff;
  return copy;
}

function flippedFooter(body: Buffer, share: number): Buffer {
  const length = footerLength(body);
  return flippedAt(body, body.length - 8 - length + Math.floor(length * share));
}

function zeroed(body: Buffer, at: number, length: number): Buffer {
  return Buffer.from(body).fill(0, at, at + length);
}

/** Files written by DuckDB, each once. */
const written = new Map<string, Promise<Buffer>>();

function parquetOf(query: string, options: string): Promise<Buffer> {
  const known = written.get(query) ?? write(query, options);
  written.set(query, known);
  return known;
}

async function write(query: string, options: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'vessel-export-parquet-'));
  const duckdb = await DuckDBInstance.create(':memory:', { threads: '1', memory_limit: '3GB' });
  const connection = await duckdb.connect();
  try {
    await connection.run(
      `copy (${query}) to '${folder}/x.parquet' (format parquet, compression zstd, ${options})`,
    );
    return await readFile(join(folder, 'x.parquet'));
  } finally {
    connection.closeSync();
    duckdb.closeSync();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Made before the exporter is asked, so that making it is not taken for the exporter's time. */
function sentAs(name: string, query: string, options: string, more: PeerOptions): HostileInput<ExporterFace> {
  let body: Buffer = Buffer.alloc(0);
  const input = peer(
    name,
    altered('measurements', ({ headers }) => ({ headers: { ...headers, 'content-type': TYPE }, body })),
    more,
  );
  return {
    name: input.name,
    async send(face) {
      body = await parquetOf(query, options);
      return input.send(face);
    },
  };
}

export const PARQUET_BODIES: Category<ExporterFace> = {
  name: 'Parquet bodies',
  hangMs: 120_000,
  inputs: [
    ...WRITTEN.map(([name, query, options = 'row_group_size 100000']) =>
      sentAs(name, query, options, { job: PARQUET, mustFail: true }),
    ),
    ...CUT.map(([name, cut]) =>
      peer(
        name,
        altered('measurements', ({ body }) => ({ body: cut(body) })),
        { job: PARQUET },
      ),
    ),
    ...FLIPPED_PAGES.map(([name, cut]) =>
      peer(
        name,
        altered('measurements', ({ body }) => ({ body: cut(body) })),
        { job: PARQUET, isOtherData: true },
      ),
    ),
    peer(
      'NDJSON for Parquet',
      altered('measurements', ({ headers }) => ({
        headers: { ...headers, 'content-type': 'application/x-ndjson' },
      })),
      { job: PARQUET },
    ),
    peer('honest', {}, { job: PARQUET, mustWork: true }),
  ],
};
