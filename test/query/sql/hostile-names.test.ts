/** A lake whose names are code in one engine or another: they are shown and searched, and nothing of them is run. */
import { createHash } from 'node:crypto';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { viewsCommand } from '../../../src/cli/commands/views.ts';
import { commandRun } from '../../helpers/command-run.ts';
import { TEXTS } from '../../helpers/hostile-sql.ts';
import { longName } from '../../helpers/hostile-text.ts';
import { lakeFiles } from '../../helpers/lake.ts';
import { newLake, type TestLake } from '../../helpers/run.ts';
import { PLANTED_JOBS, type PlantedSeries, plantedObject, plantLake } from '../views/planted-lake.ts';
import { DEFAULTS } from '../views/view-lake.ts';
import { runSql } from './sql-run.ts';

const digests = async ({ dir }: TestLake) =>
  [...(await lakeFiles(dir))].map(([key, bytes]) => [key, createHash('sha256').update(bytes).digest('hex')]);

test('an id with a line end does not replace an object when somebody asks which views there are', async () => {
  await using lake = await newLake();
  const object = plantedObject(lake, 'measurements');
  const named = (timeSeriesId: string) => ({ timeSeriesId, shortName: 'Level', text: 'm', domains: {} });
  const id = `\n1 AS x FROM windowed w GROUP BY ALL; COPY (SELECT 'forged' AS time_series_id) TO '${object}' (FORMAT parquet); SELECT 1 AS y, --`;
  await plantLake([named(id), named('x')], lake);
  const before = await digests(lake);
  const ran = await runSql({ lakeUrl: lake.url, jobs: PLANTED_JOBS }, 'SHOW TABLES', { csv: true });
  expect(await digests(lake)).toEqual(before);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain('wide');
});

/** Every text of a series' metadata is the same hostile one; two series have each name. */
const HOSTILE: readonly PlantedSeries[] = [...TEXTS, longName].flatMap((text, n) => {
  const domains = { [text]: { id: text, verboseId: text }, raalabs: { id: text }, [`d${n}`]: text };
  const series = { shortName: `${text.slice(0, 900)}#${n}`, text, domains };
  return [
    { ...series, timeSeriesId: `${text}${n}` },
    { ...series, timeSeriesId: `b${n}` },
  ];
});
/** The same with names that mean nothing. */
const PLAIN = HOSTILE.map((_, n) => ({
  ...{ timeSeriesId: `id ${n}`, shortName: `name ${n >> 1}`, text: `text ${n}` },
  domains: { raalabs: { id: 'x' }, [`d${n >> 1}`]: 'x' },
}));

let [hostile, plain]: TestLake[] = [];
beforeAll(async () => {
  [hostile, plain] = [await plantLake(HOSTILE), await plantLake(PLAIN)];
});
afterAll(async () => {
  await hostile?.[Symbol.asyncDispose]();
  await plain?.[Symbol.asyncDispose]();
});

const rowsOf = async (query: string, options = {}) => {
  const place = { lakeUrl: hostile!.url, jobs: PLANTED_JOBS };
  const ran = await runSql(place, query, { json: true, columns: ['all'], ...options });
  expect(ran, ran.stderr).toMatchObject({ code: 0 });
  return ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

test('sql has every series by its own name, and its reading in its own column', async () => {
  const before = await digests(hostile!);
  const series = await rowsOf('SELECT time_series_id, tag, unit, raalabs_id, maker_name FROM series');
  const expected = HOSTILE.map(({ timeSeriesId, shortName, text }) => ({
    ...{ time_series_id: timeSeriesId, tag: shortName, unit: text },
    ...{ raalabs_id: text === '' ? null : text, maker_name: text },
  }));
  const byId = (a: { time_series_id?: unknown }, b: { time_series_id?: unknown }) =>
    String(a.time_series_id) < String(b.time_series_id) ? -1 : 1;
  expect(series.sort(byId)).toEqual(expected.sort(byId));
  const [row, ...more] = await rowsOf('SELECT * EXCLUDE (vessel, date, timestamp) FROM wide');
  expect(more).toEqual([]);
  const cells = Object.values(row!).map(Number);
  expect(cells.toSorted((a, b) => a - b)).toEqual(HOSTILE.map((_, index) => index + 1));
  expect(await digests(hostile!)).toEqual(before);
});

test('the views that are printed for DuckDB are as many statements, and make the same table', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const counts = [];
  for (const lake of [plain!, hostile!]) {
    const place = { lakeUrl: lake.url, jobs: PLANTED_JOBS };
    const { stdout, code } = await commandRun(place, (context) =>
      viewsCommand(context, { ...DEFAULTS, for: 'duckdb', columns: ['all'] }),
    );
    expect(code).toBe(0);
    counts.push((await connection.extractStatements(stdout)).count);
    await connection.run(stdout);
  }
  expect(counts[1]).toBe(counts[0]);
  const table = await connection.runAndReadAll('SELECT * EXCLUDE (vessel, date, timestamp) FROM wide');
  const cells = table.getRows()[0]!.map(Number);
  expect(cells.toSorted((a, b) => a - b)).toEqual(HOSTILE.map((_, index) => index + 1));
  connection.closeSync();
  instance.closeSync();
});
