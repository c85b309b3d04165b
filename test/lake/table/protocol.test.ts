/** Logs that exports, conversions, checkpoints, clean-ups and rebuilds have written keep the rules of the protocol. */
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Clock, dayRange, silentLog, systemClock } from '../../../src/core/model/index.ts';
import { thisProcess } from '../../../src/core/process/process-id.ts';
import { TABLE_RETENTION } from '../../../src/lake/table/retention.ts';
import { openTable, type Table } from '../../../src/lake/table/table.ts';
import { convertLake } from '../../../src/lake/upkeep/convert.ts';
import { findGarbage } from '../../../src/lake/upkeep/garbage.ts';
import { rebuildLog } from '../../../src/lake/upkeep/rebuild-log.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import {
  addOddReadings,
  copyLake,
  EMPTY_DATE,
  exportAuditLake,
  JOBS,
  startAuditService,
  TO,
} from '../../audit/verify/audit-lake.ts';
import { serviceNames } from '../../helpers/lake.ts';
import { mustExport, newLake, type TestLake, type TestService, VESSEL } from '../../helpers/run.ts';
import { checkProtocol } from './protocol-check.ts';

const HASTY: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 20), signal) };
const DELTA = { LAKE_LAYOUT: 'delta' };

let service: TestService;
let lake: TestLake;
beforeAll(async () => {
  service = await startAuditService();
  const ids = [...(await serviceNames(service, [`flat/${VESSEL}/*`])).keys()];
  addOddReadings(service, ids);
  lake = await newLake();
  await exportAuditLake(service, { lakeUrl: lake.url, env: DELTA });
  // A day that had none gets readings, and loses them; a job gets a column.
  const run = (jobs: object, args: object) =>
    mustExport({ service, lakeUrl: lake.url, env: DELTA, jobs: { ...jobs }, args: { force: true, ...args } });
  const { measurements, statistics } = JOBS;
  service.overlay.addReadings(ids[0]!, [
    { timestampMicros: dayRange(EMPTY_DATE).fromMicros, valueText: '1.5' },
  ]);
  await run(
    { measurements, statistics: { ...statistics, aggregations: ['mean', 'kurtosis'] } },
    { from: EMPTY_DATE, to: TO },
  );
  service.overlay.removeReadings(undefined, dayRange(EMPTY_DATE));
  await run({ measurements }, { from: EMPTY_DATE, to: TO, allowShrink: true });
});
afterAll(async () => {
  await service.close();
  await lake[Symbol.asyncDispose]();
});

const ports = (dir: string) => ({
  ...{ store: createLocalStore(dir), clock: HASTY, log: silentLog, self: thisProcess(), say: () => {} },
  signal: new AbortController().signal,
});
const tableIn = (dir: string, job: string, retention: Partial<typeof TABLE_RETENTION> = {}): Promise<Table> =>
  openTable({ ...ports(dir), prefix: `${job}/`, retention: { ...TABLE_RETENTION, ...retention } });

/** Of each job; fails where there are no checks of that. */
async function expectKept(dir: string, atLeast: number): Promise<void> {
  for (const job of Object.keys(JOBS)) {
    const { checks, faults } = await checkProtocol(join(dir, job));
    expect(faults, job).toEqual([]);
    expect(checks, job).toBeGreaterThan(atLeast);
  }
}

test('exported days, replaced, emptied, and of more columns', async () => {
  await expectKept(lake.dir, 80);
});

test('checkpoints, and what a clean-up leaves', async () => {
  await using copy = await copyLake(lake.url);
  for (const job of Object.keys(JOBS)) {
    const table = await tableIn(copy.dir, job, { checkpointVersions: 1 });
    await table.checkpoint();
    await table.commit(table.version, 'WRITE', [{ txn: { appId: 'a', version: 1, lastUpdated: 2 } }]);
    await table.commit(table.version, 'WRITE', [{ metaData: { ...table.metadata!, description: 'd' } }]);
    await table.tidy();
  }
  await expectKept(copy.dir, 150);
  for (const job of Object.keys(JOBS)) {
    // The newest entry counts as old too.
    const table = await tableIn(copy.dir, job, { checkpointVersions: 1, entriesMs: -1 });
    await table.commit(table.version, 'FENCE', []);
    await table.tidy();
  }
  expect(
    (await readdir(join(copy.dir, 'measurements/_delta_log'))).filter((name) => name.endsWith('.json')),
  ).toHaveLength(1);
  await expectKept(copy.dir, 80);
  const clock = { ...systemClock, nowMs: () => Date.now() + 2 * 86_400_000 };
  for await (const item of findGarbage({ ...ports(copy.dir), clock })) await item.remove();
  await expectKept(copy.dir, 80);
});

test('a conversion', async () => {
  await using plain = await newLake();
  await exportAuditLake(service, { lakeUrl: plain.url });
  await convertLake(ports(plain.dir));
  await expectKept(plain.dir, 100);
});

test('a log that was rebuilt, anew and behind what was there', async () => {
  await using copy = await copyLake(lake.url);
  await rm(join(copy.dir, 'measurements/_delta_log'), { recursive: true });
  const entries = (await readdir(join(copy.dir, 'statistics/_delta_log'))).sort();
  await rm(join(copy.dir, 'statistics/_delta_log', entries.at(-1)!));
  const table = await tableIn(copy.dir, 'metadata');
  const path = [...table.days()][0]!.files[0]!.path;
  await table.commit(table.version, 'WRITE', [{ remove: { path, deletionTimestamp: 1, dataChange: true } }]);
  for (const job of Object.keys(JOBS))
    expect(await rebuildLog(ports(copy.dir), job, true)).toMatchObject({ isWritten: true, leftOut: [] });
  await expectKept(copy.dir, 80);
});

const FIRST = '_delta_log/00000000000000000000.json';
const SECOND = '_delta_log/00000000000000000001.json';
const NINTH = '_delta_log/00000000000000000009.json';
const replacing = (file: string, from: string | RegExp, to: string) => async (dir: string) => {
  const text = await readFile(join(dir, file), 'utf8');
  expect(text).toMatch(from);
  await writeFile(join(dir, file), text.replace(from, to));
};

test.for([
  [
    'log: without a gap',
    (dir) => rm(join(dir, SECOND)).then(() => writeFile(join(dir, NINTH), '{"txn":{}}\n')),
  ],
  ['version 0 has protocol', replacing(FIRST, /.*"protocol".*\n/, '')],
  ['protocol.minReaderVersion', replacing(FIRST, '"minReaderVersion":1', '"minReaderVersion":3')],
  ['schema.fields.0.nullable', replacing(FIRST, '\\"nullable\\":true', '\\"nullable\\":false')],
  ['add: size', replacing(SECOND, /"size":\d/, '"size":1')],
  ['stats: numRecords is their number', replacing(SECOND, /numRecords\\":\d/, 'numRecords\\":1')],
  [
    'stats: every value is within',
    replacing(SECOND, /maxValues\\":{\\"timestamp\\":\\"2026/, 'maxValues\\":{\\"timestamp\\":\\"2025'),
  ],
  [
    'remove: of a file that is there',
    (dir) =>
      appendFile(join(dir, SECOND), '{"remove":{"path":"x","deletionTimestamp":1,"dataChange":true}}\n'),
  ],
] as readonly (readonly [string, (dir: string) => Promise<unknown>])[])(
  'the check finds what breaks "%s"',
  async ([rule, damage]) => {
    await using copy = await copyLake(lake.url);
    const dir = join(copy.dir, 'measurements');
    await damage(dir);
    const { faults } = await checkProtocol(dir);
    expect(faults.map((fault) => fault.startsWith(rule))).toContain(true);
  },
);

test('the check finds what a checkpoint says otherwise', async () => {
  await using copy = await copyLake(lake.url);
  await (await tableIn(copy.dir, 'measurements')).checkpoint();
  const dir = join(copy.dir, 'measurements');
  await replacing(SECOND, /"modificationTime":\d/, '"modificationTime":9')(dir);
  await replacing('_delta_log/_last_checkpoint', /"size":\d+/, '"size":1')(dir);
  const { faults } = await checkProtocol(dir);
  expect(faults.map((fault) => fault.split(': ').slice(0, 2).join(': '))).toEqual([
    'checkpoint: what the entry says of a file',
    expect.stringContaining('_last_checkpoint'),
  ]);
});
