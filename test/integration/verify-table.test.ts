/** Verify on a delta lake, as a user runs it. Each kind of damage is tried in test/audit/verify/damages.ts. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rebuildLogCommand } from '../../src/cli/commands/rebuild-log.ts';
import { silentLog, systemClock } from '../../src/core/model/index.ts';
import { openTable } from '../../src/lake/table/table.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import {
  copyLake,
  edit,
  exportAuditLake,
  refuseWrites,
  runVerify,
  startAuditService,
} from '../audit/verify/audit-lake.ts';
import type { TestLake, TestService } from '../helpers/run.ts';
import { newLake } from '../helpers/run.ts';

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

test('a sound lake gives no finding, deep or not, and is not written to', async () => {
  const options = { lakeUrl: sound.url, wrapStore: refuseWrites };
  const { code, found, result } = await runVerify(options);
  expect(found).toEqual([]);
  expect({ code, ...result }).toMatchObject({ code: 0, vesselDays: 5, withFindings: 0, warnings: [] });
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

test('a log that is cut is one finding, the days are checked without it, and what it advises heals it', async () => {
  await using lake = await copyLake(sound.url);
  await edit(lake.dir, await newestEntry(lake.dir), (bytes) => bytes.subarray(0, -9));
  const { code, found, result } = await runVerify({ lakeUrl: lake.url });
  expect(found).toEqual(['log-damaged measurements/undefined']);
  expect(result.findings[0]).toMatchObject({ job: 'measurements', key: `${LOG}/` });
  expect(result.findings[0]!.next).toContain('vessel-export rebuild-log');
  expect({ code, ...result }).toMatchObject({ code: 1, vesselDays: 5 });
  const screen = { write: () => {} };
  const context = { env: { LAKE_URL: lake.url }, stdout: screen, stderr: screen };
  const { signal } = new AbortController();
  expect(await rebuildLogCommand({ ...context, signal }, 'measurements', { yes: true })).toBe(0);
  expect(await runVerify({ lakeUrl: lake.url })).toMatchObject({ code: 0, found: [] });
});

test('a damage elsewhere is found in its own job', async () => {
  await using lake = await copyLake(sound.url);
  await rm(join(lake.dir, 'statistics/_delta_log'), { recursive: true });
  const { found } = await runVerify({ lakeUrl: lake.url });
  expect(found).toEqual(['log-damaged statistics/undefined']);
});
