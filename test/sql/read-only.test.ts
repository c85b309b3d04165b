/** `sql` reads the lake and nothing else, and writes nothing: the ways out that DuckDB has are shut. */
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLockedDuckDb } from '../../src/duckdb/locked.ts';
import { readStatement } from '../../src/sql/read-only.ts';
import { checkedByParser, sql } from '../../src/sql-text.ts';
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

/** More of them, in the folder of a job, where DuckDB may read. */
const MORE_ESCAPES = [
  `COPY (SELECT 1) TO '{job}/copied.csv'`,
  `COPY (SELECT 1) TO '{job}' (FORMAT parquet, PARTITION_BY (a))`,
  `COPY (SELECT 1 AS a) TO '{job}/vessel=IMO9321483/date=2026-01-05/data.parquet' (FORMAT parquet)`,
  `EXPLAIN ANALYZE COPY (SELECT 1) TO '{job}/copied.csv'`,
  `EXPLAIN ANALYZE /* x */ COPY (SELECT 1) TO '{job}/copied.csv'`,
  `EXPLAIN ANALYZE SELECT 1; COPY (SELECT 1) TO '{job}/copied.csv'`,
  `SELECT 1) TO '{job}/copied.csv' (FORMAT csv); SELECT (1`,
  `SELECT 1 --\n; COPY (SELECT 1) TO '{job}/copied.csv'`,
  `SELECT 1\0; COPY (SELECT 1) TO '{job}/copied.csv'`,
  `/* SELECT 1; */ COPY (SELECT 1) TO '{job}/copied.csv'`,
  `SELECT $x$ ; $x$; COPY (SELECT 1) TO '{job}/copied.csv'`,
  `FROM (COPY (SELECT 1) TO '{job}/copied.csv')`,
  `WITH x AS (COPY (SELECT 1) TO '{job}/copied.csv') FROM x`,
  `DESCRIBE COPY (SELECT 1) TO '{job}/copied.csv'`,
  `PREPARE p AS COPY (SELECT 1) TO '{job}/copied.csv'`,
  `PIVOT readings ON tag USING avg(value)`,
  `COPY FROM DATABASE memory TO other`,
  `IMPORT DATABASE '{job}'`,
  `EXPORT DATABASE '{job}/exported' (FORMAT parquet)`,
  `ATTACH '{job}/attached.db' AS other (READ_WRITE)`,
  `CREATE OR REPLACE VIEW readings AS SELECT 1 AS forged`,
  `CREATE TEMP VIEW readings AS SELECT 1 AS forged`,
  `ALTER VIEW readings RENAME TO gone`,
  `COMMENT ON VIEW readings IS 'forged'`,
  `CREATE SEQUENCE s`,
  `CREATE TYPE t AS ENUM ('a')`,
  `MERGE INTO lake_objects USING (SELECT 1) ON false WHEN NOT MATCHED THEN INSERT VALUES (1)`,
  `TRUNCATE lake_objects`,
  `CHECKPOINT`,
  `VACUUM`,
  `UPDATE EXTENSIONS`,
  `FORCE INSTALL httpfs FROM 'http://127.0.0.1:1'`,
  `SET GLOBAL temp_directory = '{job}'`,
  `SET SESSION enable_profiling = 'json'`,
  `SET VARIABLE x = 1`,
  `PRAGMA enable_profiling`,
  `PRAGMA profiling_output = '{job}/profile.json'`,
  `PRAGMA import_database('{job}')`,
  `PRAGMA json_execute_serialized_sql('x')`,
  `CALL pragma_database_size()`,
  `SELECT * FROM enable_logging('QueryLog', storage := 'file', storage_path := '{job}/logs')`,
  `SELECT * FROM enable_profiling(save_location := '{job}/profile.txt')`,
  `SELECT * FROM duckdb_secrets()`,
  `SELECT * FROM duckdb_logs()`,
  `SELECT * FROM which_secret('s3://x', 's3')`,
  `SELECT * FROM read_duckdb('{out}/secret.csv')`,
  `SELECT * FROM read_ndjson_objects('{out}/secret.csv')`,
  `SELECT * FROM parquet_kv_metadata('{job}/*/*/*.parquet')`,
  `SELECT * FROM arrow_scan(1, 2, 3)`,
  `SELECT * FROM seq_scan('x')`,
  `SELECT * FROM sql_auto_complete('x')`,
  `SELECT sleep_ms(100000)`,
  `FROM '{out}/secret.csv' LIMIT 1`,
  `FROM "{out}/secret.csv"`,
  `FROM 'http://127.0.0.1:1/x.parquet'`,
  `FROM 's3://bucket/x.parquet'`,
  `SELECT (SELECT content FROM read_text('{out}/secret.csv'))`,
];

test('no statement reads beyond the lake, or writes anywhere', async () => {
  const before = [...(await lakeFiles(lake.dir)).keys()].sort();
  await mkdir(join(outside.path, 'linked'));
  // All of them are looked at below; of a command, those that are found when a query is bound, and some others.
  const some = ESCAPES.filter((way, index) => index % 6 === 0 || /FROM '|getenv|;/.test(way));
  for (const way of some) {
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

const inPlace = (way: string) =>
  way
    .replaceAll('{lake}', lake.dir)
    .replaceAll('{job}', join(lake.dir, 'measurements'))
    .replaceAll('{out}', outside.path);

/** A database as `sql` has it. */
async function openDuckDb() {
  const temp = await newTempFolder();
  const bounds = { threads: '1', memoryLimit: '256MB', keepsOrder: true };
  const readableDirs = [join(lake.dir, 'measurements')];
  const duckdb = await openLockedDuckDb({ readableDirs, tempDir: temp.path, ...bounds });
  const connection = await duckdb.connect();
  await connection.run(sql`CREATE VIEW readings AS SELECT 1 AS tag, 2 AS value`);
  return {
    connection,
    async [Symbol.asyncDispose]() {
      connection.closeSync();
      duckdb.closeSync();
      await temp.remove();
    },
  };
}

test('what DuckDB may not do is refused by what its parser says of it', async () => {
  await using opened = await openDuckDb();
  for (const way of [...ESCAPES, ...MORE_ESCAPES]) {
    const refused = await readStatement(opened.connection, inPlace(way)).catch((error: unknown) => error);
    // What stands for a relation or a function is one, until it is looked for.
    if (!(refused instanceof Error)) expect(way).toMatch(/FROM ['"]|getenv/);
    else expect(refused, way).toMatchObject({ code: 'sql' });
  }
});

test('and if its parser said nothing, DuckDB itself would change nothing in the lake, and show nothing beside it', async () => {
  const before = await lakeFiles(lake.dir);
  await using opened = await openDuckDb();
  // Those of its functions that write what they log are for its parser alone to find: one ends the process.
  const ways = [...ESCAPES, ...MORE_ESCAPES].filter(
    (way) => !/enable_(logging|profiling)|sleep_ms/.test(way),
  );
  for (const way of ways) {
    const unchecked = checkedByParser(inPlace(way));
    const rows = await opened.connection.rows(unchecked).catch(() => []);
    expect(
      JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
      way,
    ).not.toContain('hidden-treasure');
  }
  expect(await lakeFiles(lake.dir)).toEqual(before);
  expect(await opened.connection.rows(sql`FROM readings`)).toEqual([[1, 2]]);
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
