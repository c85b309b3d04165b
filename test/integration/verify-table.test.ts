/** Verify on a delta lake: each kind of damage to log, files and receipts is found by its name and by nothing else. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { receiptKey } from '../../src/lake/keys.ts';
import type { Receipt } from '../../src/model/index.ts';
import { silentLog, systemClock } from '../../src/model/index.ts';
import { createLocalStore } from '../../src/store/local.ts';
import { openTable } from '../../src/table/table.ts';
import { receiptOf } from '../helpers/lake.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import { newLake, VESSEL } from '../helpers/run.ts';
import {
  copyLake,
  edit,
  editReceipt,
  exportAuditLake,
  MEASURED,
  refuseWrites,
  runVerify,
  startAuditService,
  WINDOWS,
} from '../verify/audit-lake.ts';

const LOG = 'measurements/_delta_log';
const DAY = `measurements/${MEASURED.date}`;
const pathOf = (receipt: Receipt) => receipt.object!.key.slice('measurements/'.length);

let service: TestService;
let sound: TestLake;
beforeAll(async () => {
  service = await startAuditService();
  sound = await newLake();
  await exportAuditLake(service, { lakeUrl: sound.url, env: { LAKE_LAYOUT: 'delta' } });
});
afterAll(async () => {
  await service.close();
  await sound[Symbol.asyncDispose]();
});

/** The newest entry of the log of measurements. */
async function newestEntry(dir: string): Promise<string> {
  const names = (await readdir(join(dir, LOG))).filter((name) => name.endsWith('.json'));
  return `${LOG}/${names.sort().at(-1)}`;
}

/** Commit to the table of measurements behind our back; what verify finds then. */
async function commitBehind(
  dir: string,
  actions: (receipt: Receipt) => object[],
  from: typeof MEASURED = MEASURED,
): Promise<void> {
  const receipt = (await receiptOf(dir, from))!;
  const newest = await newestEntry(dir);
  const version = Number(newest.slice(LOG.length + 1, -'.json'.length)) + 1;
  const text = actions(receipt).map((action) => `${JSON.stringify(action)}\n`);
  await writeFile(join(dir, LOG, `${String(version).padStart(20, '0')}.json`), text.join(''));
}

const removal = (receipt: Receipt) => ({
  remove: { path: pathOf(receipt), deletionTimestamp: 1, dataChange: true },
});
const addition = (path: string, sizeBytes: number) => ({
  add: {
    ...{ path, size: sizeBytes, modificationTime: 1, dataChange: true },
    partitionValues: { vessel: VESSEL, date: MEASURED.date },
  },
});

test('a sound lake gives no finding, deep or not, and is not written to', async () => {
  const options = { lakeUrl: sound.url, wrapStore: refuseWrites };
  const { code, found, result } = await runVerify(options);
  expect(found).toEqual([]);
  expect({ code, ...result }).toMatchObject({ code: 0, vesselDays: 5, withFindings: 0, remarks: [] });
  const deep = await runVerify({ ...options, service, deep: true });
  expect(deep.found).toEqual([]);
  expect(deep.result).toMatchObject({ vesselDays: 5, rows: result.rows });
});

test('a sound lake gives none after a checkpoint either', async () => {
  await using lake = await copyLake(sound.url);
  const store = createLocalStore(lake.dir);
  const ports = { store, clock: systemClock, log: silentLog, prefix: 'measurements/' };
  await (await openTable(ports)).checkpoint();
  await rm(join(lake.dir, `${LOG}/${'0'.repeat(20)}.json`));
  expect((await runVerify({ lakeUrl: lake.url })).found).toEqual([]);
});

const DAMAGES: Readonly<Record<string, readonly [damage: (dir: string) => Promise<unknown>, found: string]>> =
  {
    'a file is missing': [
      async (dir) => rm(join(dir, (await receiptOf(dir, MEASURED))!.object!.key)),
      `object-missing ${DAY}`,
    ],
    'a file was overwritten': [
      async (dir) =>
        edit(dir, (await receiptOf(dir, MEASURED))!.object!.key, (bytes) => bytes.fill(7, 100, 110)),
      `checksum-differs ${DAY}`,
    ],
    'the table lost a day': [
      (dir) => commitBehind(dir, (receipt) => [removal(receipt)]),
      `not-in-table ${DAY}`,
    ],
    'the table has another file, which is not there': [
      (dir) => commitBehind(dir, (receipt) => [removal(receipt), addition(`${pathOf(receipt)}.parquet`, 3)]),
      `table-file-missing ${DAY}`,
    ],
    'the table has a day twice': [
      async (dir) => {
        const path = `vessel=${VESSEL}/date=${MEASURED.date}/0000000000000000.parquet`;
        await writeFile(join(dir, 'measurements', path), 'abc');
        await commitBehind(dir, () => [addition(path, 3)]);
      },
      `table-differs ${DAY}`,
    ],
    'the table says another size': [
      (dir) => commitBehind(dir, (receipt) => [addition(pathOf(receipt), 3)]),
      `table-differs ${DAY}`,
    ],
    'the table has a day that its receipt calls empty': [
      (dir) =>
        editReceipt(dir, MEASURED, (receipt) => ({
          ...receipt,
          ...{ rows: 0, series: 0, object: null, detail: null, firstTimestamp: null, lastTimestamp: null },
          source: { ...receipt.source!, rows: 0 },
        })),
      `table-differs ${DAY}`,
    ],
    'a receipt is missing': [(dir) => rm(join(dir, receiptKey(MEASURED))), `receipt-missing ${DAY}`],
    'a receipt names the file of another day': [
      (dir) =>
        editReceipt(dir, MEASURED, (receipt) => ({
          ...receipt,
          object: { ...receipt.object!, key: receipt.object!.key.replace(MEASURED.date, '2026-02-02') },
        })),
      `receipt-damaged ${DAY}`,
    ],
    'statistics are wrong': [
      async (dir) =>
        edit(dir, await newestEntry(dir), (bytes) =>
          Buffer.from(bytes.toString().replace(/\\"numRecords\\":\d+/, '\\"numRecords\\":1')),
        ),
      `table-statistics-differ ${DAY}`,
    ],
    'a bound is too narrow': [
      async (dir) =>
        edit(dir, await newestEntry(dir), (bytes) =>
          Buffer.from(bytes.toString().replace(/(maxValues.*?timestamp\\":\\"[^.]*)\.\d+Z/, '$1.000Z')),
        ),
      `table-statistics-differ ${DAY}`,
    ],
  };

test.for(Object.entries(DAMAGES))('%s', async ([, [damage, expected]]) => {
  await using lake = await copyLake(sound.url);
  const before = await readFile(join(lake.dir, await newestEntry(lake.dir)), 'utf8');
  await damage(lake.dir);
  if (expected.startsWith('table-statistics'))
    expect(await readFile(join(lake.dir, await newestEntry(lake.dir)), 'utf8')).not.toBe(before);
  const { code, found, result } = await runVerify({ lakeUrl: lake.url });
  expect(found).toEqual([expected]);
  expect({ code, ...result }).toMatchObject({ code: 1, withFindings: 1 });
});

test.for([
  [
    'an entry is cut short',
    async (dir: string) => edit(dir, await newestEntry(dir), (bytes) => bytes.subarray(0, -9)),
  ],
  ['an entry is missing', (dir: string) => rm(join(dir, LOG, `${'0'.repeat(20)}.json`))],
  [
    'another writer has raised the protocol',
    (dir: string) => commitBehind(dir, () => [{ protocol: { minReaderVersion: 3, minWriterVersion: 7 } }]),
  ],
] as const)('%s: the log is damaged, and the days are checked without it', async ([, damage]) => {
  await using lake = await copyLake(sound.url);
  await damage(lake.dir);
  const { code, found, result } = await runVerify({ lakeUrl: lake.url });
  expect(found).toEqual(['log-damaged measurements/undefined']);
  expect(result.findings[0]).toMatchObject({ job: 'measurements', key: `${LOG}/` });
  expect({ code, ...result }).toMatchObject({ code: 1, vesselDays: 5 });
});

test('a damage elsewhere is found in its own job', async () => {
  await using lake = await copyLake(sound.url);
  await rm(join(lake.dir, 'statistics/_delta_log'), { recursive: true });
  const { found } = await runVerify({ lakeUrl: lake.url });
  expect(found).toEqual([`not-in-table statistics/${WINDOWS.date}`]);
});
