/** A plain lake becomes tables, in place: killed anywhere and run again, and beside exports that do not know of it. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { convertCommand } from '../../src/cli/commands/convert.ts';
import { FencedError } from '../../src/core/errors.ts';
import type { Clock } from '../../src/core/model/index.ts';
import { addDays, silentLog, systemClock } from '../../src/core/model/index.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { takeClaim } from '../../src/lake/claims/claims.ts';
import { objectKey } from '../../src/lake/keys.ts';
import { readLakeFile, readLayout } from '../../src/lake/lake-file.ts';
import { convertLake } from '../../src/lake/upkeep/convert.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { readClaims } from '../helpers/claims.ts';
import { lakeFiles, serviceNames } from '../helpers/lake.ts';
import { makeReceipt } from '../helpers/ledger.ts';
import type { RunExportOptions, TestLake } from '../helpers/run.ts';
import { DATE, mustExport, newLake, runExport, serviceForTests, VESSEL } from '../helpers/run.ts';
import { expectTableAgrees, replayTable } from '../helpers/table.ts';

const SELECT = ['flat/{vessel}/Shaft Power'];
const STATISTICS = {
  dataset: 'statistics',
  vessels: [VESSEL],
  select: SELECT,
  window: '1h',
  aggregations: ['mean'],
};
const JOBS = {
  measurements: { dataset: 'measurements', vessels: [VESSEL], select: SELECT },
  statistics: STATISTICS,
};
const TO = addDays(DATE, 3);
const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const DEAD = { ...DAY, date: addDays(DATE, 9) };
const MUTATIONS = ['put', 'putIf', 'putIfAbsent', 'remove', 'removeAll', 'removeIf', 'abandon'] as const;
/** What others learn in fifteen seconds they have learned here. */
const HASTY: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 20), signal) };

const service = await serviceForTests({ readingsPerDay: 1_000 });
let series: string;
let plain: TestLake;
let lake: TestLake;
let store: ObjectStore;

beforeAll(async () => {
  [series] = [...(await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys()] as [string];
  plain = await newLake();
  for (const job of Object.keys(JOBS)) await runExport(options(plain, { jobs: [job], to: TO }));
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
});
beforeEach(async () => {
  lake = await newLake();
  await cp(plain.dir, lake.dir, { recursive: true });
  store = await openStore(lake.url, {});
  return async () => {
    await store.close();
    await lake[Symbol.asyncDispose]();
  };
});

function options({ url }: TestLake, args: RunExportOptions['args'] = {}): RunExportOptions {
  return { service, lakeUrl: url, jobs: JOBS, args };
}

function convert(through: ObjectStore = store, signal = new AbortController().signal) {
  const ports = { store: through, clock: HASTY, log: silentLog, self: thisProcess(), signal };
  return convertLake({ ...ports, say: () => {} });
}

/** A store on which the n-th mutation, and whatever comes after it, never ends; `isDone`: it has happened. */
function dying(nth: number, isDone: boolean): { store: ObjectStore; died: Promise<void> } {
  const { promise: died, resolve } = Promise.withResolvers<void>();
  const wrapped = { ...store };
  let seen = 0;
  for (const name of MUTATIONS) {
    const act = store[name] as (...args: unknown[]) => Promise<unknown>;
    Object.assign(wrapped, {
      [name]: async (...args: unknown[]) => {
        if (++seen < nth) return act(...args);
        if (seen === nth && isDone) await act(...args);
        resolve();
        return new Promise(() => {});
      },
    });
  }
  return { store: wrapped, died };
}

async function expectConverted(): Promise<void> {
  expect(await readLayout(store)).toBe('delta');
  // It forgets nothing that the file says beside the layout.
  const sources = Object.fromEntries(Object.keys(JOBS).map((job) => [job, service.baseUrl]));
  expect((await readLakeFile(store))?.file).toEqual({ lakeVersion: 1, layout: 'delta', sources });
  for (const job of Object.keys(JOBS)) expect((await expectTableAgrees(store, job)).size).toBe(3);
}

test('the files that are there join by their paths, with statistics of their own', async () => {
  const before = await lakeFiles(lake.dir);
  const { jobs, leftOut, converted } = await convert();
  expect({ leftOut, converted }).toEqual({ leftOut: [], converted: true });
  expect(jobs.map(({ job, vesselDays }) => [job, vesselDays])).toEqual([
    ['measurements', 3],
    ['statistics', 3],
  ]);
  await expectConverted();
  for (const [key, bytes] of before)
    if (key !== '_lake.json') expect((await lakeFiles(lake.dir)).get(key)?.equals(bytes), key).toBe(true);
  expect((await convert()).converted).toBe(false);

  // A day that is exported again gives way as any file of the table does.
  service.overlay.addReadings(series, [{ timestampMicros: Date.parse(DATE) * 1_000 + 1, valueText: '1.5' }]);
  await mustExport(options(lake, { jobs: ['measurements'], force: true }));
  const receipt = (await expectTableAgrees(store, 'measurements')).get(`vessel=${VESSEL}/date=${DATE}`)!;
  expect(receipt.object!.key).not.toBe(objectKey(DAY));
  expect((await store.head(objectKey(DAY))) !== undefined).toBe(true);
});

test('a job of other aggregations adds columns, and one whose table cannot take its files is refused', async () => {
  await convert();
  const jobs = { ...JOBS, statistics: { ...STATISTICS, aggregations: ['mean', 'max'] } };
  await mustExport({ ...options(lake, { jobs: ['statistics'] }), jobs });
  const { operations } = await replayTable(store, 'statistics');
  expect(operations).toEqual(['CREATE TABLE', 'CONVERT', 'ADD COLUMNS', 'WRITE']);
  const other = { measurements: { ...STATISTICS } };
  const refused = await runExport({ ...options(lake), jobs: other });
  expect([refused.code, refused.results[0]]).toMatchObject([1, { state: 'failed', code: 'table-schema' }]);
  await expectTableAgrees(store, 'measurements');
});

test.each([
  ['before', false],
  ['after', true],
])('killed %s any of its writes and run again, it ends the same', async (_, isDone) => {
  let kills = 0;
  for (let nth = 1; ; nth++) {
    await rm(lake.dir, { recursive: true });
    await cp(plain.dir, lake.dir, { recursive: true });
    const { store: through, died } = dying(nth, isDone);
    const ended = await Promise.race([convert(through).then(() => true), died.then(() => false)]);
    if (ended) break;
    kills++;
    const isOver = (await readLayout(store)) === 'delta';
    if (!isOver) {
      const during = await runExport(options(lake, { force: true, jobs: ['measurements'] }));
      // Once it has begun nobody exports.
      if ((await readLakeFile(store))?.file.converting !== undefined)
        expect(during.error, `${nth}`).toMatchObject({ code: 'lake-converting' });
    }
    await convert();
    await expectConverted();
  }
  // Begin and end, and for each of two jobs a table, an entry and a checkpoint.
  expect(kills).toBeGreaterThanOrEqual(8);
});

test('it waits for an export that is under way, takes over one that is dead, and refuses one that begins', async () => {
  const [claimed, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const onStep = async (step: string) => {
    if (step !== 'sealed') return;
    claimed.resolve();
    await gate.promise;
  };
  const late = runExport({
    ...options(lake, { jobs: ['measurements'], force: true }),
    overrides: { onStep },
  });
  await claimed.promise;
  const dead = { store, clock: systemClock, log: silentLog, self: { host: 'elsewhere', pid: 1 } };
  const { claim } = await takeClaim(dead, DEAD, { settingsHash: 'hash', takeover: false });
  const upload = await store.begin(objectKey(DEAD), 'of-the-dead');
  await claim.writeSealed({
    upload,
    parts: [],
    detail: null,
    draft: makeReceipt(DEAD),
  });
  await claim.handBack();
  let said = '';
  const waiting = Promise.withResolvers<void>();
  const ports = { store, clock: HASTY, log: silentLog, self: thisProcess() };
  const converting = convertLake({
    ...ports,
    signal: new AbortController().signal,
    say(text) {
      said += `${text}\n`;
      if (text.includes('running elsewhere')) waiting.resolve();
    },
  });
  await waiting.promise;
  expect((await runExport(options(lake))).error).toBeInstanceOf(FencedError);
  gate.resolve();
  expect((await late).code).toBe(0);
  expect((await converting).converted).toBe(true);
  expect(said).toContain('waiting for 1 in progress');
  for (const day of [DAY, DEAD]) expect(await readClaims(store, day)).toEqual([]);
  for await (const open of store.listUploads('')) expect(open).toBeUndefined();
  await expectConverted();
});

test('an export whose look is old finds out after its claim, and leaves nothing', async () => {
  let nowMs = 0;
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + nowMs };
  const wrapStore = (inner: ObjectStore): ObjectStore => ({
    ...inner,
    async putIf(key, bytes, expected) {
      // It stands still before its claim is put, until the conversion is over.
      if (key.startsWith('_checkpoints/') && expected === null && nowMs === 0) {
        await convert();
        nowMs = 60_000;
      }
      return inner.putIf(key, bytes, expected);
    },
  });
  const overrides = { clock, wrapStore };
  const { code, results } = await runExport({
    ...options(lake, { jobs: ['measurements'], force: true }),
    overrides,
  });
  expect([code, results[0]]).toMatchObject([1, { state: 'running', code: 'lake-converting' }]);
  expect(await readClaims(store, DAY)).toEqual([]);
  await expectConverted();
});

test('what is damaged is left out and named, and exported into the table afterwards', async () => {
  await store.put(objectKey(DAY), Buffer.from('PAR1'));
  let [stdout, stderr] = ['', ''];
  const screen = (add: (text: string) => void) => ({ write: add });
  const context = {
    env: { LAKE_URL: lake.url, JOBS_DIR: join(import.meta.dirname, '../../jobs') },
    stdout: screen((text) => (stdout += text)),
    stderr: screen((text) => (stderr += text)),
    signal: new AbortController().signal,
  };
  expect(await convertCommand(context, { to: 'delta' }, { clock: HASTY })).toBe(1);
  expect(stdout).toContain(`1 vessel-day could not join a table`);
  expect(stdout).toContain(`${objectKey(DAY)}: found another size`);
  expect(stderr).toContain('no export begins from now on');
  const { stdout: _, ...ran } = await mustExport(options(lake, { jobs: ['measurements'], force: true }));
  expect(ran.code).toBe(0);
  await expectConverted();
  await expect(convertCommand(context, { to: 'plain' })).rejects.toMatchObject({ code: 'usage' });
});

test('a job of which nothing could join has a table all the same, and days are exported into it', async () => {
  for (const date of [0, 1, 2].map((days) => addDays(DATE, days)))
    await store.put(objectKey({ ...DAY, date }), Buffer.from('PAR1'));
  expect((await convert()).leftOut).toHaveLength(3);
  await mustExport(options(lake, { jobs: ['measurements'], to: TO, force: true }));
  await expectConverted();
});

test('a process that is set up for another layout is refused, and told what to do', async () => {
  const wrong = await runExport({ ...options(lake), env: { LAKE_LAYOUT: 'delta' } });
  expect(wrong.error).toMatchObject({ code: 'lake-layout' });
  expect(wrong.stderr).toContain("run 'vessel-export convert --to delta'");
  await convert();
  const other = await runExport({ ...options(lake), env: { LAKE_LAYOUT: 'plain' } });
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('set LAKE_LAYOUT=delta')]);
  expect((await runExport(options(lake))).code).toBe(0);
});
