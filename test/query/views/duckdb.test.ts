/** What `views --for duckdb` prints, run by a DuckDB of the test's own and compared with queries that share nothing with it. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WIDE_AGGREGATES } from '../../../src/query/views/wide.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { DATE, newLake, type TestLake, VESSEL } from '../../helpers/run.ts';
import { replayTable } from '../../helpers/table.ts';
import { newTempFolder } from '../../helpers/temp.ts';
import { JOBS, openViewLakes, runViews, viewStatementsOf } from './view-lake.ts';

let opened: AsyncDisposable;
let lake: TestLake;
let table: TestLake;
beforeAll(async () => {
  const both = await openViewLakes('plain', 'delta');
  opened = both;
  ({ plain: lake, delta: table } = both.lakes);
});
afterAll(() => opened?.[Symbol.asyncDispose]());

/** A new database with the printed views, and rows of queries on it. */
async function openViews(
  options: Parameters<typeof viewStatementsOf>[1] = {},
  { url }: Pick<TestLake, 'url'> = lake,
  edit: (sql: string) => string = (sql) => sql,
  jobs = JOBS,
) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  await connection.run(`SET TimeZone = 'UTC'`);
  for (const statement of await viewStatementsOf(url, { for: 'duckdb', ...options }, jobs))
    await connection.run(edit(statement));
  return {
    rows: async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson(),
    [Symbol.dispose]() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

const files = (job: string) =>
  `read_parquet('${lake.dir}/${job}/*/*/*.parquet', hive_partitioning = true, union_by_name = true)`;
/** A reading's name and number, by the test's own words. */
const named = () =>
  `SELECT *, regexp_replace(id, '^IMO[0-9]+/', '') AS name,
     CASE WHEN long_value IS NOT NULL THEN long_value::DOUBLE ELSE double_value END AS number
   FROM ${files('measurements')}`;

test('readings are every row of the lake, with name, unit, number or text', async () => {
  using views = await openViews();
  const [difference] = await views.rows(`
    WITH ours AS (SELECT vessel, date::VARCHAR, timestamp, tag, unit, value, text, time_series_id FROM readings),
    theirs AS (
      SELECT vessel, date::VARCHAR, timestamp, name,
        (SELECT any_value(unit_of_measure) FROM ${files('metadata')} s WHERE s.time_series_id = m.time_series_id),
        number, json_value, time_series_id
      FROM (${named()}) m)
    SELECT (SELECT count(*) FROM (FROM ours EXCEPT ALL FROM theirs)),
      (SELECT count(*) FROM (FROM theirs EXCEPT ALL FROM ours)), (SELECT count(*) FROM ours),
      (SELECT count(*) FROM ours WHERE text IS NOT NULL), (SELECT count(unit) FROM ours)`);
  expect(difference!.slice(0, 2)).toEqual(['0', '0']);
  for (const count of difference!.slice(2)) expect(Number(count)).toBeGreaterThan(10);
});

test('of a delta lake they are the same, where delta_scan is what the log says', async () => {
  const store = await openStore(table.url, {});
  const lists = new Map<string, string>();
  for (const job of ['measurements', 'statistics', 'metadata']) {
    const { view } = await replayTable(store, job);
    const paths = [...view.values()].flat().map(({ path }) => `'${table.dir}/${job}/${path}'`);
    lists.set(job, `read_parquet([${paths.join(', ')}], hive_partitioning = true, union_by_name = true)`);
  }
  let scans = 0;
  const edit = (sql: string) =>
    sql.replace(/delta_scan\('([^']*)\/(\w+)'\)/g, (_, folder, job) => {
      expect(folder).toBe(table.dir);
      scans++;
      return lists.get(job)!;
    });
  const columns = ['Speed Over Ground', 'Shaft Power'];
  using views = await openViews({ aggregate: 'time-weighted', columns }, table, edit);
  using plain = await openViews({ aggregate: 'time-weighted', columns });
  expect(scans).toBe(3);
  for (const view of ['series', 'readings', 'windows', 'wide']) {
    const sql = `SELECT * FROM ${view} ORDER BY ALL`;
    const rows = await views.rows(sql);
    expect(rows.length).toBeGreaterThan(5);
    expect(rows).toEqual(await plain.rows(sql));
  }
});

test('windows are every row of the statistics', async () => {
  using views = await openViews();
  const own = 'vessel, timestamp, mean, max, count, time_series_id';
  const rows = await views.rows(`
    SELECT (SELECT count(*) FROM (SELECT ${own} FROM windows EXCEPT ALL SELECT ${own} FROM ${files('statistics')})),
      (SELECT count(*) FROM windows), (SELECT count(*) FROM ${files('statistics')})`);
  expect(rows[0]![0]).toBe('0');
  expect(rows[0]![1]).toBe(rows[0]![2]);
});

test('series has a row per series, with its names taken apart', async () => {
  using views = await openViews();
  const [row] = await views.rows(`
    SELECT count(*), count(DISTINCT time_series_id), (SELECT count(DISTINCT time_series_id) FROM ${files('metadata')}),
      count(*) FILTER (vis_3_8a_id IS DISTINCT FROM (domains_json::JSON ->> '$."vis-3-8a".id')),
      count(*) FILTER (vis_3_8a_quantity IS DISTINCT FROM nullif(regexp_extract(vis_3_8a_id, '/qty-([^/]+)', 1), '')),
      count(*) FILTER (vis_3_8a_primary_item IS DISTINCT FROM nullif(regexp_extract(vis_3_8a_id, '^IMO[0-9]+/(.*?)(/sec/|/meta/)', 1), '')),
      count(vis_3_8a_quantity)
    FROM series`);
  expect(row![0]).toBe(row![1]);
  expect(row![1]).toBe(row![2]);
  expect(row!.slice(3, 6)).toEqual(['0', '0', '0']);
  expect(Number(row![6])).toBeGreaterThan(0);
});

test('receipts and coverage say what lies in the lake', async () => {
  using views = await openViews();
  expect(
    await views.rows(`
      SELECT count(*) FROM receipts r FULL JOIN (
        SELECT 'measurements' AS job, vessel, date, count(*) AS n FROM ${files('measurements')} GROUP BY ALL
        UNION ALL SELECT 'statistics', vessel, date, count(*) FROM ${files('statistics')} GROUP BY ALL
        UNION ALL SELECT 'metadata', vessel, date, count(*) FROM ${files('metadata')} GROUP BY ALL
      ) f ON f.job = r.job AND f.vessel = r.vessel AND f.date = r.date
      WHERE f.n IS DISTINCT FROM r."rows"`),
  ).toEqual([['0']]);
  expect(
    await views.rows(
      `SELECT job, first_date, last_date, days, days_missing FROM coverage WHERE vessel = '${VESSEL}' ORDER BY 1`,
    ),
  ).toEqual([
    ['measurements', DATE, '2026-01-06', '2', '0'],
    ['statistics', DATE, '2026-01-06', '2', '0'],
  ]);
});

const PIVOTED = {
  mean: 'avg(number)',
  min: 'min(number)',
  max: 'max(number)',
  last: 'arg_max(number, {"at": timestamp, "number": number})',
} as const;

describe('wide', () => {
  test.for(Object.entries(PIVOTED))('by %s is what PIVOT makes, cell by cell', async ([aggregate, sql]) => {
    using views = await openViews({ aggregate, columns: ['all'], window: '1h' });
    const tags = (
      await views.rows(`SELECT DISTINCT tag FROM readings WHERE value IS NOT NULL ORDER BY 1`)
    ).map(([tag]) => String(tag));
    const quoted = tags.map((tag) => `'${tag}'`).join(', ');
    await views.rows(`CREATE TEMP TABLE pivoted AS PIVOT (
        SELECT vessel, date, time_bucket(INTERVAL 1 HOUR, timestamp) AS start, name, number, timestamp FROM (${named()}) WHERE number IS NOT NULL
      ) ON name IN (${quoted}) USING ${sql} GROUP BY vessel, date, start`);
    let compared = 0;
    for (const tag of tags) {
      const column = tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
      const [row] = await views.rows(`
        SELECT count(*), count(*) FILTER (w.vessel IS NULL OR p.vessel IS NULL OR
          CASE WHEN w."${column}" IS NULL OR p."${tag}" IS NULL THEN w."${column}" IS DISTINCT FROM p."${tag}"
          ELSE abs(w."${column}" - p."${tag}") > 1e-9 * greatest(1, abs(p."${tag}")) END), count(w."${column}")
        FROM wide w FULL JOIN pivoted p ON p.vessel = w.vessel AND p.date = w.date AND p.start = w.timestamp`);
      expect(row![1], tag).toBe('0');
      compared += Number(row![2]);
    }
    expect(tags.length).toBeGreaterThan(3);
    expect(compared).toBeGreaterThan(300);
  });

  test('time-weighted is what holding each reading gives, second by second of its definition', async () => {
    const windowUs = 600e6;
    const holdUs = 1_800e6;
    const options = {
      aggregate: 'time-weighted',
      window: '10m',
      hold: '30m',
      columns: ['Speed Over Ground'],
    };
    using views = await openViews(options);
    const readings = await views.rows(
      `SELECT vessel, date::VARCHAR, epoch_us(timestamp), number FROM (${named()}) WHERE name = 'Speed Over Ground' AND number IS NOT NULL ORDER BY 1, 2, 3, 4`,
    );
    const sums = new Map<string, { weighted: number; weight: number }>();
    for (const [index, [vessel, date, at, number]] of readings.entries()) {
      const from = Number(at);
      const dayEnd = Date.parse(`${date}T00:00:00Z`) * 1_000 + 86_400e6;
      const next = readings[index + 1];
      const nextAt = next?.[0] === vessel && next?.[1] === date ? Number(next?.[2]) : dayEnd;
      const until = Math.min(nextAt, from + holdUs, dayEnd);
      for (let window = from - (from % windowUs); window < until; window += windowUs) {
        const weight = Math.min(until, window + windowUs) - Math.max(from, window);
        if (weight <= 0) continue;
        const key = `${vessel} ${window}`;
        const sum = sums.get(key) ?? { weighted: 0, weight: 0 };
        sums.set(key, { weighted: sum.weighted + weight * Number(number), weight: sum.weight + weight });
      }
    }
    const rows = await views.rows('SELECT vessel, epoch_us(timestamp), speed_over_ground FROM wide');
    const wide = new Map(rows.map(([vessel, at, value]) => [`${vessel} ${at}`, Number(value)]));
    expect([...wide.keys()].sort()).toEqual([...sums.keys()].sort());
    for (const [key, { weighted, weight }] of sums) expect(wide.get(key)).toBeCloseTo(weighted / weight, 9);
    expect(wide.size).toBeGreaterThan(100);
  });

  test('columns are explained beside them and to DuckDB', async () => {
    const columns = ['Speed Over Ground', 'Shaft Power'];
    const { stdout } = await runViews(lake.url, { for: 'duckdb', columns });
    expect(stdout).toContain('"shaft_power" -- Shaft Power [kW]');
    using views = await openViews({ columns });
    expect(
      await views.rows(
        `SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'wide' AND comment IS NOT NULL ORDER BY 1`,
      ),
    ).toEqual([
      ['shaft_power', 'Shaft Power [kW]'],
      ['speed_over_ground', 'Speed Over Ground [kn]'],
    ]);
  });

  test('what cannot be is said', async () => {
    expect(WIDE_AGGREGATES).toEqual(
      [...Object.keys(PIVOTED), 'time-weighted'].sort(
        (a, b) => WIDE_AGGREGATES.indexOf(a as never) - WIDE_AGGREGATES.indexOf(b as never),
      ),
    );
    const wrong = await runViews(lake.url, {
      for: 'duckdb',
      window: '7m',
      aggregate: 'avg',
      hold: 'long',
      vessel: ['x'],
    });
    expect(wrong.code).toBe(2);
    for (const name of ['--window', '--aggregate', '--hold', '--vessel'])
      expect(wrong.stderr).toContain(`${name}: got`);
    const unknown = await runViews(lake.url, { for: 'duckdb', columns: ['No Such Thing'] });
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain("no series is called 'No Such Thing'");
    expect((await runViews(lake.url, { for: 'oracle' })).stderr).toContain('expected one of duckdb, athena');
    const elsewhere = await runViews(lake.url, { for: 'athena' });
    expect(elsewhere.stderr).toContain('give the address of the lake, or of a copy, with --location');
  });
});

test('a lake without objects yet, and one whose job has other aggregations since, have their views', async () => {
  await using empty = await newLake();
  for (const engine of ['duckdb', 'dbt']) {
    const { code, stdout, stderr } = await runViews(empty.url, { for: engine });
    expect(code).toBe(0);
    expect(stdout).toContain(`${empty.dir}/measurements`);
    expect(stderr).toContain('has no objects of any job yet: these are views of the future exports');
  }
  const statistics = { ...JOBS.statistics, aggregations: ['mean', 'min'] };
  using views = await openViews({}, lake, undefined, { ...JOBS, statistics });
  const [row] = await views.rows(
    'SELECT count(*), count(mean), count(min), typeof(any_value(min)) FROM windows',
  );
  expect(Number(row![1])).toBeGreaterThan(0);
  expect(row!.slice(2)).toEqual(['0', 'DOUBLE']);
});

test('a dbt project is written where no other files are, and none is replaced silently', async () => {
  await using folder = await newTempFolder();
  const out = join(folder.path, 'new/project');
  const options = { for: 'dbt', out };
  const first = await runViews(lake.url, options);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  const names = first.stdout.trim().split('\n');
  expect(names).toContain(`wrote ${join(out, 'models/vessel_days.sql')}`);
  expect((await runViews(lake.url, options)).stdout).toBe(`nothing to write: ${out} is as it is to be\n`);
  const [mine, profile] = [join(out, 'models/series.sql'), join(out, 'profiles.yml')];
  for (const path of [mine, profile]) await writeFile(path, 'mine');
  const refused = await runViews(lake.url, options);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain(
    'other files of these names: models/series.sql; --overwrite replaces them',
  );
  expect(await readFile(mine, 'utf8')).toBe('mine');
  expect((await runViews(lake.url, { ...options, overwrite: true })).stdout).toBe(`replaced ${mine}\n`);
  expect(await readFile(profile, 'utf8')).toBe('mine');
  const other = await runViews(lake.url, { for: 'spark', out });
  expect(other.stderr).toContain('--out: given with --for spark, expected dbt');
});
