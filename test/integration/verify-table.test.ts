/** Verify on a delta lake: each kind of damage to log, files and receipts is found by its name and by nothing else. */
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog, systemClock } from '../../src/model/index.ts';
import { createLocalStore } from '../../src/store/local.ts';
import { openTable } from '../../src/table/table.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import { newLake } from '../helpers/run.ts';
import {
  copyLake,
  edit,
  exportAuditLake,
  refuseWrites,
  runVerify,
  startAuditService,
  WINDOWS,
} from '../verify/audit-lake.ts';

const LOG = 'measurements/_delta_log';

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

/** Commit to the table of measurements behind our back. */
async function commitBehind(dir: string, actions: readonly object[]): Promise<void> {
  const newest = await newestEntry(dir);
  const version = Number(newest.slice(LOG.length + 1, -'.json'.length)) + 1;
  const text = actions.map((action) => `${JSON.stringify(action)}\n`);
  await writeFile(join(dir, LOG, `${String(version).padStart(20, '0')}.json`), text.join(''));
}

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

test.for([
  [
    'an entry is cut short',
    async (dir: string) => edit(dir, await newestEntry(dir), (bytes) => bytes.subarray(0, -9)),
  ],
  ['an entry is missing', (dir: string) => rm(join(dir, LOG, `${'0'.repeat(20)}.json`))],
  [
    'another writer has raised the protocol',
    (dir: string) => commitBehind(dir, [{ protocol: { minReaderVersion: 3, minWriterVersion: 7 } }]),
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
