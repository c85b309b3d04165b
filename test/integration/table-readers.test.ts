/** Delta tables through independent readers: at every version they see what receipts and objects say, and nothing else. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Receipt } from '../../src/core/model/index.ts';
import { dayRange, silentLog, systemClock } from '../../src/core/model/index.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { TABLE_RETENTION } from '../../src/lake/table/retention.ts';
import type { Table } from '../../src/lake/table/table.ts';
import { openTable } from '../../src/lake/table/table.ts';
import { convertLake } from '../../src/lake/upkeep/convert.ts';
import { rebuildLog } from '../../src/lake/upkeep/rebuild-log.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { createS3Store } from '../../src/store/s3/s3.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { DeltaReader } from '../helpers/clickhouse.ts';
import { clickHouseForTests, DELTA_READERS, localTable, s3Table } from '../helpers/clickhouse.ts';
import { duckRows, serviceNames } from '../helpers/lake.ts';
import type { RunExportOptions, TestService } from '../helpers/run.ts';
import { DATE, mustExport, newLake, OTHER_VESSEL, startTestService, VESSEL } from '../helpers/run.ts';
import type { TestBucket } from '../helpers/s3.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { awsEnv } from '../helpers/s3-client.ts';
import type { TempFolder } from '../helpers/temp.ts';
import { newMemoryFolder } from '../helpers/temp.ts';

const openClickHouse = clickHouseForTests();
const clickHouse = openClickHouse?.();
const s3 = await s3ForTests();
const READERS = Object.keys(DELTA_READERS) as DeltaReader[];
const JOB = {
  dataset: 'measurements',
  vessels: [VESSEL, OTHER_VESSEL],
  select: ['flat/{vessel}/S*'],
};
const NOON_MICROS = Date.parse(`${DATE}T12:00:00Z`) * 1_000;

/** What a table holds of each vessel-day, by whatever reader: sums of longs are exact, of doubles nearly. */
interface DayTotals {
  readonly rows: number;
  readonly longs: string;
  readonly doubles: number;
  readonly texts: number;
  readonly first: string;
  readonly last: string;
}
type Totals = Record<string, DayTotals>;

const TOTALS = `SELECT vessel || ' ' || toString(date), count(), sum(toInt128(long_value))::String, sum(double_value),
  count(json_value), min(timestamp)::String, max(timestamp)::String FROM TABLE GROUP BY vessel, date`;

function totalsOf(rows: readonly unknown[][]): Totals {
  return Object.fromEntries(
    rows.map(([day, count, longs, doubles, texts, first, last]) => {
      const time = (text: unknown) => String(text).slice(0, 26).padEnd(26, '0');
      const numbers = { rows: Number(count), doubles: Number(doubles), texts: Number(texts) };
      return [day, { ...numbers, longs: String(longs), first: time(first), last: time(last) }];
    }),
  );
}

describe.skipIf(clickHouse === undefined || s3 === undefined)('independent readers', () => {
  let service: TestService;
  let bucket: TestBucket;
  let temp: TempFolder;
  let store: ObjectStore;
  let series: string;
  /** What receipts and objects said when each version was the newest. */
  const expected = new Map<number, Totals>();

  beforeAll(async () => {
    service = await startTestService({ readingsPerDay: 1_000, vessels: 2 });
    [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
    bucket = await s3!.newBucket();
    temp = await newMemoryFolder();
    const { endpoint, region, accessKeyId, secretAccessKey } = s3!;
    const credentials = { accessKeyId, secretAccessKey };
    store = createS3Store({ bucket: bucket.bucket, endpoint, region, credentials, prefix: 'lake' });
  });
  afterAll(async () => {
    await clickHouse?.[Symbol.asyncDispose]();
    await service?.close();
    await store?.close();
    await bucket?.drop();
    await temp?.remove();
  });

  const source = (job: string) => s3Table(s3!, `${bucket.bucket}/lake/${job}`);
  const ask = (sql: string, reader: DeltaReader = 'delta-kernel', version?: number, job = 'measurements') =>
    clickHouse!.tableRows(source(job), sql, { reader, ...(version !== undefined && { version }) });
  const table = (entriesMs = TABLE_RETENTION.entriesMs): Promise<Table> => {
    const retention = { ...TABLE_RETENTION, checkpointVersions: 1, entriesMs };
    return openTable({ store, clock: systemClock, log: silentLog, prefix: 'measurements/', retention });
  };
  async function exportDays(
    args: NonNullable<RunExportOptions['args']>,
    jobs: NonNullable<RunExportOptions['jobs']> = { measurements: JOB },
  ): Promise<void> {
    const env = { LAKE_LAYOUT: 'delta', ...awsEnv(s3!) };
    await mustExport({ service, lakeUrl: `s3://${bucket.bucket}/lake`, jobs, env, args });
  }

  /** By the receipts and by DuckDB over the objects that they name, file by file. */
  async function trueTotals(): Promise<Totals> {
    const totals: Totals = {};
    for await (const { key } of store.list('_ledger/measurements/')) {
      const receipt = JSON.parse(Buffer.from((await store.get(key))!.bytes).toString());
      const { object, rows, vessel, date } = receipt as Receipt;
      if (object === null || rows === 0) continue;
      const path = join(temp.path, 'object.parquet');
      await writeFile(path, (await store.get(object.key))!.bytes);
      const [row] = await duckRows(
        `SELECT '${vessel} ${date}', count(*), coalesce(sum(long_value), 0)::VARCHAR, sum(double_value), count(json_value),
           strftime(min(timestamp) AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S.%f'),
           strftime(max(timestamp) AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S.%f')
         FROM read_parquet('${path}', hive_partitioning = false)`,
      );
      const found = totalsOf([row!]);
      expect(Object.values(found)[0]?.rows).toBe(rows);
      Object.assign(totals, found);
    }
    return totals;
  }

  function expectSame(found: Totals, truth: Totals, where: string): void {
    const rounded = (totals: Totals) =>
      Object.fromEntries(
        Object.entries(totals).map(([day, all]) => [day, { ...all, doubles: all.doubles.toPrecision(10) }]),
      );
    expect(rounded(found), where).toEqual(rounded(truth));
  }

  /** Both readers see the newest version as it is, and remember it. */
  async function check(): Promise<void> {
    const truth = await trueTotals();
    const { version } = await table();
    expected.set(version, truth);
    for (const reader of READERS)
      expectSame(totalsOf(await ask(TOTALS, reader)), truth, `${reader}, ${version}`);
  }

  /** Delta-kernel reads each remembered version from `from` on as it was. */
  async function checkOlder(from: number): Promise<void> {
    for (const [version, truth] of expected) {
      if (version < from) continue;
      expectSame(totalsOf(await ask(TOTALS, 'delta-kernel', version)), truth, `version ${version}`);
    }
  }

  test('first loads, replaced and emptied days', { timeout: 120_000 }, async () => {
    await exportDays({ from: DATE, to: '2026-01-07' });
    await check();
    service.overlay.addReadings(series, [
      { timestampMicros: NOON_MICROS + 1, valueText: '-0.0' },
      { timestampMicros: NOON_MICROS + 2, valueText: '1e300' },
    ]);
    await exportDays({ vessel: [VESSEL], force: true });
    await check();
    service.overlay.removeReadings(undefined, dayRange('2026-01-06'));
    await exportDays({ from: '2026-01-06', to: '2026-01-07', force: true, allowShrink: true });
    await check();
    expect(Object.keys(expected.get((await table()).version)!)).toHaveLength(2);
    await checkOlder(0);
  });

  test('after a checkpoint, and entries after it', async () => {
    await (await table()).checkpoint();
    await check();
    await exportDays({ from: '2026-01-07', to: '2026-01-08' });
    await check();
    await checkOlder(0);
  });

  test('bounds skip no row that is asked for', async () => {
    const sql = 'SELECT toUnixTimestamp64Micro(max(timestamp)) FROM TABLE';
    const [[micros]] = (await ask(sql)) as [[string]];
    const { version } = await table();
    const rows = Object.values(expected.get(version)!).reduce((sum, day) => sum + day.rows, 0);
    for (const reader of READERS) {
      const count = async (where: string) =>
        Number((await ask(`SELECT count() FROM TABLE WHERE ${where}`, reader))[0]![0]);
      // The last reading of all, to the microsecond; zero of either sign; the largest double.
      expect(await count(`timestamp >= fromUnixTimestamp64Micro(${micros})`), reader).toBeGreaterThan(0);
      expect(await count(`timestamp > fromUnixTimestamp64Micro(${micros})`), reader).toBe(0);
      expect(await count("timestamp >= '2026-01-01' AND timestamp < '2026-01-08'"), reader).toBe(rows);
      expect(await count(`double_value = 0 AND time_series_id = '${series}'`), reader).toBeGreaterThan(0);
      expect(await count('double_value >= 1e300'), reader).toBe(1);
    }
    // Its own reader finds no row by a partition, whoever wrote the table.
    const ofDay = `SELECT count() FROM TABLE WHERE vessel = '${OTHER_VESSEL}' AND date = '${DATE}'`;
    const [[found]] = (await ask(ofDay)) as [[string]];
    expect(Number(found)).toBe(expected.get(version)![`${OTHER_VESSEL} ${DATE}`]!.rows);
  });

  test('after the entries before a checkpoint have gone', async () => {
    // The newest entry counts as old too.
    const view = await table(-1);
    const last = view.version;
    await view.tidy();
    expect(await store.head(`measurements/_delta_log/${'0'.repeat(20)}.json`)).toBeUndefined();
    expect(await store.head(`measurements/_delta_log/${String(last).padStart(20, '0')}.json`)).toBeDefined();
    await check();
    await exportDays({ from: DATE, force: true });
    await check();
    await checkOlder(last);
  });

  test('after the log was lost, and was rebuilt from the receipts', async () => {
    const { version: last } = await table();
    for await (const { key } of store.list('measurements/_delta_log/')) await store.remove(key);
    const ports = { store, clock: systemClock, log: silentLog, self: thisProcess(), say: () => {} };
    const { signal } = new AbortController();
    const rebuilt = await rebuildLog({ ...ports, signal }, 'measurements', true);
    expect(rebuilt).toMatchObject({ leftOut: [], isWritten: true });
    expect(rebuilt.version).toBeGreaterThanOrEqual(last);
    await check();
    await exportDays({ from: DATE, force: true });
    await check();
    await checkOlder(rebuilt.version);
  });

  test('columns that were added are null in the files before', async () => {
    const jobs = (aggregations: string[]) => ({
      daily: { ...JOB, dataset: 'statistics', window: '1h', aggregations },
    });
    const run = (date: string, aggregations: string[]) => exportDays({ from: date }, jobs(aggregations));
    await run(DATE, ['mean', 'count']);
    await run('2026-01-07', ['max', 'count', 'first_val']);
    // Its own reader refuses a log in which columns come.
    const sql = `SELECT toString(date), sum(count) > 0, count(mean) > 0, count(max) > 0, count(first_val) > 0
       FROM TABLE GROUP BY date ORDER BY date`;
    expect(await ask(sql, 'delta-kernel', undefined, 'daily')).toEqual([
      [DATE, 1, 1, 0, 0],
      ['2026-01-07', 1, 0, 1, 1],
    ]);
  });

  test('a lake that was converted in place, in a folder, and exported into since', async () => {
    await using lake = await newLake();
    const local = createLocalStore(lake.dir);
    const run = { service, lakeUrl: lake.url, jobs: { measurements: JOB } };
    await mustExport({ ...run, args: { from: DATE, to: '2026-01-08' } });
    const counts = async () => {
      const rows: [string, string][] = [];
      for await (const { key } of local.list('_ledger/measurements/')) {
        const receipt = JSON.parse(Buffer.from((await local.get(key))!.bytes).toString()) as Receipt;
        if (receipt.rows > 0) rows.push([`${receipt.vessel} ${receipt.date}`, String(receipt.rows)]);
      }
      return rows.sort();
    };
    const rows = async (reader: DeltaReader, sql: string) =>
      await clickHouse!.tableRows(localTable(join(lake.dir, 'measurements')), sql, { reader });
    async function expectSameCounts(): Promise<void> {
      const days =
        "SELECT vessel || ' ' || toString(date) AS day, count() FROM TABLE GROUP BY day ORDER BY day";
      const truth = await counts();
      expect(await rows('delta-kernel', days)).toEqual(truth);
      // Its own reader knows no partitions in a folder.
      const total = truth.reduce((sum, [, count]) => sum + Number(count), 0);
      expect(await rows("ClickHouse's own reader", 'SELECT count() FROM TABLE')).toEqual([[String(total)]]);
    }
    const clock = { ...systemClock, sleep: async () => {} };
    const ports = { store: local, clock, log: silentLog, self: thisProcess(), say: () => {} };
    await convertLake({ ...ports, signal: new AbortController().signal });
    // It ends with a checkpoint: so both can read a folder.
    await expectSameCounts();
    service.overlay.addReadings(series, [{ timestampMicros: NOON_MICROS + 3, valueText: '3.5' }]);
    await mustExport({ ...run, args: { from: DATE, vessel: [VESSEL], force: true } });
    const [[first]] = (await counts()) as [[string, string]];
    expect(first).toBe(`${VESSEL} ${DATE}`);
    await expectSameCounts();
  });
});
