/** `sql` as its users meet it: results in every form, errors that can be read, a query that is stopped. */
import { cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { splitStatements, sqlCommand } from '../../../src/cli/commands/sql.ts';
import { commandRun } from '../../helpers/command-run.ts';
import { duckRows } from '../../helpers/lake.ts';
import { DATE, newLake, type TestLake, VESSEL } from '../../helpers/run.ts';
import { newTempFolder } from '../../helpers/temp.ts';
import { DEFAULTS, JOBS, openViewLakes } from '../views/view-lake.ts';
import { runSql } from './sql-run.ts';

let lake: TestLake;
beforeAll(async () => {
  lake = (await openViewLakes('plain')).lakes.plain;
});
afterAll(() => lake?.[Symbol.asyncDispose]());
const run = (sql: string | undefined, options = {}, input = '') =>
  runSql({ lakeUrl: lake.url }, sql, options, input);

const VALUES = `SELECT 1 AS a, 9007199254740993 AS big, 0.5 AS half, 'a,"b"' AS text, '' AS empty, NULL AS nothing,
  true AS yes, DATE '2026-01-05' AS day, TIMESTAMPTZ '2026-01-05 01:02:03.000004+01' AS at, 'nan'::DOUBLE AS odd`;

test('every row comes as CSV, as JSON and as Parquet', async () => {
  const csv = await run(VALUES, { csv: true });
  expect(csv.stdout).toBe(
    'a,big,half,text,empty,nothing,yes,day,at,odd\n1,9007199254740993,0.5,"a,""b""","",,true,2026-01-05,2026-01-05T00:02:03.000004Z,NaN\n',
  );
  const formula = await run(`SELECT '=cmd|x' AS "@a", -5 AS b, '-5' AS c`, { csv: true });
  expect(formula.stdout).toBe("'@a,b,c\n'=cmd|x,-5,-5\n");
  const json = await run(VALUES, { json: true });
  expect(JSON.parse(json.stdout)).toEqual({
    ...{ a: 1, big: '9007199254740993', half: '0.5', text: 'a,"b"', empty: '', nothing: null, yes: true },
    ...{ day: '2026-01-05', at: '2026-01-05T00:02:03.000004Z', odd: 'NaN' },
  });
  await using folder = await newTempFolder();
  const file = join(folder.path, 'out.parquet');
  expect(await run('SELECT * FROM readings', { parquet: file })).toMatchObject({ code: 0, stdout: '' });
  const [row] = await duckRows(`SELECT count(*), count(value) FROM read_parquet('${file}')`);
  const all = await duckRows(`SELECT count(*) FROM read_parquet('${lake.dir}/measurements/*/*/*.parquet')`);
  expect(row![0]).toBe(all[0]![0]);
  expect(await readdir(folder.path)).toEqual(['out.parquet']);
  const many = await run('SELECT * FROM range(12345)', { csv: true });
  expect(many.stdout.split('\n')).toHaveLength(12_347);
});

test('a lake may be in a folder named with what means something in patterns', async () => {
  await using folder = await newTempFolder();
  const dir = join(folder.path, "ships [old] * ?'s");
  await cp(lake.dir, dir, { recursive: true });
  const count = 'SELECT count(*) AS n FROM readings';
  const odd = await runSql({ lakeUrl: pathToFileURL(dir).href }, count, { csv: true }, '');
  expect(odd).toEqual(await run(count, { csv: true }));
});

test('a table is cut to what a person can look at, and says so', async () => {
  const wide = await commandRun({ lakeUrl: lake.url, jobs: JOBS, columns: 80 }, (context) => {
    const seen = { ...context, stdout: { ...context.stdout, isTTY: true, columns: 80 } };
    return sqlCommand(seen, 'SELECT * FROM series', DEFAULTS);
  });
  const lines = wide.stdout.trimEnd().split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
  expect(lines.slice(0, -1).every((line) => line.length <= 80)).toBe(true);
  expect(lines.at(-1)).toMatch(/^\(\d+ rows, \d of \d\d columns; --csv, --json and --parquet give all\)$/);
  expect((await run('SELECT * FROM range(5000)')).stdout).toContain('(the first 1,000 rows; --csv');
  expect((await run('SELECT 1 AS a WHERE false')).stdout).toBe('a\n(0 rows)\n');
});

test('a chart is drawn of a time and numbers, and what is none says so', async () => {
  await using folder = await newTempFolder();
  const svg = join(folder.path, 'chart.svg');
  const sql = `SELECT timestamp, speed_over_ground AS "speed, kn" FROM wide WHERE vessel = '${VESSEL}'`;
  const wide = { columns: ['Speed Over Ground'], aggregate: 'time-weighted' };
  expect(await run(sql, { svg, title: 'A <title>', ...wide })).toMatchObject({ code: 0, stdout: '' });
  const drawn = await readFile(svg, 'utf8');
  expect(drawn).toMatch(
    /^<svg [\s\S]*A &lt;title&gt;[\s\S]*speed, kn: [\d.]+ to [\d.]+[\s\S]*<polyline [\s\S]*<\/svg>\n$/,
  );
  const failed = await run('SELECT timestamp, tag FROM readings', { svg });
  expect(failed).toMatchObject({ code: 2, stdout: '' });
  expect(failed.stderr).toMatch(/--svg: the column 'tag' has '.*' in row 1, expected a number/);
  // What was drawn before stays, and nothing lies beside it.
  expect(await readFile(svg, 'utf8')).toBe(drawn);
  expect(await readdir(folder.path)).toEqual(['chart.svg']);
  expect((await run(sql, { svg: join(folder.path, 'none/x.svg'), ...wide })).stderr).toContain(
    '--svg: cannot write',
  );
  expect((await run(sql, { title: 'x' })).stderr).toContain('--title: given without --svg');
});

test('a job that was changed or never ran stops nobody', async () => {
  const statistics = { ...JOBS.statistics, aggregations: ['mean', 'min'] };
  const { measurements, ...others } = JOBS;
  const jobs = { ...others, statistics, raw: measurements! };
  const sql = `SELECT count(*) > 0 AS rows, count(mean) > 0 AS mean, count(min) AS min, (SELECT count(*) FROM readings) AS readings FROM windows`;
  const ran = await runSql({ lakeUrl: lake.url, jobs }, sql, { csv: true });
  expect(ran).toMatchObject({ code: 0, stdout: 'rows,mean,min,readings\ntrue,true,0,0\n' });
  expect(ran.stderr).toContain("no objects of the job 'raw' yet: its views have no rows");
  // One of the days has it, under a name that comes last.
  await using mixed = await newLake();
  await cp(lake.dir, mixed.dir, { recursive: true });
  const from = `${mixed.dir}/statistics/vessel=${VESSEL}/date=${DATE}/*.parquet`;
  await mkdir(join(mixed.dir, `statistics/vessel=${VESSEL}/date=2026-02-01`));
  await duckRows(
    `COPY (SELECT * EXCLUDE (vessel, date), 7.5::DOUBLE AS min FROM read_parquet('${from}', hive_partitioning = true)) TO '${mixed.dir}/statistics/vessel=${VESSEL}/date=2026-02-01/data.parquet' (FORMAT parquet)`,
  );
  const some = await runSql(
    { lakeUrl: mixed.url, jobs: { ...JOBS, statistics } },
    'SELECT date, min(min) AS min FROM windows GROUP BY date ORDER BY date',
    { csv: true },
  );
  expect(some).toMatchObject({
    code: 0,
    stderr: '',
    stdout: 'date,min\n2026-01-05,\n2026-01-06,\n2026-02-01,7.5\n',
  });
});

test('queries come from stdin too', async () => {
  const ran = await run(undefined, {}, "SELECT 'a;b' AS x; -- one; two\nSELECT $$;$$ AS y;\n");
  expect(ran).toMatchObject({ code: 0, stdout: 'x\na;b\n(1 row)\ny\n;\n(1 row)\n' });
  expect(splitStatements(`/* ; */ SELECT ";" ; ;; SELECT ';''' -- ;`)).toEqual([
    `/* ; */ SELECT ";"`,
    `SELECT ';''' -- ;`,
  ]);
  expect((await run(undefined)).stderr).toContain('no query');
  expect((await run(undefined, { csv: true }, 'SELECT 1; SELECT 2')).stderr).toContain(
    'got 2 queries, expected one',
  );
});

test.for([
  ['SELEC 1', 'not SQL that DuckDB reads: syntax error at or near "SELEC"'],
  ['SELECT * FROM reedings', 'There are: series, readings, windows'],
  ['SELECT nothing FROM readings', 'Referenced column "nothing" not found'],
  ["SELECT 'x'::INTEGER", "Could not convert string 'x'"],
  ['SELECT list(a) FROM range(400000000) t(a)', 'select fewer days, series or columns'],
])('%s ends with an error that can be read', async ([sql, text]) => {
  const ran = await run(sql);
  expect(ran.code).not.toBe(0);
  expect(ran.stdout).toBe('');
  expect(ran.stderr).toContain(text);
  expect(ran.stderr).not.toContain('internal error');
});

test('a query ends soon after it is told to, and leaves nothing in the temporary folder', async () => {
  await using temp = await newTempFolder();
  const stop = new AbortController();
  const env = { TEMP_DIR: temp.path };
  const ran = commandRun({ lakeUrl: lake.url, jobs: JOBS, env }, (context) =>
    sqlCommand(
      { ...context, signal: stop.signal },
      'SELECT sum(a * b) FROM range(10000000000) t(a), range(1000) u(b)',
      DEFAULTS,
    ),
  );
  await expect.poll(() => readdir(temp.path)).toHaveLength(1);
  stop.abort();
  expect(await ran).toMatchObject({ code: 130, stdout: '' });
  expect(await readdir(temp.path)).toEqual([]);
});

test('settings and options that are wrong are said', async () => {
  await using empty = await newLake();
  const refused = await runSql({ lakeUrl: empty.url }, 'SELECT count(*) FROM readings');
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('check LAKE_URL and JOBS_DIR');
  expect((await run('SELECT 1', { csv: true, json: true })).stderr).toContain(
    '--json: given together with --csv',
  );
  expect((await run('SELECT 1', { job: ['nothing'] })).stderr).toContain("no job 'nothing'");
  const two = { ...JOBS, other: JOBS.measurements!, third: JOBS.measurements! };
  const without = Object.fromEntries(Object.entries(two).filter(([name]) => name !== 'measurements'));
  const ran = await runSql({ lakeUrl: lake.url, jobs: without }, 'SELECT 1');
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.stderr).toContain('--job: several jobs are of dataset measurements: other, third');
  const named = await runSql({ lakeUrl: lake.url, jobs: two }, 'SELECT count(*) FROM measurements');
  expect(named.code).toBe(0);
  expect((await run('SELECT 1', { parquet: '/nowhere/x.parquet' })).stderr).toContain(
    "cannot write '/nowhere/x.parquet'",
  );
});
