/** `sql` over a real S3 server: the answers of the same lake in a folder, and only the objects that a query may need. */
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/core/model/index.ts';
import { objectKey } from '../../../src/lake/keys.ts';
import { readLayout } from '../../../src/lake/lake-file.ts';
import { type LakeSession, openLakeSession } from '../../../src/query/sql/lake-session.ts';
import { findSources } from '../../../src/query/sql/lake-sources.ts';
import { chooseColumns } from '../../../src/query/views/wide-columns.ts';
import { defineJobs } from '../../../src/runtime/config/jobs.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import type { JobFile } from '../../helpers/run.ts';
import { DATE, OTHER_VESSEL, VESSEL } from '../../helpers/run.ts';
import { s3ForTests } from '../../helpers/s3.ts';
import { awsEnv } from '../../helpers/s3-client.ts';
import { newTempFolder, type TempFolder } from '../../helpers/temp.ts';
import { JOBS, NEXT_DATE, openViewLakes } from '../views/view-lake.ts';
import { runSql } from './sql-run.ts';

const s3 = await s3ForTests();
const { signal } = new AbortController();

describe.skipIf(s3 === undefined)('on S3', () => {
  let lakes: Awaited<ReturnType<typeof openViewLakes<'plain' | 'delta'>>>;
  let lakeUrl: string;
  let env: Record<string, string>;
  let drop: () => Promise<void>;
  let store: ObjectStore;
  let temp: TempFolder;
  let session: LakeSession;
  let here: LakeSession;
  let local: ObjectStore;
  let table: ObjectStore;
  let ofTable: LakeSession;
  /** Objects that were read since they were last looked at. */
  let read = new Set<string>();

  async function openSession(
    on: ObjectStore,
    maxFetchBytes = 1e9,
    files: Readonly<Record<string, JobFile>> = JOBS,
  ): Promise<LakeSession> {
    const { jobs } = defineJobs(files as never);
    const found = await findSources(on, jobs, []);
    const wide = (series: Parameters<typeof chooseColumns>[0]) => ({
      ...{ windowMicros: 600e6, aggregate: 'mean' as const, holdMicros: 3_600e6 },
      columns: chooseColumns(series, 'shared').columns,
    });
    const bounds = { tempDir: temp.path, maxFetchBytes };
    const lake = { store: on, layout: await readLayout(on), log: silentLog };
    return openLakeSession({ ...lake, ...found, ...bounds, wide }, signal);
  }

  beforeAll(async () => {
    lakes = await openViewLakes('plain', 'delta');
    const bucket = await s3!.newBucket();
    drop = bucket.drop;
    lakeUrl = `s3://${bucket.bucket}/lake`;
    env = awsEnv(s3!);
    const open = await openStore(lakeUrl, env);
    const getRange: ObjectStore['getRange'] = (key, from, to) => {
      read.add(key);
      return open.getRange(key, from, to);
    };
    store = { ...open, getRange };
    temp = await newTempFolder();
    local = await openStore(lakes.lakes.plain.url, {});
    await copy(local, open);
    // And as tables.
    const source = await openStore(lakes.lakes.delta.url, {});
    table = await openStore(`s3://${bucket.bucket}/table`, env);
    await copy(source, table);
    await source.close();
    ofTable = await openSession(table);
    session = await openSession(store);
    here = await openSession(local);
  });
  afterAll(async () => {
    await session.close();
    await here.close();
    await ofTable.close();
    await table.close();
    expect(await readdir(temp.path)).toEqual([]);
    await temp.remove();
    await store.close();
    await local.close();
    await lakes[Symbol.asyncDispose]();
    await drop();
  });

  async function rowsOf(of: LakeSession, sql: string): Promise<unknown[]> {
    const rows: unknown[] = [];
    for await (const row of (await of.query(sql, signal)).rows) rows.push(row);
    return rows;
  }

  const day = (vessel: string, date: string) => objectKey({ job: 'measurements', vessel, date });
  const ALL = [VESSEL, OTHER_VESSEL].flatMap((vessel) => [DATE, NEXT_DATE].map((date) => day(vessel, date)));
  const DAY_0 = [day(VESSEL, DATE), day(OTHER_VESSEL, DATE)];
  const DAY_1 = [day(VESSEL, NEXT_DATE), day(OTHER_VESSEL, NEXT_DATE)];

  /** Conditions, and the objects that they leave. */
  const CONDITIONS: readonly (readonly [string, readonly string[]])[] = [
    [`date = '${DATE}'`, DAY_0],
    [`date = DATE '${DATE}' AND vessel = '${VESSEL}'`, [day(VESSEL, DATE)]],
    [`vessel IN ('${VESSEL}')`, [day(VESSEL, DATE), day(VESSEL, NEXT_DATE)]],
    [`date > '${DATE}' OR vessel = '${VESSEL}'`, [...DAY_1, day(VESSEL, DATE)]],
    [`timestamp >= '${NEXT_DATE} 05:00:00Z'`, DAY_1],
    [`timestamp BETWEEN '${DATE}T06:00:00Z' AND '${DATE}T07:00:00Z'`, DAY_0],
    [`timestamp >= '${NEXT_DATE}' OR vessel = '${VESSEL}'`, ALL],
    [`NOT (timestamp < '${NEXT_DATE}')`, DAY_1],
    [`timestamp::DATE = '${DATE}'`, ALL],
    [`value > 3 AND tag LIKE 'S%' AND date BETWEEN '${NEXT_DATE}' AND '2027-01-01'`, DAY_1],
    [`timestamp >= '${NEXT_DATE}'::TIMESTAMPTZ + INTERVAL 1 HOUR`, DAY_1],
    ["date > '2030-01-01'", []],
    [`date = '${DATE}' AND EXISTS (SELECT 1 FROM series s WHERE s.tag = readings.tag)`, DAY_0],
  ];

  test.for(CONDITIONS)('WHERE %s', async ([condition, expected]) => {
    // Nothing is kept from one query to the next: the session is new.
    const fresh = await openSession(store);
    read = new Set();
    const sql = `SELECT vessel, date, count(*), sum(value), min(timestamp), max(timestamp) FROM readings WHERE ${condition} GROUP BY ALL ORDER BY ALL`;
    try {
      expect(await rowsOf(fresh, sql)).toEqual(await rowsOf(here, sql));
      const objects = [...read].filter((key) => key.startsWith('measurements/')).sort();
      // Never less than it needs; and no more than these.
      expect(objects).toEqual([...expected].sort());
    } finally {
      await fresh.close();
    }
  });

  test.for([
    'SELECT * FROM series ORDER BY ALL',
    'SELECT * FROM receipts ORDER BY ALL',
    'SELECT vessel, date, count(*), sum(count), avg(mean) FROM windows GROUP BY ALL ORDER BY ALL',
    'SELECT * FROM wide ORDER BY ALL LIMIT 50',
    `SELECT a.vessel, count(*) FROM readings a JOIN readings b ON a.timestamp = b.timestamp AND a.date = '${DATE}' AND b.vessel = '${VESSEL}' GROUP BY ALL ORDER BY ALL`,
    `SELECT * FROM (SELECT * FROM readings WHERE date = '${DATE}' UNION ALL SELECT * FROM readings WHERE date = '${NEXT_DATE}') ORDER BY ALL LIMIT 20`,
    `SELECT * FROM readings WHERE vessel = '${VESSEL}' ORDER BY timestamp DESC, tag LIMIT 5`,
    `WITH r AS MATERIALIZED (SELECT * FROM readings WHERE date = '${DATE}') SELECT (SELECT count(*) FROM r), (SELECT count(*) FROM r WHERE vessel = '${VESSEL}')`,
    `SELECT m.vessel, r."rows", count(*) FROM measurements m JOIN receipts r ON r.job = 'measurements' AND r.vessel = m.vessel AND r.date = m.date GROUP BY ALL ORDER BY ALL`,
    `SELECT date, (SELECT count(*) FROM readings i WHERE i.date = o.date AND i.vessel = o.vessel) FROM receipts o WHERE job = 'measurements' ORDER BY ALL`,
    `FROM readings SEMI JOIN (SELECT '${VESSEL}' AS vessel) USING (vessel) SELECT count(*)`,
  ])('%s gives what the lake in a folder gives', async (sql) => {
    const rows = await rowsOf(session, sql);
    expect(rows).toEqual(await rowsOf(here, sql));
    expect(rows.length).toBeGreaterThan(0);
    // Receipts of tables name other sizes and times.
    if (/receipts|coverage/.test(sql)) return;
    expect(await rowsOf(ofTable, sql)).toEqual(rows);
  });

  test('conditions on wide reach the objects too', async () => {
    const fresh = await openSession(store);
    await rowsOf(fresh, 'SELECT 1');
    const sql = `SELECT * FROM wide WHERE vessel = '${VESSEL}' AND date = '${NEXT_DATE}' ORDER BY ALL`;
    read = new Set();
    expect(await rowsOf(fresh, sql)).toEqual(await rowsOf(here, sql));
    expect([...read].filter((key) => key.startsWith('measurements/'))).toEqual([day(VESSEL, NEXT_DATE)]);
    await fresh.close();
  });

  test('aggregations that no day was exported with, and jobs that never ran, are null and no rows', async () => {
    const other = { ...JOBS.statistics, aggregations: ['mean', 'min'] };
    const sql = `SELECT count(*) > 0, count(mean) > 0, count(min), typeof(any_value(min)) FROM windows WHERE date = '${DATE}'`;
    for (const on of [store, table]) {
      const changed = await openSession(on, 1e9, { ...JOBS, statistics: other });
      read = new Set();
      expect(await rowsOf(changed, sql)).toEqual([[true, true, 0, 'DOUBLE']]);
      // Nor does that make it read the other day.
      const days = [...read].filter((key) => key.startsWith('statistics/')).map((key) => key.includes(DATE));
      expect(days).toEqual(on === store ? [true, true] : []);
      await changed.close();
      const { metadata, statistics } = JOBS;
      const never = await openSession(on, 1e9, {
        metadata: metadata!,
        statistics: statistics!,
        raw: JOBS.measurements!,
      });
      expect(
        await rowsOf(
          never,
          'SELECT (SELECT count(*) FROM readings), (SELECT count(*) FROM raw), (SELECT count(*) FROM wide)',
        ),
      ).toEqual([[0, 0, 0]]);
      expect((await rowsOf(never, 'SELECT * FROM series')).length).toBeGreaterThan(0);
      await never.close();
    }
  });

  test('what was fetched is kept, what would be too much is refused before anything is fetched', async () => {
    await rowsOf(session, `SELECT count(*) FROM readings WHERE vessel = '${VESSEL}'`);
    read = new Set();
    await rowsOf(session, `SELECT avg(value) FROM readings WHERE vessel = '${VESSEL}'`);
    expect([...read]).toEqual([]);
    const small = await openSession(store, 13_500);
    read = new Set();
    await expect(rowsOf(small, `SELECT count(*) FROM readings WHERE tag LIKE '%e%'`)).rejects.toThrow(
      /at most 0\.0000135 GB are fetched/,
    );
    // What is found while it runs comes too late; and it says how to write it.
    await expect(
      rowsOf(small, 'SELECT count(*) FROM readings WHERE date = (SELECT max(last_date) FROM coverage)'),
    ).rejects.toThrow(/needs \d+ objects.*as literals: a value that is computed during the query/);
    expect([...read].filter((key) => key.startsWith('measurements/'))).toEqual([]);
    await small.close();
  });

  test('an object that is replaced is fetched again, one that is gone is an error', async () => {
    const other = await openSession(store);
    const key = day(VESSEL, DATE);
    const sql = `SELECT count(*) FROM measurements WHERE vessel = '${VESSEL}' AND date = '${DATE}'`;
    const [before] = await rowsOf(other, sql);
    const { bytes } = (await store.get(key))!;
    await store.put(key, (await store.get(day(OTHER_VESSEL, DATE)))!.bytes);
    expect(await rowsOf(other, sql)).not.toEqual([before]);
    await store.put(key, bytes);
    expect(await rowsOf(other, sql)).toEqual([before]);
    await other.close();
    const blind = await openSession({
      ...store,
      head: async (one) => (one === key ? undefined : store.head(one)),
    });
    await expect(rowsOf(blind, sql)).rejects.toThrow(/removed or replaced while it was read/);
    await blind.close();
  });

  test('the command asks it like a folder', async () => {
    const sql = 'SELECT vessel, days, total_rows FROM coverage ORDER BY ALL';
    const place = { lakeUrl, env: { ...env, TEMP_DIR: temp.path } };
    const remote = await runSql(place, sql, { csv: true });
    expect(remote).toMatchObject({ code: 0, stderr: '' });
    expect(remote.stdout).toBe((await runSql({ lakeUrl: lakes.lakes.plain.url }, sql, { csv: true })).stdout);
  });
});

async function copy(from: ObjectStore, to: ObjectStore): Promise<void> {
  for await (const { key } of from.list('')) await to.put(key, (await from.get(key))!.bytes);
}
