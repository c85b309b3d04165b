/** `status` on lakes that hold every state; nothing answers at the service's address. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type StatusOptions, statusCommand } from '../../../src/cli/commands/status.ts';
import type { ClaimFile, Note, VesselDay } from '../../../src/core/model/index.ts';
import { addDays, systemClock } from '../../../src/core/model/index.ts';
import { settingsHash } from '../../../src/core/plan/settings-hash.ts';
import { jsonBytes } from '../../../src/lake/json.ts';
import { claimKey } from '../../../src/lake/keys.ts';
import { writeNote } from '../../../src/lake/ledger/ledger.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { type CommandPlace, commandRun } from '../../helpers/command-run.ts';
import { lakeFiles } from '../../helpers/lake.ts';
import { makeReceipt, vesselIds, writeReceipt } from '../../helpers/ledger.ts';
import type { JobFile, TestLake } from '../../helpers/run.ts';
import { newLake, OTHER_VESSEL, startTestService, VESSEL } from '../../helpers/run.ts';

const FROM = '2026-01-05';
const NOW_MS = Date.parse('2026-01-13T12:00:00Z');
const clock = { ...systemClock, nowMs: () => NOW_MS };
const JOB: JobFile = {
  dataset: 'measurements',
  vessels: [VESSEL, OTHER_VESSEL],
  select: ['flat/{vessel}/*'],
  since: '2025-11-01',
};
const HASH = settingsHash(
  {
    name: 'measurements',
    dataset: 'measurements',
    vessels: [],
    select: ['flat/{vessel}/*'],
    transport: 'ndjson',
    verify: 'exact',
  },
  '2026-09-10',
);

let lake: TestLake;
let store: ObjectStore;
beforeEach(async () => {
  lake = await newLake();
  store = createLocalStore(lake.dir);
});
afterEach(() => lake[Symbol.asyncDispose]());

const dayOf = (offset: number, vessel = VESSEL): VesselDay => ({
  job: 'measurements',
  vessel,
  date: addDays(FROM, offset),
});

type StatusPlace = Partial<Omit<CommandPlace, 'lakeUrl' | 'jobs'>> & { readonly job?: JobFile };

async function status(options: StatusOptions = {}, { job = JOB, ...place }: StatusPlace = {}) {
  return await commandRun({ lakeUrl: lake.url, jobs: { measurements: job }, ...place }, (context) =>
    statusCommand(context, [], { from: FROM, to: addDays(FROM, 9), ...options }, { clock }),
  );
}

function note(day: VesselDay, more: Partial<Note>): Note {
  return {
    noteVersion: 1,
    ...day,
    state: 'failed',
    code: 'counts-disagree',
    message: `${day.vessel}/${day.date}: 5 fetched, 6 counted by the source`,
    at: '2026-01-12T09:00:00.000Z',
    ...more,
  };
}

async function claim(day: VesselDay, heartbeatMs: number): Promise<void> {
  const file: ClaimFile = {
    claimVersion: 1,
    epoch: 2,
    attempt: 'a',
    owner: { host: 'elsewhere/boot/space', pid: 1 },
    settingsHash: HASH,
    heartbeatMs,
    checkpoint: null,
    sealed: null,
  };
  await store.put(claimKey(day, 2), jsonBytes(file));
}

const published = (day: VesselDay, more = {}) =>
  writeReceipt(store, makeReceipt(day, { settingsHash: HASH, ...more }));

/** One vessel-day of every state, and notes and claims that count for nothing. */
async function writeEveryState(): Promise<void> {
  await published(dayOf(0));
  await published(dayOf(1), { rows: 0 });
  await published(dayOf(3), { settingsHash: 'another' });
  await writeNote(store, note(dayOf(4), {}));
  await published(dayOf(5));
  const message = 'refused to replace the published day';
  await writeNote(store, note(dayOf(5), { state: 'refused', code: 'would-shrink', message }));
  await claim(dayOf(6), NOW_MS - 10_000);
  for (let offset = 0; offset < 8; offset++) await published(dayOf(offset, OTHER_VESSEL), { rows: 999 });
  // Overtaken by the receipt that came later, and left by a process that has died before its first receipt.
  await writeNote(store, note(dayOf(0, OTHER_VESSEL), { at: '2026-01-01T00:00:00.000Z' }));
  await claim(dayOf(7), NOW_MS - 600_000);
}

test('every state, with rows', async () => {
  await writeEveryState();
  const { code, stdout } = await status();
  expect(code).toBe(0);
  expect(stdout).toMatchInlineSnapshot(`
    "measurements  2026-01-05  2026-01-06  2026-01-07  2026-01-08  2026-01-09  2026-01-10  2026-01-11  2026-01-12  2026-01-13
    IMO9321483     1,234,567       empty     missing       stale      failed     refused     running     missing     not due
    IMO9322853           999         999         999         999         999         999         999         999     not due

    18 vessel-days: 9 published, 1 empty, 2 missing, 1 stale, 1 failed, 1 refused, 1 running, 2 not due; 3,711,693 rows published
    oldest gap: measurements/IMO9321483/2026-01-07
    last success: measurements/IMO9322853/2026-01-12 at 2026-01-12T23:00:12.000Z

    failed: IMO9321483/2026-01-09: 5 fetched, 6 counted by the source
    refused: IMO9321483/2026-01-10: refused to replace the published day
    1 interrupted: the next run continues them
    "
  `);
});

test('every state, one character a day; what is wider than the terminal goes on below', async () => {
  await writeEveryState();
  const { stdout } = await status({ from: '2025-12-20', to: '2026-01-15' }, { columns: 36 });
  expect(stdout).toMatchInlineSnapshot(`
    "measurements  2025-12     2026-01
                  20   25     01  05   10
    IMO9321483    ????????????????█o?sFR
    IMO9322853    ????????????????██████

    measurements  2026-01

    IMO9321483    >?··
    IMO9322853    ██··

    █ published  o empty  ? missing  s stale  F failed  R refused  > running  · not due

    52 vessel-days: 9 published, 1 empty, 34 missing, 1 stale, 1 failed, 1 refused, 1 running, 4 not due; 3,711,693 rows published
    oldest gap: measurements/IMO9321483/2025-12-20
    last success: measurements/IMO9322853/2026-01-12 at 2026-01-12T23:00:12.000Z

    failed: IMO9321483/2026-01-09: 5 fetched, 6 counted by the source
    refused: IMO9321483/2026-01-10: refused to replace the published day
    1 interrupted: the next run continues them
    "
  `);
});

test('days that nobody has asked for are no gap, and it is said what exports them', async () => {
  await published(dayOf(0));
  await published(dayOf(2));
  const { stdout } = await status({}, { job: { ...JOB, since: '2026-01-11' }, columns: 40 });
  expect(stdout).toMatchInlineSnapshot(`
    "measurements  2026-01
                  05   10
    IMO9321483    █?█---??·
    IMO9322853    ------??·

    █ published  ? missing  · not due  - not asked for

    18 vessel-days: 2 published, 5 missing, 2 not due, 9 not asked for; 2,469,134 rows published
    not asked for: neither the job nor a backfill covers these days; name their dates (run --from D --to D) to export them
    oldest gap: measurements/IMO9321483/2026-01-06
    last success: measurements/IMO9321483/2026-01-07 at 2026-01-07T23:00:12.000Z
    "
  `);
  const { jobs } = JSON.parse(
    (await status({ json: true }, { job: { ...JOB, since: '2026-01-20' } })).stdout,
  );
  expect(jobs[0]).toMatchObject({
    totals: { published: 2, missing: 1, 'not-asked-for': 13, 'not-due': 2 },
    oldestGap: dayOf(1),
  });
});

test('JSON says what the grid says', async () => {
  await writeEveryState();
  const { jobs, days } = JSON.parse((await status({ json: true })).stdout);
  expect(jobs).toMatchObject([
    {
      job: 'measurements',
      from: FROM,
      to: '2026-01-14',
      vesselsFrom: 'job',
      vessels: [VESSEL, OTHER_VESSEL],
      vesselDays: 18,
      totals: { published: 9, empty: 1, missing: 2, stale: 1, refused: 1, running: 1, 'not-due': 2 },
      oldestGap: { vessel: VESSEL, date: '2026-01-07' },
      lastPublished: { vessel: OTHER_VESSEL, date: '2026-01-12' },
    },
  ]);
  const cells = days.filter((cell: { vessel: string }) => cell.vessel === VESSEL);
  expect(cells.map(({ state }: { state: string }) => state).join(' ')).toBe(
    'published empty missing stale failed refused running missing not-due',
  );
  expect(cells[4]).toMatchObject({
    rows: null,
    code: 'counts-disagree',
    message: expect.stringContaining('5 f'),
  });
  expect(cells[5]).toMatchObject({ rows: 1_234_567, code: 'would-shrink' });
  expect(cells[7]).toMatchObject({ begun: true });
});

test('vessels that are discovered are taken from the lake, which is said', async () => {
  await writeEveryState();
  const job = { ...JOB, vessels: { discover: 'flat/*/*' } };
  const { stdout } = await status({}, { job });
  expect(stdout).toContain(OTHER_VESSEL);
  expect(stdout).toContain('vessels: those that the lake has on these dates');
  const { jobs } = JSON.parse((await status({ json: true }, { job })).stdout);
  expect(jobs).toMatchObject([{ vesselsFrom: 'lake', vessels: [VESSEL, OTHER_VESSEL], vesselDays: 18 }]);
  const empty = await status({ from: '2025-01-01', to: '2025-01-03' }, { job });
  expect(empty.stdout).toContain('no vessel-days');
});

test('vessels that are discovered can be asked of the service', async () => {
  await writeEveryState();
  const service = await startTestService({ vessels: 3 });
  try {
    const job = { ...JOB, vessels: { discover: 'flat/*/*' } };
    const { stdout } = await status({ discover: true }, { job, service });
    expect(stdout).toContain('27 vessel-days');
    expect(stdout).toContain('vessels: as the service lists them now');
  } finally {
    await service.close();
  }
});

test('no credentials are needed', async () => {
  await writeEveryState();
  const env = { QUERY_BASE_URL: '', QUERY_AUTH_URL: '', QUERY_CLIENT_ID: '', QUERY_CLIENT_SECRET: '' };
  expect(await status({}, { env })).toMatchObject({ code: 0 });
  expect(await status({ discover: true }, { env })).toMatchObject({ code: 2 });
});

test('a reason that several vessel-days share is said once, with the first of them', async () => {
  const message = 'no space is left';
  for (const offset of [0, 1])
    await writeNote(store, note(dayOf(offset), { message: `${VESSEL}/2026-01-0${5 + offset}: ${message}` }));
  await writeNote(store, note(dayOf(2), { message: 'the service answered 500' }));
  const { stdout } = await status();
  expect(stdout.split('\n').filter((line) => line.startsWith('failed: '))).toEqual([
    `failed: ${VESSEL}/2026-01-05: no space is left (and 1 more of this kind)`,
    `failed: ${VESSEL}/2026-01-07: the service answered 500`,
  ]);
});

test('a snapshot that equals the last one is not missing', async () => {
  const job = { dataset: 'metadata', vessels: [VESSEL, OTHER_VESSEL], select: ['flat/{vessel}/*'] };
  await published(dayOf(2), { dataset: 'metadata', rows: 180 });
  const { jobs } = JSON.parse((await status({ json: true, from: '2026-01-13' }, { job })).stdout);
  expect(jobs[0].totals).toMatchObject({ missing: 1, 'not-due': 1 });
  expect(jobs[0].oldestGap).toMatchObject({ vessel: OTHER_VESSEL, date: '2026-01-13' });
});

test('nothing is written but the index', async () => {
  await writeEveryState();
  for (const vessel of vesselIds(40)) for (const offset of [0, 1]) await published(dayOf(offset, vessel));
  const before = await lakeFiles(lake.dir);
  await status({}, { job: { ...JOB, vessels: { discover: 'flat/*/*' } } });
  const after = await lakeFiles(lake.dir);
  expect([...after.keys()].filter((key) => !before.has(key))).toEqual([
    '_index/measurements/2026-01.parquet',
  ]);
  expect([...before].filter(([key, bytes]) => after.get(key)?.equals(bytes) !== true)).toEqual([]);
});

test.for(['json', 'ndjson'] as const)('--%s of many days waits for who reads it', async (form) => {
  const vessels = vesselIds(600);
  let pending = 0;
  let written = '';
  const run = await commandRun(
    { lakeUrl: lake.url, jobs: { measurements: { ...JOB, vessels } } },
    (context) => {
      const stdout = {
        write(text: string) {
          // What stands behind the days is written at once.
          if (text.includes('"state"') && !text.includes('summary') && !text.includes('schemaVersion'))
            expect(pending).toBe(0);
          written += text;
          pending++;
        },
        taken: async () => {
          await new Promise(setImmediate);
          pending = 0;
        },
      };
      const options = { from: FROM, to: addDays(FROM, 9), [form]: true };
      return statusCommand({ ...context, stdout }, [], options, { clock });
    },
  );
  expect(run.code).toBe(0);
  expect(written.length).toBeGreaterThan(3 * 65_536);
  expect(written.match(/"state"/g)!.length).toBeGreaterThanOrEqual(600 * 9);
});
