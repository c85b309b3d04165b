/** `sql` reads the lake and nothing else, and writes nothing: the ways out that DuckDB has are shut. */
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLockedDuckDb } from '../../../src/core/duckdb/locked.ts';
import { checkedByParser, sql } from '../../../src/core/duckdb/sql-text.ts';
import { readStatement } from '../../../src/query/sql/read-only.ts';
import { lakeFiles } from '../../helpers/lake.ts';
import type { TestLake } from '../../helpers/run.ts';
import { ESCAPES, MORE_ESCAPES } from '../../helpers/sql-escapes.ts';
import { newTempFolder, type TempFolder } from '../../helpers/temp.ts';
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
    const rows = await opened.connection
      .streamTyped(unchecked)
      .then((result) => result.getRows())
      .catch(() => []);
    expect(
      JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
      way,
    ).not.toContain('hidden-treasure');
  }
  expect(await lakeFiles(lake.dir)).toEqual(before);
  for (const several of ['CREATE VIEW a AS SELECT 1; DROP VIEW readings', 'SELECT 1\0; DROP VIEW readings'])
    for (const call of ['run', 'rows', 'stream', 'rowObjects'] as const)
      await expect(opened.connection[call](checkedByParser(several))).rejects.toMatchObject({ code: 'sql' });
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
    'SELECT * FROM range(3) UNION ALL SELECT 7 -- a warning',
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
