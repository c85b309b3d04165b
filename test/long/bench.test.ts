/** The bench's figures are of what they say. No time is asserted: processes burn CPU until their own clock has counted it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureScript, startPreparedServer } from '../bench/child.ts';
import { bytesByColumn, describeColumns } from '../bench/columns.ts';
import { createContenders } from '../bench/contenders.ts';
import { ratiosOf } from '../bench/figures.ts';
import { fileIn, type PreparedDay, prepareDay } from '../bench/prepared-day.ts';
import { findDifferingRows, findWrongRows } from '../bench/row-check.ts';
import { newTempFolder, type TempFolder } from '../helpers/temp.ts';

const { signal } = new AbortController();
let temp: TempFolder;
let day: PreparedDay;
beforeAll(async () => {
  temp = await newTempFolder();
  const dir = join(temp.path, 'day');
  mkdirSync(dir);
  day = prepareDay(dir, 20_000, 1);
});
afterAll(() => temp.remove());

const burn = (cpuMs: number, memoryMb: number) =>
  measureScript(new URL('../bench/burn.ts', import.meta.url), [cpuMs, memoryMb].map(String), {}, signal);

describe('a measured process', () => {
  it('has used the CPU that it says of itself, and its start', async () => {
    const run = await burn(1_500, 0);
    const own: { cpuMs: number } = JSON.parse(run.stdout);
    expect(own.cpuMs).toBeGreaterThanOrEqual(1_500);
    // All that is counted later is its end.
    expect(run.cpuMs).toBeGreaterThanOrEqual(own.cpuMs);
    expect(run.cpuMs / own.cpuMs).toBeLessThan(1.3);
  });

  it('has a peak of memory of its own, and not that of who started it', async () => {
    const ours = Buffer.alloc(300_000_000, 1);
    const [small, large] = [await burn(0, 0), await burn(0, 200)];
    expect(large.peakRssBytes - small.peakRssBytes).toBeGreaterThan(180_000_000);
    expect(large.peakRssBytes - small.peakRssBytes).toBeLessThan(220_000_000);
    expect(small.peakRssBytes).toBeLessThan(ours.length);
  });

  it('that fails is an error with what it said', async () => {
    const failing = measureScript(new URL('../bench/parse.ts', import.meta.url), [], {}, signal);
    await expect(failing).rejects.toThrow(/exit 1[\s\S]*usage: parse.ts FOLDER/);
  });
});

it('ratios are of two measurements of one round', () => {
  const runs = (...wallMs: number[]) => wallMs.map((ms) => ({ wallMs: ms }));
  expect(ratiosOf(runs(10, 200), runs(20, 100))).toEqual([0.5, 2]);
  expect(() => ratiosOf(runs(10), runs(20, 100))).toThrow(/as many/);
});

/** A Parquet file by DuckDB, from what `change` makes of one that is right. */
async function changedFile(right: string, name: string, change: string): Promise<string> {
  const out = join(temp.path, `${name.replaceAll(' ', '-')}.parquet`);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (${change.replaceAll('{file}', `read_parquet('${right}')`)}) TO '${out}'`);
  connection.closeSync();
  instance.closeSync();
  return out;
}

describe('rows of contenders', () => {
  it('are ours in every detail; those of others, or with anything changed, are named as wrong', async () => {
    await using prepared = await startPreparedServer(day.dir);
    const out = join(temp.path, 'out');
    mkdirSync(out);
    const { ours, naive, duckdbSorted1 } = createContenders(day, { prepared, madeUp: prepared }, out);
    const { bytesOut, cpuMs } = await ours.run(signal);
    expect(await findWrongRows(ours.file!, day)).toEqual([]);
    expect(bytesOut).toBe((await stat(ours.file!)).size);
    expect(cpuMs).toBeGreaterThan(0);
    await naive.run(signal);
    expect(await findWrongRows(naive.file!, day)).toContainEqual(
      expect.stringContaining('in the wrong column'),
    );
    await duckdbSorted1.run(signal);
    expect(await findWrongRows(duckdbSorted1.file!, day)).toEqual(['values of 2 series']);

    const changes: Record<string, [change: string, found: string]> = {
      'a row less': ['FROM {file} LIMIT 19999', '19999 rows instead of 20000'],
      'a later time': [
        `SELECT * REPLACE (CASE WHEN row_number() OVER () = 77 THEN "timestamp" + INTERVAL 1 MICROSECOND ELSE "timestamp" END AS "timestamp") FROM {file}`,
        'times of 1 series',
      ],
      'another value': [
        'SELECT * REPLACE (CASE WHEN double_value = (SELECT max(double_value) FROM {file}) THEN double_value + 1 ELSE double_value END AS double_value) FROM {file}',
        'values of 1 series',
      ],
      'another name': ["SELECT * REPLACE ('x' AS id) FROM {file}", 'names of 200 series'],
    };
    for (const [name, [change, found]] of Object.entries(changes))
      expect(await findWrongRows(await changedFile(ours.file!, name, change), day), name).toContainEqual(
        found,
      );
  });

  it('of small days differ where one has a row that the other has not', async () => {
    const days = join(temp.path, 'small', 'one');
    mkdirSync(days, { recursive: true });
    const rows = ['1', '2.5', '"on"', '{"a":1}'].map(
      (value, second) => `{"id":"s","timestamp":"2026-01-05T00:00:0${second}.000001Z","value":${value}}\n`,
    );
    writeFileSync(fileIn(days).readings, rows.join(''));
    writeFileSync(fileIn(days).metadata, '[{"id":"V/s","timeSeriesId":"s"}]');
    const written = join(temp.path, 'small-out');
    mkdirSync(written);
    const script = new URL('../bench/duckdb.ts', import.meta.url);
    await measureScript(script, [join(temp.path, 'small'), written, '1', 'sorted'], {}, signal);
    const file = join(written, 'one.parquet');
    expect(await findDifferingRows(file, join(temp.path, 'small'))).toBe(0);
    writeFileSync(fileIn(days).readings, rows.join('').replace('2.5', '2.25'));
    expect(await findDifferingRows(file, join(temp.path, 'small'))).toBe(2);
    writeFileSync(fileIn(days).readings, rows.slice(1).join('').replace('2.25', '2.5'));
    expect(await findDifferingRows(file, join(temp.path, 'small'))).toBe(1);
  });
});

it('bytes by column are those of the file, next to nothing under one word', async () => {
  const source = join(temp.path, 'day', 'readings.ndjson');
  const file = await changedFile(
    source,
    'columns',
    'SELECT i AS large, i % 2 AS small, 1 AS one FROM range(100000) t(i)',
  );
  const columns = await bytesByColumn(file);
  expect(columns[0]!.column).toBe('large');
  expect(columns.map(({ column }) => column).toSorted()).toEqual(['large', 'one', 'small']);
  const sum = columns.reduce((total, { bytes }) => total + bytes, 0);
  expect(sum).toBeLessThan((await stat(file)).size);
  expect(describeColumns([...columns, { column: 'tiny', bytes: 1 }])).toMatch(
    /^\d\.\d\d MB in columns: large .* others 0\.0/,
  );
});
