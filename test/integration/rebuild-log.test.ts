/** A delta lake that lost its log, or the newest of it: exports refuse, and the log is rebuilt beside those under way. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { rebuildLogCommand } from '../../src/cli/commands/rebuild-log.ts';
import { FatalError } from '../../src/core/errors.ts';
import type { Clock } from '../../src/core/model/index.ts';
import { addDays, silentLog, systemClock } from '../../src/core/model/index.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { receiptKey } from '../../src/lake/keys.ts';
import { JobTable } from '../../src/lake/publish/job-table.ts';
import { readTableFiles } from '../../src/lake/publish/table-files.ts';
import { openTable } from '../../src/lake/table/table.ts';
import { rebuildLog } from '../../src/lake/upkeep/rebuild-log.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { copyLake, runVerify } from '../audit/verify/audit-lake.ts';
import { lakeFiles, receiptOf } from '../helpers/lake.ts';
import type { RunExportOptions, TestLake } from '../helpers/run.ts';
import { DATE, mustExport, newLake, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';

const JOBS = {
  measurements: { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/Shaft Power'] },
};
const LOG = 'measurements/_delta_log';
const [DATE_2, DATE_3, DATE_4] = [1, 2, 3].map((days) => addDays(DATE, days)) as [string, string, string];
const dayOf = (date: string) => ({ job: 'measurements', vessel: VESSEL, date });
/** What waits for five seconds waits for a moment. */
const HASTY: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 20), signal) };

const service = await serviceForTests({ readingsPerDay: 1_000 });
let sound: TestLake;
let lake: Awaited<ReturnType<typeof copyLake>>;
let store: ObjectStore;

beforeAll(async () => {
  sound = await newLake();
  for (const date of [DATE, DATE_2]) await mustExport(options(sound.url, { from: date }));
});
afterAll(async () => {
  await sound[Symbol.asyncDispose]();
});
beforeEach(async () => {
  lake = await copyLake(sound.url);
  store = await openStore(lake.url, {});
  return async () => {
    await store.close();
    await lake[Symbol.asyncDispose]();
  };
});

function options(
  lakeUrl: string,
  args: NonNullable<RunExportOptions['args']>,
  overrides: NonNullable<RunExportOptions['overrides']> = {},
): RunExportOptions {
  return { service, lakeUrl, jobs: JOBS, env: { LAKE_LAYOUT: 'delta' }, args, overrides };
}

const loseLog = () => rm(join(lake.dir, LOG), { recursive: true });

async function rebuild(yes: boolean): Promise<{ code: number; stdout: string; stderr: string }> {
  const [out, err] = [[] as string[], [] as string[]];
  const context = {
    env: { LAKE_URL: lake.url },
    stdout: { write: (text: string) => void out.push(text) },
    stderr: { write: (text: string) => void err.push(text) },
    signal: new AbortController().signal,
  };
  const code = await rebuildLogCommand(context, 'measurements', { yes }, { clock: HASTY });
  return { code, stdout: out.join(''), stderr: err.join('') };
}

/** In this process, through a store in which something happens on the way. */
function rebuildThrough(over: Partial<ObjectStore>, say: (text: string) => void = () => {}) {
  const ports = { store: { ...store, ...over }, clock: HASTY, log: silentLog, self: thisProcess(), say };
  return rebuildLog({ ...ports, signal: new AbortController().signal }, 'measurements', true);
}

/** Table and receipts agree, and each day is there. */
async function expectWhole(...dates: string[]): Promise<void> {
  expect((await runVerify({ lakeUrl: lake.url })).found).toEqual([]);
  const files = await readTableFiles(store, 'measurements');
  expect(files.map(({ day }) => day.date).sort()).toEqual(dates);
}

const entries = async () =>
  (await readdir(join(lake.dir, LOG)))
    .filter((name) => /^\d+\.json$/.test(name))
    .map((name) => Number(name.slice(0, 20)));

test('a lost log: run refuses and writes nothing, rebuild-log shows what it would do, does it, and exports go on', async () => {
  await loseLog();
  const before = await lakeFiles(lake.dir);
  const refused = await runExport(options(lake.url, { from: DATE_3 }));
  expect([refused.code, refused.results[0]]).toMatchObject([1, { state: 'failed', code: 'damaged-log' }]);
  expect(refused.results[0]!.message).toContain("'vessel-export rebuild-log measurements'");
  const shown = await rebuild(false);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('found no log');
  expect(shown.stdout).toContain(
    'from version 3 on the log would have 2 vessel-days, as their receipts say; --yes writes it',
  );
  expect([...(await lakeFiles(lake.dir)).keys()]).toEqual([...before.keys()]);
  const written = await rebuild(true);
  expect([written.code, written.stdout]).toEqual([
    0,
    expect.stringContaining('2 vessel-days in version 3 now'),
  ]);
  await expectWhole(DATE, DATE_2);
  await mustExport(options(lake.url, { from: DATE_3 }));
  await expectWhole(DATE, DATE_2, DATE_3);
  expect((await receiptOf(lake.dir, dayOf(DATE_3)))!.table).toEqual({ version: 4 });
  expect((await rebuild(true)).stdout).toContain('nothing is wrong with the log: 3 vessel-days in version 4');
});

test('a lost newest entry: its number is not used again, before or after the log is rebuilt', async () => {
  await rm(join(lake.dir, LOG, `${'2'.padStart(20, '0')}.json`));
  const refused = await runExport(options(lake.url, { from: DATE_3 }));
  expect([refused.code, refused.results[0]]).toMatchObject([1, { state: 'failed', code: 'damaged-log' }]);
  expect(refused.results[0]!.message).toContain('found versions up to 1, expected version 2');
  expect(await entries()).toEqual([0, 1]);
  const { id } = JSON.parse(
    (await entryText(0)).split('\n').find((line) => line.includes('metaData'))!,
  ).metaData;
  expect((await rebuild(true)).code).toBe(0);
  expect(await entries()).toEqual([0, 1, 3]);
  // It is the same table to those who know it.
  expect(await entryText(3)).toContain(id);
  await mustExport(options(lake.url, { from: DATE_3 }));
  await expectWhole(DATE, DATE_2, DATE_3);
});

async function entryText(version: number): Promise<string> {
  const found = await store.get(`${LOG}/${String(version).padStart(20, '0')}.json`);
  return Buffer.from(found!.bytes).toString();
}

test('an export that has committed, and not yet said so, is waited for', async () => {
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const onStep = async (step: string) => {
    if (step !== 'published') return;
    reached.resolve();
    await gate.promise;
  };
  const exporting = runExport(options(lake.url, { from: DATE_3 }, { onStep }));
  await reached.promise;
  await loseLog();
  const rebuilt = await rebuildThrough({}, (text) => {
    if (text.startsWith('waiting for 1 in progress')) gate.resolve();
  });
  expect((await exporting).code).toBe(0);
  expect(rebuilt.vesselDays).toBe(3);
  await expectWhole(DATE, DATE_2, DATE_3);
});

test.each(['before its entry', 'between its entry and its checkpoint', 'after it'])(
  'an export that knows the log from before it was lost commits above the new one: %s',
  async (when) => {
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const onStep = async (step: string) => {
      if (step !== 'completed') return;
      reached.resolve();
      await gate.promise;
    };
    const exporting = runExport(options(lake.url, { from: DATE_3 }, { onStep }));
    await reached.promise;
    // All but what the export began with: it can commit where the lost entries were.
    await rm(join(lake.dir, LOG, `${'0'.repeat(20)}.json`));
    const go = async () => {
      gate.resolve();
      await Promise.race([exporting, systemClock.sleep(300)]);
    };
    if (when === 'before its entry') await go();
    const between =
      when === 'between its entry and its checkpoint'
        ? {
            begin: async (...upload: Parameters<ObjectStore['begin']>) => {
              await go();
              return await store.begin(...upload);
            },
          }
        : {};
    const rebuilding = rebuildThrough(between, (text) => {
      if (text.startsWith('waiting')) gate.resolve();
    });
    await rebuilding;
    gate.resolve();
    // Where it found the log damaged meanwhile it leaves its sealed day to the next run.
    if ((await exporting).code !== 0) await mustExport(options(lake.url, { from: DATE_3 }));
    await expectWhole(DATE, DATE_2, DATE_3);
  },
);

test('an export that began after the loss, and knows nothing of it, commits above the rebuilt log', async () => {
  await rm(join(lake.dir, LOG, `${'2'.padStart(20, '0')}.json`));
  const ports = { store, clock: HASTY, log: silentLog, prefix: 'measurements/' };
  const table = new JobTable({ ...ports, table: await openTable(ports) });
  expect(table.version).toBe(1);
  expect((await rebuildThrough({})).version).toBe(3);
  const key = `measurements/vessel=${VESSEL}/date=${DATE_3}/0123456789abcdef.parquet`;
  const add = { key, sizeBytes: 1, modifiedMs: 1, stats: '{"numRecords":1}' };
  const change = { remove: [], add, since: 1 };
  expect(await table.commit({ day: dayOf(DATE_3), change, checkFence: async () => {} })).toBe(4);
  expect((await readTableFiles(store, 'measurements')).map(({ day }) => day.date)).toEqual([
    DATE,
    DATE_2,
    DATE_3,
  ]);
  await table.close();
});

test('killed at any of its writes and run again, it ends the same', async () => {
  const MUTATIONS = ['putIf', 'putIfAbsent', 'begin', 'append', 'publish'] as const;
  let kills = 0;
  for (let nth = 1; ; nth++) {
    await using copy = await copyLake(lake.url);
    await rm(join(copy.dir, LOG), { recursive: true });
    const own = await openStore(copy.url, {});
    let seen = 0;
    const dying: Partial<ObjectStore> = { ...own };
    for (const name of MUTATIONS) {
      const act = own[name] as (...args: unknown[]) => Promise<unknown>;
      Object.assign(dying, {
        [name]: async (...args: unknown[]) => {
          if (++seen >= nth) throw new FatalError('disk-full', 'no room');
          return act(...args);
        },
      });
    }
    const isEnded = await rebuildThrough(dying).then(
      () => true,
      () => false,
    );
    await rebuildThrough(own);
    expect((await runVerify({ lakeUrl: copy.url })).found, `${nth}`).toEqual([]);
    await own.close();
    if (isEnded) break;
    kills++;
  }
  expect(kills).toBeGreaterThanOrEqual(5);
});

test('what cannot be in the table is left out and named, and a run exports it', async () => {
  await loseLog();
  const receipt = (await receiptOf(lake.dir, dayOf(DATE_2)))!;
  await store.remove(receipt.object!.key);
  await store.put(`measurements/vessel=${VESSEL}/date=${DATE_4}/0123456789abcdef.parquet`, Buffer.from('x'));
  const { code, stdout } = await rebuild(true);
  expect(code).toBe(1);
  expect(stdout).toContain('1 vessel-day in version 3 now');
  expect(stdout).toContain(`${DATE_2}: ${receipt.object!.key}: found no object`);
  expect(stdout).toMatch(new RegExp(`${DATE_4}: .* is there, and no receipt: run the day again`));
  await mustExport(options(lake.url, { from: DATE_2, to: addDays(DATE_4, 1), force: true }));
  await expectWhole(DATE, DATE_2, DATE_3, DATE_4);
});

test('a vessel-day whose receipt cannot be read is named, and keeps the file that the old log says', async () => {
  await store.put(receiptKey(dayOf(DATE_2)), Buffer.from('{'));
  await store.put(`${LOG}/${'3'.padStart(20, '0')}.json`, Buffer.from('{'));
  const shown = await rebuild(false);
  const written = await rebuild(true);
  expect([shown.code, written.code]).toEqual([1, 1]);
  expect(written.stdout).toContain('2 vessel-days in version 4 now');
  for (const { stdout } of [shown, written])
    expect(stdout).toMatch(
      /1 vessel-day with a receipt that cannot be read:\n.*not valid JSON.*; its file stays/,
    );
  await store.remove(receiptKey(dayOf(DATE_2)));
  await mustExport(options(lake.url, { from: DATE_2 }));
  await expectWhole(DATE, DATE_2);
});

test('where nothing is to be rebuilt it says why', async () => {
  const context = { stdout: { write: () => {} }, stderr: { write: () => {} } };
  const { signal } = new AbortController();
  const run = (job: string) =>
    rebuildLogCommand({ ...context, signal, env: { LAKE_URL: lake.url } }, job, { yes: true });
  await expect(run('no such job')).rejects.toMatchObject({ code: 'usage' });
  await expect(run('another')).rejects.toMatchObject({ code: 'no-receipts' });
  await store.put('_lake.json', Buffer.from('{"lakeVersion":1,"layout":"plain"}'));
  await expect(run('measurements')).rejects.toMatchObject({ code: 'lake-layout' });
});
