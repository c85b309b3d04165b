/** A lake that an older release wrote, in format version 1: read, verified, reconciled, and left alone. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { reconcileCommand } from '../../src/cli/commands/reconcile.ts';
import { FORMAT_VERSION, systemClock } from '../../src/core/model/index.ts';
import { METADATA_COLUMNS } from '../../src/parquet/write/columns.ts';
import { runVerify } from '../audit/verify/audit-lake.ts';
import { commandRun } from '../helpers/command-run.ts';
import { duckRows, expectExactDay, lakeFiles, receiptOf, unfinishedFiles } from '../helpers/lake.ts';
import type { TestLake } from '../helpers/run.ts';
import {
  DATE,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  mustExport,
  newLake,
  QUICK_LIMITS,
  serviceForTests,
  VESSEL,
} from '../helpers/run.ts';

const FIXTURE = join(import.meta.dirname, '../fixtures/lake-v1');
const CAPTURED = '2026-11-21';
const JOBS = {
  measurements: FEW_SERIES,
  statistics: {
    ...FEW_SERIES,
    dataset: 'statistics',
    window: '1h',
    aggregations: ['mean', 'min', 'max', 'count', 'first_time', 'last_val'],
  },
  metadata: { ...FEW_SERIES, dataset: 'metadata' },
};
const DAYS = [
  { job: 'measurements', vessel: VESSEL, date: DATE },
  { job: 'statistics', vessel: VESSEL, date: DATE },
];

const service = await serviceForTests();
let lake: TestLake;
let before: Map<string, Buffer>;

beforeEach(async () => {
  lake = await newLake();
  await cp(FIXTURE, lake.dir, { recursive: true, filter: (path) => !path.endsWith('.md') });
  before = await lakeFiles(lake.dir);
  return () => lake[Symbol.asyncDispose]();
});

/** Without the index, which any command may make, and the layout, which the first export writes down. */
async function changedFiles(): Promise<string[]> {
  const now = await lakeFiles(lake.dir);
  const keys = new Set([...before.keys(), ...now.keys()]);
  return [...keys].filter(
    (key) =>
      !key.startsWith('_index/') &&
      key !== '_lake.json' &&
      !now.get(key)?.equals(before.get(key) ?? Buffer.alloc(0)),
  );
}

/** Rows without their order: row groups of the two versions may be cut elsewhere. */
async function rowsOf(dir: string, job: string, date: string): Promise<unknown[][]> {
  const path = join(dir, `${job}/vessel=${VESSEL}/date=${date}/data.parquet`);
  return duckRows(`SELECT * FROM read_parquet('${path}', hive_partitioning = false) ORDER BY ALL`);
}

test('the fixture is of version 1', async () => {
  expect(FORMAT_VERSION).toBeGreaterThan(1);
  for (const day of DAYS) expect(await receiptOf(lake.dir, day)).toMatchObject({ formatVersion: 1 });
});

test('verify finds nothing, with every row read back and the service asked', async () => {
  const { code, result } = await runVerify({
    lakeUrl: lake.url,
    service,
    jobs: JOBS,
    from: DATE,
    to: '2026-11-22',
    deep: true,
  });
  expect({ code, findings: result.findings }).toEqual({ code: 0, findings: [] });
  expect(await changedFiles()).toEqual([]);
});

test('run, over both days, has nothing to do', async () => {
  const ran = await mustExport({
    service,
    lakeUrl: lake.url,
    jobs: JOBS,
    args: { jobs: ['measurements', 'statistics'] },
  });
  expect(ran.results.map(({ exported }) => exported)).toEqual([false, false]);
  expect(await changedFiles()).toEqual([]);
});

test('reconcile finds nothing changed', async () => {
  const ran = await commandRun({ service, lakeUrl: lake.url, jobs: JOBS }, (context) =>
    reconcileCommand(
      context,
      ['measurements', 'statistics'],
      { json: true, from: DATE, to: '2026-01-06' },
      {
        clientLimits: QUICK_LIMITS,
        clock: { ...systemClock, nowMs: () => Date.parse('2026-01-10T12:00:00Z') },
      },
    ),
  );
  expect(ran).toMatchObject({ code: 0 });
  expect(JSON.parse(ran.stdout).findings).toEqual([]);
  expect(await changedFiles()).toEqual([]);
});

test('a day that is asked for gets the new format, and the same rows', async () => {
  await mustExport({
    service,
    lakeUrl: lake.url,
    jobs: JOBS,
    args: { jobs: ['measurements', 'statistics'], force: true },
  });
  for (const day of DAYS) {
    expect(await receiptOf(lake.dir, day)).toMatchObject({ formatVersion: FORMAT_VERSION, epoch: 2 });
    expect(await rowsOf(lake.dir, day.job, DATE)).toEqual(await rowsOf(FIXTURE, day.job, DATE));
  }
  await expectExactDay(service, { lakeDir: lake.dir, day: DAYS[0]!, expressions: FEW_EXPRESSIONS });
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
});

test('its snapshot of metadata has the columns of a new one', async () => {
  const path = join(lake.dir, `metadata/vessel=${VESSEL}/date=${CAPTURED}/data.parquet`);
  const described = `DESCRIBE SELECT * FROM read_parquet('${path}', hive_partitioning = false)`;
  const names = (await duckRows(described)).map(([name]) => name);
  expect(names).toEqual(METADATA_COLUMNS.map(({ name }) => name));
});
