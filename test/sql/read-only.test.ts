/** `sql` reads the lake and nothing else, and writes nothing: the ways out that DuckDB has are shut. */
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lakeFiles } from '../helpers/lake.ts';
import type { TestLake } from '../helpers/run.ts';
import type { TempFolder } from '../helpers/temp.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { openViewLakes } from '../views/view-lake.ts';
import { runSql } from './sql-run.ts';

let lake: TestLake;
let outside: TempFolder;
beforeAll(async () => {
  lake = (await openViewLakes('plain')).lakes.plain;
  outside = await newTempFolder();
  await writeFile(join(outside.path, 'secret.csv'), 'word\nhidden-treasure\n');
});
afterAll(async () => {
  await lake[Symbol.asyncDispose]();
  await outside.remove();
});

const ESCAPES = [
  `SELECT * FROM read_csv('{out}/secret.csv')`,
  `SELECT * FROM '{out}/secret.csv'`,
  `FROM '{lake}/../secret.csv'`,
  `SELECT * FROM read_text('{out}/secret.csv')`,
  `SELECT * FROM read_blob('/proc/self/environ')`,
  `SELECT * FROM glob('{out}/*')`,
  `SELECT * FROM sniff_csv('{out}/secret.csv')`,
  `SELECT * FROM read_parquet('{lake}/measurements/*/*/*.parquet')`,
  `SELECT * FROM query('SELECT * FROM read_text(''{out}/secret.csv'')')`,
  `SELECT * FROM query_table('{out}/secret.csv')`,
  `SELECT * FROM json_execute_serialized_sql('x')`,
  `SELECT * FROM enable_logging('QueryLog', storage := 'file', storage_path := '{lake}/logs')`,
  `SELECT * FROM enable_profiling(save_location := '{lake}/profile.txt')`,
  `SELECT * FROM force_checkpoint()`,
  `SELECT (SELECT count(*) FROM read_csv('{out}/secret.csv'))`,
  `WITH x AS (SELECT * FROM read_json('{out}/secret.csv')) FROM x`,
  `SELECT write_log('x')`,
  `COPY (SELECT 1) TO '{lake}/copied.csv'`,
  `COPY (SELECT 1) TO '{out}/copied.csv'`,
  `EXPLAIN ANALYZE COPY (SELECT 1) TO '{lake}/copied.csv'`,
  `EXPORT DATABASE '{lake}/exported'`,
  `ATTACH '{lake}/attached.db'`,
  `ATTACH '{out}/attached.db' (TYPE sqlite)`,
  `INSTALL httpfs`,
  `LOAD httpfs`,
  `PRAGMA database_list`,
  `CALL enable_logging()`,
  `SET memory_limit = '100GB'`,
  `RESET lock_configuration`,
  `CREATE TABLE x AS SELECT 1`,
  `CREATE MACRO f() AS 1`,
  `DROP VIEW readings`,
  `INSERT INTO lake_objects VALUES (1)`,
  `CREATE SECRET (TYPE s3)`,
  `BEGIN`,
  `USE memory`,
  `PREPARE x AS SELECT 1`,
  `SELECT getenv('HOME')`,
  `SELECT 1; COPY (SELECT 1) TO '{lake}/copied.csv'`,
];

test('no statement reads beyond the lake, or writes anywhere', async () => {
  const before = [...(await lakeFiles(lake.dir)).keys()].sort();
  await mkdir(join(outside.path, 'linked'));
  for (const way of ESCAPES) {
    const sql = way.replaceAll('{lake}', lake.dir).replaceAll('{out}', outside.path);
    const ran = await runSql({ lakeUrl: lake.url }, sql, { json: true });
    expect(ran, sql).toMatchObject({ stdout: '' });
    expect(ran.code, `${sql}\n${ran.stderr}`).not.toBe(0);
    expect(ran.stderr, sql).toMatch(/^(warning: .*\n)*error: /);
    expect(ran.stderr, sql).not.toContain('hidden-treasure');
    expect(ran.stderr, sql).not.toMatch(/\n {4}at /);
  }
  expect([...(await lakeFiles(lake.dir)).keys()].sort()).toEqual(before);
  expect(await readFile(join(outside.path, 'secret.csv'), 'utf8')).toContain('hidden-treasure');
});

test('what only reads is answered, however it is said', async () => {
  const asked = [
    'SELECT count(*) FROM readings',
    'FROM coverage',
    'WITH a AS (SELECT 1 AS x) FROM a;',
    'DESCRIBE readings',
    'SUMMARIZE coverage',
    'SHOW TABLES',
    'EXPLAIN SELECT * FROM readings',
    'EXPLAIN ANALYZE SELECT count(*) FROM readings',
    'VALUES (1), (2)',
    'SELECT * FROM range(3) UNION ALL SELECT 7 -- a remark',
    "PIVOT readings ON tag IN ('Shaft Power') USING avg(value) GROUP BY vessel",
    'SELECT column_name FROM duckdb_columns() LIMIT 1',
    'SELECT unnest([1, 2])',
    "SELECT tag, max_by(value, timestamp) FROM readings WHERE tag ILIKE 's%' GROUP BY ALL ORDER BY ALL",
    'SELECT count(*) FROM wide',
    'SELECT * FROM measurements LIMIT 1',
  ];
  const ran = await runSql(
    { lakeUrl: lake.url },
    undefined,
    {},
    asked.map((sql) => sql.replace(/;$/, '')).join('\n;\n'),
  );
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout.match(/^\((?:the first )?[\d,]+ rows?[,;)]/gm)).toHaveLength(asked.length);
});

test('a link out of the lake is not followed by a query that names it', async () => {
  await symlink(join(outside.path, 'secret.csv'), join(lake.dir, 'link.csv'));
  const ran = await runSql({ lakeUrl: lake.url }, `SELECT * FROM read_csv('${lake.dir}/link.csv')`);
  expect(ran.code).toBe(2);
  await rm(join(lake.dir, 'link.csv'));
});
