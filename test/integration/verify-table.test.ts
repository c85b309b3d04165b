/** Verify on a delta lake: each kind of damage to log, files and receipts is found by its name and by nothing else. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetMetadata } from 'hyparquet';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rebuildLogCommand } from '../../src/commands/rebuild-log.ts';
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
  await writeFile(join(dir, LOG, `${versionName(version)}.json`), text.join(''));
}

const versionName = (version: number) => String(version).padStart(20, '0');

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
  await checkpoint(lake.dir);
  await rm(join(lake.dir, `${LOG}/${versionName(0)}.json`));
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

/** Write a checkpoint of the table of measurements; the path of its file. */
async function checkpoint(dir: string): Promise<string> {
  const table = await openTable(tablePorts(dir));
  await table.checkpoint();
  return join(dir, LOG, `${versionName(table.version)}.checkpoint.parquet`);
}

const tablePorts = (dir: string) => ({
  ...{ store: createLocalStore(dir), clock: systemClock, log: silentLog, prefix: 'measurements/' },
});

/** Say otherwise what the table is. */
const changeMetadata = (dir: string, change: (text: string) => string) =>
  commitBehind(dir, () => []).then(async () => {
    const [first] = (await readdir(join(dir, LOG))).sort();
    const lines = (await readFile(join(dir, LOG, first!), 'utf8')).split('\n');
    await writeFile(
      join(dir, await newestEntry(dir)),
      change(lines.find((line) => line.includes('metaData'))!),
    );
  });
const withSchema =
  (change: (schema: { fields: { name: string; type: string }[] }) => void) => (text: string) => {
    const action = JSON.parse(text);
    const schema = JSON.parse(action.metaData.schemaString);
    change(schema);
    action.metaData.schemaString = JSON.stringify(schema);
    return JSON.stringify(action);
  };
const fieldOf = (schema: { fields: { name: string; type: string }[] }, name: string) =>
  schema.fields.find((field) => field.name === name)!;
/** What heals a damage of the log that a command does not heal alone. */
const moveLogAway = (dir: string) => rm(join(dir, LOG), { recursive: true });

const LOG_DAMAGES: Readonly<
  Record<
    string,
    readonly [
      finding: string,
      damage: (dir: string) => Promise<unknown>,
      before?: (dir: string) => Promise<unknown>,
    ]
  >
> = {
  'the log is lost': ['log-damaged', (dir) => rm(join(dir, LOG), { recursive: true })],
  'the newest entries are lost': ['log-damaged', async (dir) => rm(join(dir, await newestEntry(dir)))],
  'an entry is cut short': [
    'log-damaged',
    async (dir) => edit(dir, await newestEntry(dir), (bytes) => bytes.subarray(0, -9)),
  ],
  'an entry is missing': ['log-damaged', (dir) => rm(join(dir, LOG, `${versionName(0)}.json`))],
  'the checkpoint is missing': ['checkpoint-damaged', async (dir) => rm(await checkpoint(dir))],
  'the checkpoint is broken': [
    'checkpoint-damaged',
    async (dir) => {
      const path = await checkpoint(dir);
      await writeFile(path, (await readFile(path)).subarray(0, -50));
    },
  ],
  'statistics of the checkpoint are broken': [
    'checkpoint-damaged',
    async (dir) => {
      const path = await checkpoint(dir);
      const bytes = await readFile(path);
      const { row_groups: groups } = parquetMetadata(Uint8Array.from(bytes).buffer);
      const { meta_data: meta } = groups
        .at(-1)!
        .columns.find(({ meta_data: found }) => found!.path_in_schema.join('.') === 'add.stats')!;
      bytes.fill(0xff, Number(meta!.data_page_offset), Number(meta!.data_page_offset) + 40);
      await writeFile(path, bytes);
    },
  ],
  '_last_checkpoint is no JSON': [
    'checkpoint-damaged',
    (dir) => writeFile(join(dir, LOG, '_last_checkpoint'), '{'),
  ],
  'a column is renamed': [
    'table-schema-differs',
    (dir) =>
      changeMetadata(
        dir,
        withSchema((schema) => (fieldOf(schema, 'double_value').name = 'dv')),
      ),
  ],
  'a column has another type': [
    'table-schema-differs',
    (dir) =>
      changeMetadata(
        dir,
        withSchema((schema) => (fieldOf(schema, 'long_value').type = 'double')),
      ),
  ],
  'a column is missing': [
    'table-schema-differs',
    (dir) =>
      changeMetadata(
        dir,
        withSchema((schema) => schema.fields.splice(1, 1)),
      ),
  ],
  'a column may not be null': [
    'table-schema-differs',
    (dir) =>
      changeMetadata(
        dir,
        withSchema((schema) => Object.assign(fieldOf(schema, 'json_value'), { nullable: false })),
      ),
  ],
  'a folder has no column': [
    'table-schema-differs',
    (dir) =>
      changeMetadata(
        dir,
        withSchema((schema) => (fieldOf(schema, 'date').type = 'string')),
      ),
  ],
  'the schema is no JSON': [
    'log-damaged',
    (dir) =>
      changeMetadata(dir, (text) => {
        const action = JSON.parse(text);
        return JSON.stringify({ metaData: { ...action.metaData, schemaString: '{' } });
      }),
  ],
  'another writer has raised the protocol': [
    'table-unsupported',
    (dir) => commitBehind(dir, () => [{ protocol: { minReaderVersion: 3, minWriterVersion: 7 } }]),
    moveLogAway,
  ],
  'another writer has marked rows as deleted': [
    'table-unsupported',
    (dir) =>
      commitBehind(dir, (receipt) => [
        { protocol: { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ['deletionVectors'] } },
        { add: { ...addition(pathOf(receipt), 3).add, deletionVector: { storageType: 'u' } } },
      ]),
    moveLogAway,
  ],
  'another writer has named another format': [
    'table-unsupported',
    (dir) => changeMetadata(dir, (text) => text.replace('"provider":"parquet"', '"provider":"orc"')),
    moveLogAway,
  ],
};

test.for(Object.entries(LOG_DAMAGES))(
  '%s: it is found as one damage of the log, and what it advises heals it',
  async ([, [finding, damage, before]]) => {
    await using lake = await copyLake(sound.url);
    await damage(lake.dir);
    const { code, found, result } = await runVerify({ lakeUrl: lake.url });
    expect(found).toEqual([`${finding} measurements/undefined`]);
    expect(result.findings[0]).toMatchObject({ job: 'measurements', key: `${LOG}/` });
    expect(result.findings[0]!.next).toContain('vessel-export rebuild-log');
    expect({ code, ...result }).toMatchObject({ code: 1, vesselDays: 5 });
    await before?.(lake.dir);
    const screen = { write: () => {} };
    const context = { env: { LAKE_URL: lake.url }, stdout: screen, stderr: screen };
    const { signal } = new AbortController();
    expect(await rebuildLogCommand({ ...context, signal }, 'measurements', { yes: true })).toBe(0);
    expect(await runVerify({ lakeUrl: lake.url })).toMatchObject({ code: 0, found: [] });
  },
);

test('a damage elsewhere is found in its own job', async () => {
  await using lake = await copyLake(sound.url);
  await rm(join(lake.dir, 'statistics/_delta_log'), { recursive: true });
  const { found } = await runVerify({ lakeUrl: lake.url });
  expect(found).toEqual(['log-damaged statistics/undefined']);
});
