/**
 * One receipt that cannot be read, or that a newer version wrote, fails its own vessel-day and nothing else: every reader of
 * receipts says the same of all others as if that vessel were not there, and nobody writes over it.
 */
import { cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reconcileJob } from '../../src/audit/reconcile/reconcile-jobs.ts';
import { readJobStatus } from '../../src/audit/status/job-status.ts';
import {
  addDays,
  type Clock,
  type Receipt,
  silentLog,
  systemClock,
  type VesselDay,
} from '../../src/core/model/index.ts';
import { estimateJob } from '../../src/export/estimate/estimate-job.ts';
import { findVessels } from '../../src/export/job-vessels.ts';
import { createBacklog } from '../../src/fleet/open-days.ts';
import { createPerformDay } from '../../src/fleet/work.ts';
import { acceptWarning } from '../../src/lake/accept.ts';
import { removeFinishedClaims } from '../../src/lake/claims/claims.ts';
import { claimKey, receiptKey } from '../../src/lake/keys.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import { readTableFiles } from '../../src/lake/publish/table-files.ts';
import { openTable } from '../../src/lake/table/table.ts';
import { convertLake } from '../../src/lake/upkeep/convert.ts';
import { findGarbage } from '../../src/lake/upkeep/garbage.ts';
import { rebuildLog } from '../../src/lake/upkeep/rebuild-log.ts';
import { listLakeSeries, listLakeVessels } from '../../src/query/catalogue/from-lake.ts';
import { openLakeSession } from '../../src/query/sql/lake-session.ts';
import { findSources } from '../../src/query/sql/lake-sources.ts';
import type { JobDefinition } from '../../src/runtime/config/jobs.ts';
import { fleetVessels } from '../../src/service/data/made-up/fleet.ts';
import { createRequestStats } from '../../src/source/fetch/exchange.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { MAX_WHOLE_BYTES } from '../../src/store/store.ts';
import { noteOf, receiptOf } from '../helpers/lake.ts';
import { type LakeApp, openLakeApp } from '../helpers/lake-app.ts';
import { DATE, startTestService, type TestService } from '../helpers/run.ts';
import { newMemoryFolder, type TempFolder } from '../helpers/temp.ts';
import { isLong } from '../helpers/tiers.ts';
import { viewStatementsOf } from '../query/views/view-lake.ts';

const FLEET = { seed: 1, vessels: 4, readingsPerDay: 1_000 };
const VESSELS = fleetVessels(FLEET).map(({ identifier }) => identifier);
const BAD = VESSELS[1]!;
const TO = addDays(DATE, 2);
const select = ['flat/{vessel}/Shaft*'];
const JOBS: Readonly<Record<string, JobDefinition>> = {
  measurements: { dataset: 'measurements', vessels: VESSELS, select },
  metadata: { dataset: 'metadata', vessels: VESSELS, select },
  discovered: { dataset: 'measurements', vessels: { discover: 'flat/*/Shaft Power' }, select },
};
const BAD_DAYS: readonly VesselDay[] = Object.keys(JOBS).map((job) => ({ job, vessel: BAD, date: DATE }));
const [MEASURED] = BAD_DAYS as [VesselDay];

/** What makes a receipt none is tried on the parser (test/audit/verify); engines of others read by themselves. */
const [EVERY_BADNESS, SOME] = [['the printed views'], ['cut', 'without one', 'newer']];
/** Engines of others see whether a file is JSON, and its version: the rest is for verify to say. */
const SEEN_BY_VIEWS = ['cut', 'empty', 'no object', 'without members', 'newer', 'much newer'];

/** What has become of a receipt, by the code that its vessel-day fails with. */
const BADNESS: Readonly<Record<string, readonly [code: string, bytes: (receipt: Receipt) => string]>> = {
  cut: ['damaged-receipt', (receipt) => JSON.stringify(receipt).slice(0, -9)],
  empty: ['damaged-receipt', () => ''],
  'no object': ['damaged-receipt', () => '[]'],
  'without members': ['damaged-receipt', () => '{"receiptVersion":1}'],
  'without one': ['damaged-receipt', ({ startedAt: _, ...rest }) => JSON.stringify(rest)],
  'of another object': ['damaged-receipt', (receipt) => JSON.stringify({ ...receipt, object: {} })],
  'of another vessel': ['damaged-receipt', (receipt) => JSON.stringify({ ...receipt, vessel: VESSELS[0] })],
  newer: ['unknown-receipt-version', (receipt) => JSON.stringify({ ...receipt, receiptVersion: 2 })],
  'much newer': ['unknown-receipt-version', () => '{"receiptVersion":7,"rows":"as words"}'],
};

/** What has become of the log of a table; the first leaves nothing of it. */
const LOG_DAMAGES: Readonly<Record<string, (dir: string) => Promise<unknown>>> = {
  'the log is lost': (dir) => rm(dir, { recursive: true }),
  'an entry cannot be read': (dir) => commitBehind(dir, '{'),
  'the checkpoint is all that can be read': async (dir) => {
    const ports = { store: createLocalStore(join(dir, '../..')), clock: systemClock, log: silentLog };
    await (await openTable({ ...ports, prefix: 'measurements/' })).checkpoint();
    for (const name of await entriesIn(dir)) await writeFile(join(dir, name), '{');
    await commitBehind(dir, '{');
  },
  'somebody has renamed a column': async (dir) => {
    const lines = (await readFile(join(dir, entryName(0)), 'utf8')).split('\n');
    const metaData = lines.find((line) => line.startsWith('{"metaData"'))!;
    await commitBehind(dir, `${metaData.replaceAll('double_value', 'dv')}\n`);
  },
};
const entryName = (version: number) => `${String(version).padStart(20, '0')}.json`;
const entriesIn = async (dir: string) => (await readdir(dir)).filter((name) => name.endsWith('.json'));
/** Somebody else puts the next entry: nobody knows how many those of the export are. */
const commitBehind = async (dir: string, text: string) =>
  writeFile(join(dir, entryName((await entriesIn(dir)).length)), text);

let service: TestService;
let folder: TempFolder;
beforeAll(async () => {
  [service, folder] = [await startTestService(FLEET), await newMemoryFolder()];
  await using later = await open(join(folder.path, 'sound'));
  expect(await later.run({ jobs: ['measurements', 'discovered'], to: TO })).toHaveLength(16);
  await using then = await open(join(folder.path, 'sound'), noonOf(DATE));
  expect(await then.run({ jobs: ['metadata'] })).toHaveLength(4);
  await using tables = await openTables(join(folder.path, 'table'));
  await tables.run();
});
afterAll(async () => {
  await service.close();
  await folder[Symbol.asyncDispose]();
});

const noonOf = (date: string): Clock => ({
  ...systemClock,
  nowMs: () => Date.parse(`${date}T12:00:00Z`),
});

function open(dir: string, clock?: Clock): Promise<LakeApp> {
  const overrides = clock && { overrides: { clock } };
  return openLakeApp({ service, lakeUrl: pathToFileURL(dir).href, jobs: JOBS, ...overrides });
}

const openTables = (dir: string): Promise<LakeApp> =>
  openLakeApp({
    ...{ service, lakeUrl: pathToFileURL(dir).href, env: { LAKE_LAYOUT: 'delta' } },
    jobs: { measurements: JOBS.measurements! },
  });

/** A copy of the sound lake in which the receipts of BAD are as `write` leaves them. */
async function copyWith(write: (path: string, receipt: Receipt) => Promise<unknown>): Promise<TempFolder> {
  const copy = await newMemoryFolder();
  await cp(join(folder.path, 'sound'), copy.path, { recursive: true });
  for (const day of BAD_DAYS) {
    const receipt = (await receiptOf(copy.path, day))!;
    await write(join(copy.path, receiptKey(day)), receipt);
  }
  return copy;
}

const { signal } = new AbortController();
const jobOf = ({ jobs }: LakeApp, name: string) => jobs.find((job) => job.name === name)!;

/** By vessel, what a reader says of it. */
type Said = Readonly<Record<string, unknown>>;

/** Things by their vessel, in a fixed order. */
function byVessel<T>(things: Iterable<T>, vesselOf: (thing: T) => string, say: (thing: T) => unknown): Said {
  const groups = Map.groupBy(things, vesselOf);
  return Object.fromEntries([...groups].map(([vessel, own]) => [vessel, own.map(say).sort()]));
}

/** What is said of vessel-days, by vessel. */
const byDay = <T extends { readonly day: { readonly vessel?: string } }>(
  things: Iterable<T>,
  say: (thing: T) => unknown,
): Said => byVessel(things, ({ day }) => day.vessel!, say);
/** Of every vessel what is said of it, or this. */
const ofEach = (said: Said, otherwise: string): Said =>
  Object.fromEntries(VESSELS.map((vessel) => [vessel, said[vessel] ?? otherwise]));

const results = async (app: LakeApp, options: Parameters<LakeApp['run']>[0]): Promise<Said> =>
  byDay(await app.run(options), ({ day, status, code }) => `${day.date} ${status} ${code ?? ''}`);

/** Every reader of receipts: what it says of each vessel, and of BAD where its receipt has this code. */
const READERS: Readonly<
  Record<
    string,
    readonly [read: (app: LakeApp, dir: string) => Promise<Said>, ofBad: (code: string) => unknown]
  >
> = {
  run: [
    (app) => results(app, { jobs: ['measurements'], to: TO }),
    (code) => [`${DATE} failed ${code}`, `${addDays(DATE, 1)} done `],
  ],
  'run --force': [
    (app) => results(app, { jobs: ['measurements'], force: true, allowShrink: true }),
    (code) => [`${DATE} failed ${code}`],
  ],
  'run of vessels that are discovered': [
    (app) => results(app, { jobs: ['discovered'] }),
    (code) => [`${DATE} failed ${code}`],
  ],
  'run of metadata, of a day that is over': [
    (app) => results(app, { jobs: ['metadata'] }),
    (code) => [`${DATE} failed ${code}`],
  ],
  'run of metadata on the next day': [
    async (_, dir) => {
      await using next = await open(dir, noonOf(addDays(DATE, 1)));
      return await results(next, { jobs: ['metadata'], from: addDays(DATE, 1) });
    },
    // With nothing to compare it with, it is written.
    () => [`${addDays(DATE, 1)} published `],
  ],
  'a vessel-day from the queue': [
    async ({ app, jobs }) => {
      const perform = createPerformDay(app.ports, jobs);
      const said: Record<string, unknown> = {};
      for (const vessel of VESSELS) {
        const day = { job: 'measurements', vessel, date: DATE, kind: 'nightly' } as const;
        said[vessel] = await perform(day, signal).then(
          ({ status }) => status,
          ({ code }) => code,
        );
      }
      return said;
    },
    (code) => code,
  ],
  'planning of nights and backfills': [
    async (opened) => {
      const { app } = opened;
      const ports = { job: jobOf(opened, 'measurements'), ports: app.ports, vessels: VESSELS };
      const said: string[] = [];
      // The first look, and the next.
      const ledger = createLedgerView(app.store);
      for (let look = 0; look < 2; look++) {
        const coverage = createBacklog({ ...ports, ledger, from: DATE, to: TO });
        await coverage.refresh();
        await coverage.refresh(new Set([DATE]));
        for (const day of coverage.open()) said.push(`${day.vessel} ${day.date}`);
      }
      expect(await ledger.missing('measurements', DATE, VESSELS)).toEqual([]);
      expect(await ledger.openWarnings('measurements')).toEqual([]);
      const isOpen = byVessel(
        said,
        (one) => one.slice(0, 10),
        (one) => one,
      );
      return ofEach(isOpen, 'covered');
    },
    () => [`${BAD} ${DATE}`, `${BAD} ${DATE}`],
  ],
  'the look-back': [
    async (opened) => {
      const request = { from: DATE, to: TO, vessels: [], concurrency: 2 };
      const job = jobOf(opened, 'measurements');
      const { findings, unasked } = await reconcileJob(opened.app.ports, job, request, signal);
      expect(unasked).toEqual([]);
      return ofEach(
        byDay(findings, ({ day, state }) => `${day.date} ${state}`),
        'as published',
      );
    },
    () => [`${DATE} unreadable`],
  ],
  status: [
    async (opened) => {
      const { app } = opened;
      const request = { from: DATE, to: TO, vessels: undefined };
      const { cells } = await readJobStatus(app.ports, jobOf(opened, 'measurements'), request);
      return byDay(cells, ({ day, state, code }) => `${day.date} ${state} ${code ?? ''}`);
    },
    (code) => [`${DATE} failed ${code}`, `${addDays(DATE, 1)} published `],
  ],
  plan: [
    async (opened) => {
      const limits = { concurrencyLimit: 4, workers: 2, perMinute: 0 };
      const request = { from: DATE, to: TO, vessels: VESSELS, ...limits };
      const job = jobOf(opened, 'measurements');
      const { states } = await estimateJob(opened.app.ports, job, request, signal, createRequestStats());
      return { others: states.done - (states.done === 8 ? 2 : 1), [BAD]: states };
    },
    () => ({ missing: 1, stale: 0, done: 7, 'not-due': 0 }),
  ],
  'verify --deep': [
    async (app) => {
      const { findings, warnings } = await app.verify({ to: TO, deep: true });
      expect(warnings).toEqual([]);
      return ofEach(
        byDay(findings, ({ day, name }) => `${day.job} ${name}`),
        'sound',
      );
    },
    (code) => {
      const name = code === 'damaged-receipt' ? 'receipt-damaged' : 'receipt-newer';
      return BAD_DAYS.map(({ job }) => `${job} ${name}`).sort();
    },
  ],
  gc: [
    async ({ app }) => {
      const items: string[] = [];
      for await (const { key, keep } of findGarbage(app.ports)) items.push(`${key} ${keep}`);
      expect(await removeFinishedClaims(app.store, 'measurements')).toBe(0);
      return { others: items };
    },
    () => undefined,
  ],
  sql: [
    async (opened) => {
      const { app, jobs } = opened;
      const found = await findSources(app.store, jobs, [jobOf(opened, 'measurements')]);
      const wide = () => ({ columns: [], window: '10m', aggregate: 'mean', hold: '1h' }) as never;
      const bounds = { tempDir: app.config.settings.TEMP_DIR, maxFetchBytes: 1e9, wide };
      const lake = { store: app.store, layout: 'plain', log: silentLog } as const;
      const session = await openLakeSession({ ...lake, ...found, ...bounds }, signal);
      try {
        const { rows } = await session.query(
          "SELECT vessel, days, total_rows FROM coverage WHERE job = 'measurements' ORDER BY ALL",
          signal,
        );
        const all: [string, number, number][] = [];
        for await (const row of rows) all.push(row as (typeof all)[number]);
        return byVessel(
          all,
          ([vessel]) => vessel,
          ([vessel, days, count]) => (vessel === BAD ? days : `${days} ${count}`),
        );
      } finally {
        await session.close();
      }
    },
    () => [1],
  ],
  'the printed views': [
    async (_, dir) => {
      const jobs = { measurements: JOBS.measurements! } as never;
      const instance = await DuckDBInstance.create(':memory:');
      const connection = await instance.connect();
      try {
        await connection.run("SET TimeZone = 'UTC'");
        for (const statement of await viewStatementsOf(pathToFileURL(dir).href, { for: 'duckdb' }, jobs))
          await connection.run(statement);
        const sql = "SELECT vessel, date::VARCHAR FROM receipts WHERE job = 'measurements' AND rows > 0";
        const rows = (await connection.runAndReadAll(sql)).getRows() as [string, string][];
        return byVessel(
          rows,
          ([vessel]) => vessel,
          ([, date]) => date,
        );
      } finally {
        connection.closeSync();
        instance.closeSync();
      }
    },
    () => [addDays(DATE, 1)],
  ],
  'vessels and series of the lake': [
    async ({ app, jobs }) => {
      const ports = { store: app.store, clock: systemClock, log: silentLog };
      const vessels = await listLakeVessels(ports, jobs);
      const series = await listLakeSeries(ports, undefined, { days: 7, jobs });
      const names = byVessel(
        series,
        ({ vessel }) => vessel!,
        ({ timeSeriesId, lastMicros }) => `${timeSeriesId} ${lastMicros}`,
      );
      return Object.fromEntries(
        vessels.map(({ vessel, lastMicros }) => [
          vessel,
          { lastMicros, series: vessel === BAD ? 0 : names[vessel] },
        ]),
      );
    },
    () => ({ lastMicros: expect.any(Number), series: 0 }),
  ],
  accept: [
    async ({ app }) => {
      const said: Record<string, unknown> = {};
      for (const vessel of VESSELS)
        said[vessel] = (await acceptWarning(app.ports, 'measurements', vessel)).state;
      return said;
    },
    () => 'nothing-to-accept',
  ],
  'vessels that the ledger knows': [
    async (opened) => {
      const job = jobOf(opened, 'discovered');
      const { vessels, troubles } = await findVessels(opened.app.ports, job, { vessels: [], to: TO }, signal);
      expect(troubles).toEqual([]);
      return Object.fromEntries(vessels.map((vessel) => [vessel, 'known']));
    },
    () => 'known',
  ],
  'rebuild-log': [
    async (_, dir) => {
      const said: string[] = [];
      for (const [what, damage] of Object.entries(LOG_DAMAGES)) {
        await using copy = await newMemoryFolder();
        await cp(join(folder.path, 'table'), copy.path, { recursive: true });
        const bytes = await readFile(join(dir, receiptKey(MEASURED)));
        if (!bytes.equals(await readFile(join(folder.path, 'sound', receiptKey(MEASURED)))))
          await writeFile(join(copy.path, receiptKey(MEASURED)), bytes);
        await damage(join(copy.path, 'measurements/_delta_log'));
        await using app = await openTables(copy.path);
        const ports = { ...app.app.ports, signal, say: () => {} };
        const shown = await rebuildLog(ports, 'measurements', false);
        const { isWritten, vesselDays, leftOut, unread } = await rebuildLog(ports, 'measurements', true);
        expect({ isWritten, leftOut }, what).toEqual({ isWritten: true, leftOut: [] });
        expect([shown.vesselDays, shown.unread], what).toEqual([vesselDays, unread]);
        for (const { day } of await readTableFiles(app.app.store, 'measurements'))
          said.push(`${day.vessel} in the table: ${what}`);
        for (const { day, message } of unread)
          said.push(`${day.vessel} named, and ${/[^;]*$/.exec(message)![0].trim()}: ${what}`);
        const { findings } = await app.verify({ to: TO });
        expect(
          findings.map(({ day, name }) => `${day.vessel} ${name.slice(0, 8)}`),
          what,
        ).toEqual(unread.map(() => `${BAD} receipt-`));
      }
      return byVessel(
        said,
        (one) => one.slice(0, 10),
        (one) => one.slice(11),
      );
    },
    () =>
      [
        ...Object.keys(LOG_DAMAGES)
          .slice(1)
          .flatMap((what) => [`in the table: ${what}`, `named, and its file stays in the table: ${what}`]),
        `named, and it is not in the table: ${Object.keys(LOG_DAMAGES)[0]}`,
      ].sort(),
  ],
  convert: [
    async ({ app }, dir) => {
      // A claim of a dead process, which nobody can take.
      const claim = {
        ...{ claimVersion: 1, epoch: 9, attempt: 'a', settingsHash: 'h', heartbeatMs: 0 },
        ...{ owner: { host: 'elsewhere', pid: 1 }, checkpoint: null, sealed: null },
      };
      const path = join(dir, claimKey(MEASURED, 9));
      await cp(join(dir, receiptKey({ ...MEASURED, vessel: VESSELS[0]! })), path);
      await writeFile(path, JSON.stringify(claim));
      const clock = { ...systemClock, sleep: async () => {} };
      const ports = { store: app.store, clock, log: silentLog, self: app.ports.self, signal, say: () => {} };
      const { jobs, leftOut, converted } = await convertLake(ports);
      expect(converted).toBe(true);
      const missing = leftOut.map(({ day }) => `${day.job} ${day.date}`).sort();
      return {
        others: jobs.map(
          ({ job, vesselDays }) =>
            `${job} ${vesselDays + missing.filter((one) => one.startsWith(`${job} `)).length}`,
        ),
        [BAD]: missing,
      };
    },
    () => BAD_DAYS.map(({ job, date }) => `${job} ${date}`).sort(),
  ],
};

describe('one bad receipt', () => {
  /** What is said of the sound lake. */
  const sound = new Map<string, Said>();
  const without = ({ [BAD]: _, ...others }: Said) => others;

  test.for(Object.keys(READERS))('%s: every other vessel is as it was', async (name) => {
    const [read, ofBad] = READERS[name]!;
    {
      await using copy = await copyWith(async () => {});
      await using app = await open(copy.path);
      sound.set(name, await read(app, copy.path));
    }
    for (const [what, [code, bytesOf]] of Object.entries(BADNESS)) {
      if (!isLong && !EVERY_BADNESS.includes(name) && !SOME.includes(what)) continue;
      if (name === 'the printed views' && !SEEN_BY_VIEWS.includes(what)) continue;
      await using copy = await copyWith((path, receipt) => writeFile(path, bytesOf(receipt)));
      const receipts = () =>
        Promise.all(BAD_DAYS.map((day) => readFile(join(copy.path, receiptKey(day)), 'utf8')));
      const before = await receipts();
      await using app = await open(copy.path);
      const said = await read(app, copy.path);
      expect(without(said), what).toEqual(without(sound.get(name)!));
      expect(said[BAD], what).toEqual(ofBad(code));
      expect(await receipts(), what).toEqual(before);
    }
  });
});

test('a vessel-day whose receipt cannot be read has a note, which is over once it can be', async () => {
  await using copy = await copyWith((path) => writeFile(path, '{"receiptVersion":2}'));
  await using app = await open(copy.path);
  await app.run({ jobs: ['measurements'] });
  expect(await noteOf(copy.path, MEASURED)).toMatchObject({
    state: 'failed',
    code: 'unknown-receipt-version',
  });
  const sound = await readFile(join(folder.path, 'sound', receiptKey(MEASURED)));
  await writeFile(join(copy.path, receiptKey(MEASURED)), sound);
  const status = async () => {
    const request = { from: DATE, to: addDays(DATE, 1), vessels: [BAD] };
    return [...(await readJobStatus(app.app.ports, jobOf(app, 'measurements'), request)).cells];
  };
  expect(await status()).toMatchObject([{ state: 'published' }]);
  const items: string[] = [];
  for await (const { kind, keep } of findGarbage(app.app.ports)) items.push(`${kind} ${keep}`);
  expect(items).toEqual(['note false']);
  const perform = createPerformDay(app.app.ports, app.jobs);
  expect(await perform({ ...MEASURED, kind: 'nightly' }, signal)).toMatchObject({ status: 'done' });
  expect(await noteOf(copy.path, MEASURED)).toBeUndefined();
});

test('a receipt larger than anything of ours stops nobody else', async () => {
  await using copy = await copyWith((path) => truncate(path, MAX_WHOLE_BYTES + 1));
  await using app = await open(copy.path);
  const states = (await app.run({ jobs: ['measurements'] })).map(({ status }) => status).sort();
  expect(states).toEqual(['done', 'done', 'done', 'failed']);
  expect((await app.verify({ jobs: ['measurements'] })).findings).toMatchObject([{ name: 'not-verified' }]);
});

test('a file of a table whose receipt cannot be read is kept', async () => {
  await using lake = await newMemoryFolder();
  await using app = await openTables(lake.path);
  await app.run();
  const object = (await receiptOf(lake.path, MEASURED))!.object!.key;
  // Somebody has taken it out of the table, long ago.
  const remove = { path: object.slice('measurements/'.length), deletionTimestamp: 1, dataChange: true };
  await commitBehind(join(lake.path, 'measurements/_delta_log'), `${JSON.stringify({ remove })}\n`);
  for (const text of ['{', '{"receiptVersion":2}']) {
    await writeFile(join(lake.path, receiptKey(MEASURED)), text);
    const clock = { ...systemClock, nowMs: () => Date.now() + 40 * 86_400_000 };
    for await (const item of findGarbage({ ...app.app.ports, clock }))
      expect(item.key, text).not.toBe(object);
  }
});
