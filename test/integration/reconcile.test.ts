/** Late readings and other changes: exactly the vessel-days that changed are found, and exported again. */

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReconcileOptions } from '../../src/cli/commands/reconcile.ts';
import { reconcileCommand } from '../../src/cli/commands/reconcile.ts';
import type { VesselDay } from '../../src/core/model/index.ts';
import {
  addDays,
  dateToMicros,
  dayRange,
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  systemClock,
} from '../../src/core/model/index.ts';
import { detailKey, LAKE_KEY, noteKey, receiptKey } from '../../src/lake/keys.ts';
import type { CommandRun } from '../helpers/command-run.ts';
import { commandRun } from '../helpers/command-run.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import {
  acceptService,
  expectExactDay,
  lakeFiles,
  noteOf,
  receiptOf,
  serviceNames,
} from '../helpers/lake.ts';
import type { JobFile, TestLake, TestService, TestServiceOptions } from '../helpers/run.ts';
import { mustExport, newLake, OTHER_VESSEL, QUICK_LIMITS, startTestService, VESSEL } from '../helpers/run.ts';

const FLEET: TestServiceOptions = { vessels: 3, readingsPerDay: 1_000 };
const VESSELS = [VESSEL, OTHER_VESSEL, 'IMO9324227'];
const FROM = '2026-01-05';
const TO = addDays(FROM, 30);
/** Noon of the day after the look-back: all of it is due. */
const clock = { ...systemClock, nowMs: () => Date.parse(`${TO}T12:00:00Z`) };
const JOB: JobFile = { dataset: 'measurements', vessels: VESSELS, select: ['flat/{vessel}/S*'] };
const day = (offset: number, vessel = VESSEL): VesselDay => ({
  job: 'measurements',
  vessel,
  date: addDays(FROM, offset),
});
/** With `bench({ days: 2 })`. */
const TWO_DAYS = { from: FROM, to: addDays(FROM, 2), vessel: [VESSEL] };
const LATE = day(17, OTHER_VESSEL);
/** A series of the first vessel that sent nothing on this day when the base lake was made. */
const QUIET = day(3);

let base: TestLake;
let baseFiles: Map<string, Buffer>;
/** Time series ids of the first and second vessel, in a fixed order. */
let ids: string[];
let otherIds: string[];

beforeAll(async () => {
  base = await newLake();
  const service = await startTestService(FLEET);
  try {
    ids = [...(await serviceNames(service, [`flat/${VESSEL}/S*`])).keys()].sort();
    otherIds = [...(await serviceNames(service, [`flat/${OTHER_VESSEL}/S*`])).keys()].sort();
    service.overlay.removeReadings(ids[0], dayRange(QUIET.date));
    const jobs = { measurements: JOB };
    await mustExport({ service, lakeUrl: base.url, jobs, args: { from: FROM, to: TO } });
  } finally {
    await service.close();
  }
  baseFiles = await lakeFiles(base.dir);
});
afterAll(() => base[Symbol.asyncDispose]());

interface Report extends CommandRun {
  /** `<state> <vessel>/<date>` */
  readonly found: readonly string[];
  readonly findings: readonly Record<string, unknown>[];
  readonly unasked: readonly Record<string, unknown>[];
  readonly requests: { reconcile: number; export: number };
  readonly results: readonly Record<string, unknown>[];
}

interface BenchOptions extends TestServiceOptions {
  /** False: the quiet series has its readings now. */
  readonly asWas?: boolean;
  /** Days of the first vessel only, which is quicker; default: the whole lake. */
  readonly days?: number;
}

/** A service of the same readings and a copy of the lake. */
type Bench = Awaited<ReturnType<typeof bench>>;

async function bench(options: BenchOptions = {}) {
  const { asWas = true, days, ...rest } = options;
  const service = await startTestService({ ...FLEET, ...rest });
  if (asWas) service.overlay.removeReadings(ids[0], dayRange(QUIET.date));
  const lake = await newLake();
  const before = new Map(
    [...baseFiles].filter(([key]) => {
      const date = /date=([\d-]+)/.exec(key)?.[1];
      // The layout is every lake's; the index would tell of days that are left out.
      if (date === undefined) return key === LAKE_KEY;
      return days === undefined || (key.includes(VESSEL) && date < addDays(FROM, days));
    }),
  );
  for (const [key, bytes] of before) {
    const path = join(lake.dir, key);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  }
  await acceptService(lake.dir, service);
  before.set(LAKE_KEY, (await lakeFiles(lake.dir)).get(LAKE_KEY)!);
  return {
    service,
    lake,
    before,
    async reconcile(
      reconcileOptions: ReconcileOptions = {},
      { job = JOB, env = {} }: { job?: JobFile; env?: Record<string, string> } = {},
    ): Promise<Report> {
      const range = 'days' in reconcileOptions ? {} : { from: FROM, to: TO };
      const options = { json: true, ...range, ...reconcileOptions };
      const ran = await commandRun(
        { service, lakeUrl: lake.url, jobs: { measurements: job }, env },
        (context) =>
          reconcileCommand(context, [], options, { clock, encoderThreads: 0, clientLimits: QUICK_LIMITS }),
      );
      const report = ran.stdout.startsWith('{') ? JSON.parse(ran.stdout) : {};
      const { findings = [], unasked = [] } = report;
      const found = findings.map((f: Record<string, string>) => `${f.state} ${f.vessel}/${f.date}`);
      return {
        ...ran,
        found,
        findings,
        unasked,
        requests: { reconcile: report.requests, export: report.exportRequests },
        results: report.days ?? [],
      };
    },
    /** Keys of files that are not as they were, without the index. */
    async changedFiles() {
      const after = await lakeFiles(lake.dir);
      const keys = new Set([...before.keys(), ...after.keys()]);
      return [...keys]
        .filter(
          (key) =>
            !key.startsWith('_index/') && before.get(key)?.equals(after.get(key) ?? Buffer.alloc(0)) !== true,
        )
        .sort();
    },
    async [Symbol.asyncDispose]() {
      await service.close();
      await lake[Symbol.asyncDispose]();
    },
  };
}

const name = ({ vessel, date }: VesselDay) => `${vessel}/${date}`;

/** An hour of a day, a reading a minute. */
function addHour(service: TestService, { date }: VesselDay, id: string, hour = 7): void {
  const fromMicros = dateToMicros(date) + hour * MICROS_PER_HOUR;
  const readings = Array.from({ length: 60 }, (_, minute) => ({
    timestampMicros: fromMicros + minute * 60_000_000 + 123_457,
    valueText: `${minute}.5`,
  }));
  service.overlay.addReadings(id, readings);
}

function answerStatistics({ service }: Bench, fault: Fault): void {
  service.faults = ({ family }) => (family === 'statistics' ? fault : undefined);
}

async function expectSource(on: Bench, which: VesselDay): Promise<void> {
  const expressions = [`flat/${which.vessel}/S*`];
  await expectExactDay(on.service, { lakeDir: on.lake.dir, day: which, expressions });
}

test('nothing changed: one request a vessel, and one for all of them', async () => {
  await using on = await bench();
  const { code, found, requests } = await on.reconcile({ run: true });
  expect({ code, found, requests }).toEqual({ code: 0, found: [], requests: { reconcile: 4, export: 0 } });
  expect(on.service.requests.filter(({ family }) => family !== 'token').length).toBe(4);
  expect(await on.changedFiles()).toEqual([]);
});

test('a late hour in one of thirty days of three vessels: that vessel-day, with eight requests', async () => {
  await using on = await bench();
  addHour(on.service, LATE, otherIds[5]!);
  const { code, found, findings, requests, results } = await on.reconcile({ run: true });
  expect({ code, found }).toEqual({ code: 0, found: [`changed ${name(LATE)}`] });
  const { published, now } = findings[0] as { published: number; now: number };
  expect(now - published).toBe(60);
  expect(results).toMatchObject([{ ...LATE, state: 'published', rows: now }]);
  // Metadata of three vessels, one question for ninety vessel-days, one by the hour; then an export's three.
  expect(requests).toEqual({ reconcile: 5, export: 3 });
  expect(on.service.requests.filter(({ family }) => family !== 'token').length).toBe(8);
  expect(await on.changedFiles()).toEqual([
    detailKey(LATE),
    receiptKey(LATE),
    `measurements/vessel=${OTHER_VESSEL}/date=${LATE.date}/data.parquet`,
  ]);
  await expectSource(on, LATE);
  const again = await on.reconcile({ run: true });
  expect(again).toMatchObject({ code: 0, found: [], requests: { reconcile: 4, export: 0 } });
});

test('without --run what changed is told in words, and nothing is written', async () => {
  await using on = await bench();
  addHour(on.service, LATE, otherIds[5]!);
  const { code, stdout } = await on.reconcile({ json: false });
  expect(code).toBe(0);
  expect(
    stdout.replace(/\d+ published, \d+ now/, 'n published, m now').replace(/\(IMO.*?: n/, '(<name>: n'),
  ).toBe(
    [
      `measurements: ${FROM} to ${TO}, 3 vessels, 90 vessel-days compared: 1 changed`,
      `  changed  ${name(LATE)}: 60 readings added to 1 series (<name>: n published, m now)`,
      '5 requests to compare; --run exports again what changed, --enqueue leaves it to the workers\n',
    ].join('\n'),
  );
  expect(await on.changedFiles()).toEqual([]);
});

test('version 2025-10-31, and a service whose ranges include their end', async () => {
  await using on = await bench({ days: 0, toInclusive: true });
  const env = { QUERY_API_VERSION: '2025-10-31' };
  // Another version would make every receipt stale.
  const args = { from: FROM, to: addDays(FROM, 4) };
  await mustExport({ service: on.service, lakeUrl: on.lake.url, jobs: { measurements: JOB }, args, env });
  expect(await on.reconcile(args, { env })).toMatchObject({ code: 0, found: [] });
  addHour(on.service, day(2), ids[4]!, 23);
  // The first instant of the next day is not this day's.
  on.service.overlay.addReadings(ids[4]!, [
    { timestampMicros: dateToMicros(addDays(FROM, 4)), valueText: '1' },
  ]);
  expect((await on.reconcile({ ...args, run: true }, { env })).found).toEqual([`changed ${name(day(2))}`]);
  await expectSource(on, day(2));
});

test('a series that appeared, and a day that is empty no more', async () => {
  await using on = await bench({ asWas: false });
  const empty = (
    await Promise.all(Array.from({ length: 27 }, (_, i) => receiptOf(on.lake.dir, day(i))))
  ).find((receipt) => receipt?.rows === 0)!;
  addHour(on.service, empty, ids[2]!);
  const { found, findings, results } = await on.reconcile({ run: true });
  const expected = [QUIET, { ...empty }].sort((a, b) => (a.date < b.date ? -1 : 1));
  expect(found).toEqual(expected.map((each) => `changed ${name(each)}`));
  const quiet = findings.find(({ date }) => date === QUIET.date) as { changes: { kind: string }[] };
  expect(quiet.changes).toMatchObject([{ kind: 'appeared', timeSeriesId: ids[0], published: 0 }]);
  expect(findings.find(({ date }) => date === empty.date)).toMatchObject({ published: 0, now: 60 });
  expect(results.map(({ state }) => state)).toEqual(['published', 'published']);
  await expectSource(on, QUIET);
  await expectSource(on, { ...day(0), date: empty.date });
});

test('readings of other times: as many, yet another first or last one', async () => {
  await using on = await bench({ days: 2 });
  const at = dateToMicros(day(1).date);
  on.service.overlay.removeReadings(ids[6], { fromMicros: at, toMicros: at + 24 * MICROS_PER_HOUR });
  const { findings: gone } = await on.reconcile(TWO_DAYS);
  const [change] = gone[0]!.changes as { published: number }[];
  const readings = Array.from({ length: change!.published }, (_, i) => ({
    timestampMicros: at + 3 * MICROS_PER_HOUR + i,
    valueText: '7',
  }));
  on.service.overlay.addReadings(ids[6]!, readings);
  const { found, findings } = await on.reconcile({ ...TWO_DAYS, run: true });
  expect(found).toEqual([`changed ${name(day(1))}`]);
  expect(findings[0]).toMatchObject({
    changes: [{ kind: 'shifted' }],
    message: expect.stringContaining('another first or last time'),
  });
  await expectSource(on, day(1));
});

test('days that were never published, and those of other settings', async () => {
  await using on = await bench({ days: 2 });
  await rm(join(on.lake.dir, receiptKey(day(1))));
  const { findings, code } = await on.reconcile({ ...TWO_DAYS, run: true });
  expect({ code, findings }).toMatchObject({ code: 0, findings: [{ state: 'missing', date: day(1).date }] });
  expect(await on.changedFiles()).toEqual([receiptKey(day(1))]);
  const narrower = { ...JOB, select: ['flat/{vessel}/Shaft *'] };
  const stale = await on.reconcile({ ...TWO_DAYS, run: true }, { job: narrower });
  const found = [`stale ${name(day(0))}`, `stale ${name(day(1))}`];
  expect(stale).toMatchObject({ code: 1, found, results: [{ state: 'refused' }, { state: 'refused' }] });
  // What is not published needs no comparison.
  expect(stale.requests.reconcile).toBe(0);
  expect(await noteOf(on.lake.dir, day(0))).toMatchObject({ state: 'refused', code: 'would-shrink' });
  const shrinking = { ...TWO_DAYS, run: true, allowShrink: true };
  expect(await on.reconcile(shrinking, { job: narrower })).toMatchObject({ code: 0, found });
  expect(await on.reconcile({ ...TWO_DAYS, run: true }, { job: narrower })).toMatchObject({
    code: 0,
    found: [],
  });
});

test('a day that would lose readings is refused once, and kept until its counts change', async () => {
  await using on = await bench();
  const lost = day(11);
  const hour = (n: number) => {
    const fromMicros = dateToMicros(lost.date) + n * MICROS_PER_HOUR;
    return { fromMicros, toMicros: fromMicros + MICROS_PER_HOUR };
  };
  for (const id of ids) on.service.overlay.removeReadings(id, hour(4));
  const report = await on.reconcile();
  expect(report).toMatchObject({ code: 0, found: [`would-shrink ${name(lost)}`] });
  expect(await on.changedFiles()).toEqual([]);

  const first = await on.reconcile({ run: true });
  expect(first).toMatchObject({ code: 1, found: [`would-shrink ${name(lost)}`], results: [] });
  expect(await noteOf(on.lake.dir, lost)).toMatchObject({
    state: 'refused',
    code: 'would-shrink',
    totalsSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(await on.changedFiles()).toEqual([noteKey(lost)]);

  const second = await on.reconcile({ run: true });
  expect(second).toMatchObject({ code: 0, found: [`refused ${name(lost)}`], results: [] });
  expect(second.requests).toEqual({ reconcile: 4, export: 0 });

  for (const id of ids) on.service.overlay.removeReadings(id, hour(5));
  expect(await on.reconcile({ run: true })).toMatchObject({ code: 1, found: [`would-shrink ${name(lost)}`] });

  const allowed = await on.reconcile({ run: true, allowShrink: true });
  expect(allowed).toMatchObject({ code: 0, results: [{ ...lost, state: 'published' }] });
  expect(await noteOf(on.lake.dir, lost)).toBeUndefined();
  await expectSource(on, lost);
  expect(await on.reconcile({ run: true })).toMatchObject({ code: 0, found: [] });
});

test('readings that moved between series are no gain', async () => {
  await using on = await bench({ days: 3 });
  const moved = day(1);
  const detail = JSON.parse(gunzipSync(baseFiles.get(detailKey(moved))!).toString());
  const [id, hours] = Object.entries(detail.ours as Record<string, number[][]>)[0]!;
  const readings = hours.reduce((sum, [, count]) => sum + count!, 0);
  on.service.overlay.removeReadings(id, dayRange(moved.date));
  on.service.overlay.addReadings(
    ids.find((other) => other !== id)!,
    Array.from({ length: readings }, (_, i) => ({
      timestampMicros: dateToMicros(moved.date) + i,
      valueText: '1',
    })),
  );
  const range = { from: FROM, to: addDays(FROM, 3), vessel: [VESSEL] };
  const { code, found, findings } = await on.reconcile({ ...range, run: true });
  expect({ code, found }).toEqual({ code: 1, found: [`would-shrink ${name(moved)}`] });
  expect(findings[0]!.now).toBe(findings[0]!.published);
  expect(findings[0]!.message).toMatch(new RegExp(`^${readings} readings moved between series`));
});

test('statistics that count too much: nothing is published, and the numbers are named', async () => {
  await using on = await bench({ days: 2 });
  answerStatistics(on, { kind: 'statistics-counts', offset: 1 });
  const { code, found, results } = await on.reconcile({ ...TWO_DAYS, run: true });
  expect({ code, found }).toEqual({ code: 1, found: [`changed ${name(day(0))}`, `changed ${name(day(1))}`] });
  expect(results).toMatchObject([
    {
      state: 'failed',
      code: 'counts-disagree',
      message: expect.stringMatching(/hour \d\d: \d+ fetched, \d+ counted by the source/),
    },
    { state: 'failed', code: 'counts-disagree' },
  ]);
  expect(await on.changedFiles()).toEqual([noteKey(day(0)), noteKey(day(1))]);
});

for (const [what, fault] of [
  ['too little', { kind: 'statistics-counts', scale: 0.5 }],
  ['nothing', { kind: 'statistics-empty' }],
  ['not the newest', { kind: 'statistics-lag', toMicros: dateToMicros(FROM) + 30 * MICROS_PER_HOUR }],
] as const) {
  test(`statistics that count ${what}: the published days stay`, async () => {
    await using on = await bench({ days: 2 });
    answerStatistics(on, fault);
    const { code, found, results } = await on.reconcile({ ...TWO_DAYS, run: true });
    expect({ code, results }).toEqual({ code: 1, results: [] });
    expect(found.every((each) => each.startsWith('would-shrink'))).toBe(true);
    expect(found.at(-1)).toBe(`would-shrink ${name(day(1))}`);
    // Not even who allows it gets a day that its own counts do not prove.
    const allowed = await on.reconcile({ ...TWO_DAYS, run: true, allowShrink: true });
    expect(allowed.code).toBe(1);
    expect(allowed.results.map((result) => result.code)).toEqual(found.map(() => 'counts-disagree'));
    expect((await on.changedFiles()).every((key) => key.startsWith('_notes/'))).toBe(true);
    on.service.faults = undefined;
    expect(await on.reconcile({ ...TWO_DAYS, run: true })).toMatchObject({ code: 0, found: [] });
  });
}

test('statistics by the day that contradict those by the hour', async () => {
  await using on = await bench({ days: 2 });
  on.service.faults = ({ url }) =>
    url.includes('window=1d') ? { kind: 'statistics-counts', offset: 3 } : undefined;
  const { code, found, findings, results } = await on.reconcile({ ...TWO_DAYS, run: true });
  expect({ code, results }).toEqual({ code: 1, results: [] });
  expect(found).toEqual([`disagree ${name(day(0))}`, `disagree ${name(day(1))}`]);
  expect(findings[0]!.message).toMatch(/contradicts itself.*\d+ published, \d+ now/);
  expect(await on.changedFiles()).toEqual([]);
});

test('windows of a day that do not begin at midnight: not compared', async () => {
  await using on = await bench({ days: 2 });
  const times = `"first_time":"${FROM}T07:00:00.000000Z","last_time":"${FROM}T08:00:00.000000Z"`;
  const row = `{"timestamp":"${FROM}T06:00:00.000000Z","id":"${ids[0]}","aggregations":{"count":5,${times}}}`;
  on.service.faults = ({ url }) =>
    url.includes('window=1d')
      ? { kind: 'garbage', contentType: 'application/json', body: `[${row}]` }
      : undefined;
  const report = await on.reconcile({ ...TWO_DAYS, run: true });
  expect(report).toMatchObject({
    code: 1,
    found: [],
    unasked: [{ vessel: VESSEL, code: 'windows-misaligned' }],
  });
});

test.for<[what: string, fault: (n: number) => Fault]>([
  ['is refused as too long', () => ({ kind: 'status', status: 400 })],
  ['fails with different faults', (n) => ({ kind: 'status', status: [504, 500, 503][n % 3]! })],
])('a look-back that %s is asked for in parts', async ([, fault]) => {
  await using on = await bench();
  addHour(on.service, LATE, otherIds[5]!);
  let n = 0;
  on.service.faults = ({ family, range }) =>
    family === 'statistics' && range!.toMicros - range!.fromMicros > 10 * MICROS_PER_DAY
      ? fault(n++)
      : undefined;
  expect(await on.reconcile()).toMatchObject({ code: 0, found: [`changed ${name(LATE)}`] });
});

test('a vessel that cannot be asked for keeps no other from being compared', async () => {
  await using on = await bench();
  addHour(on.service, LATE, otherIds[5]!);
  on.service.faults = ({ family, url }) =>
    family === 'metadata' && url.includes(VESSEL) ? { kind: 'status', status: 404 } : undefined;
  const { code, found, unasked } = await on.reconcile({ run: true });
  expect({ code, found }).toEqual({ code: 1, found: [`changed ${name(LATE)}`] });
  expect(unasked).toMatchObject([{ vessel: VESSEL, code: 'no-series' }]);
});

test('receipts without a digest, and details that are lost', async () => {
  await using on = await bench({ days: 3 });
  for (const offset of [0, 1, 2]) {
    const path = join(on.lake.dir, receiptKey(day(offset)));
    const receipt = JSON.parse(await readFile(path, 'utf8'));
    delete receipt.source.totalsSha256;
    await writeFile(path, JSON.stringify(receipt));
  }
  await rm(join(on.lake.dir, detailKey(day(1))));
  await writeFile(join(on.lake.dir, detailKey(day(2))), 'damaged');
  const { found, findings } = await on.reconcile({ ...TWO_DAYS, to: addDays(FROM, 3), run: true });
  expect(found).toEqual([`changed ${name(day(1))}`, `changed ${name(day(2))}`]);
  expect(findings[0]!.message).toMatch(
    /^(\d+) readings published, \1 now; its detail object is missing or damaged/,
  );
  expect(await on.reconcile({ ...TWO_DAYS, to: addDays(FROM, 3), run: true })).toMatchObject({
    code: 0,
    found: [],
  });
});

test('a receipt that cannot be read is named and left alone', async () => {
  await using on = await bench({ days: 2 });
  await writeFile(join(on.lake.dir, receiptKey(day(1))), '{');
  const { code, found, findings } = await on.reconcile({ ...TWO_DAYS, run: true });
  expect({ code, found }).toEqual({ code: 1, found: [`unreadable ${name(day(1))}`] });
  expect(findings[0]!.message).toContain(receiptKey(day(1)));
});

test('at-least: more than the statistics count is no change, more than we have is', async () => {
  await using on = await bench({ days: 0 });
  const job = { ...JOB, verify: 'at-least' };
  const lag = (hours: number) => {
    const toMicros = dateToMicros(FROM) + hours * MICROS_PER_HOUR;
    answerStatistics(on, { kind: 'statistics-lag', toMicros });
  };
  lag(40);
  const { service, lake } = on;
  await mustExport({ service, lakeUrl: lake.url, jobs: { measurements: job }, args: TWO_DAYS });
  expect(await receiptOf(on.lake.dir, day(1))).toMatchObject({ proof: 'at-least' });
  expect(await on.reconcile(TWO_DAYS, { job })).toMatchObject({ code: 0, found: [] });
  lag(44);
  expect(await on.reconcile(TWO_DAYS, { job })).toMatchObject({ code: 0, found: [] });
  on.service.faults = undefined;
  expect(await on.reconcile(TWO_DAYS, { job })).toMatchObject({ code: 0, found: [] });
  lag(30);
  expect((await on.reconcile(TWO_DAYS, { job })).found).toEqual([`would-shrink ${name(day(1))}`]);
  on.service.faults = undefined;
  addHour(on.service, day(1), ids[3]!);
  const added = await on.reconcile({ ...TWO_DAYS, run: true }, { job });
  expect(added).toMatchObject({ code: 0, found: [`changed ${name(day(1))}`] });
  await expectSource(on, day(1));
});

test('a statistics job', async () => {
  await using on = await bench({ days: 0 });
  const job = { ...JOB, dataset: 'statistics', window: '10m' };
  const args = { from: FROM, to: addDays(FROM, 2), vessel: [VESSEL] };
  await mustExport({ service: on.service, lakeUrl: on.lake.url, jobs: { measurements: job }, args });
  expect(await on.reconcile(args, { job })).toMatchObject({ code: 0, found: [] });
  addHour(on.service, day(1), ids[3]!);
  const changed = await on.reconcile({ ...args, run: true }, { job });
  expect(changed).toMatchObject({
    code: 0,
    found: [`changed ${name(day(1))}`],
    results: [{ state: 'published' }],
  });
  expect(await on.reconcile(args, { job })).toMatchObject({ code: 0, found: [] });
});

test('jobs that cannot be reconciled say why, without a request', async () => {
  await using on = await bench({ days: 2 });
  for (const [job, reason] of [
    [{ ...JOB, verify: 'off' }, 'verify: off requests no statistics'],
    [{ ...JOB, dataset: 'metadata' }, 'metadata has no history at the service'],
  ] as const) {
    const { code, stdout } = await on.reconcile({ json: false }, { job });
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`not reconciled: ${reason}`),
    });
  }
  expect(on.service.requests).toEqual([]);
});

test('the look-back is as long as the job says, or the command', async () => {
  await using on = await bench();
  const job = { ...JOB, reconcile: { cron: '45 7 * * *', lookback: '3d' } };
  const short = await commandRun(
    { service: on.service, lakeUrl: on.lake.url, jobs: { measurements: job } },
    (context) => reconcileCommand(context, [], {}, { clock, encoderThreads: 0 }),
  );
  const tomorrow = addDays(TO, 1);
  expect(short.stdout).toContain(
    `${addDays(TO, -3)} to ${tomorrow} (no dates given: the last 3 days and today), 3 vessels, 9 vessel-days compared`,
  );
  expect((await on.reconcile({ days: 5, json: false }, { job })).stdout).toContain(
    `${addDays(TO, -5)} to ${tomorrow}, 3 vessels, 15 vessel-days compared`,
  );
});

test('wrong dates and combinations are usage faults', async () => {
  await using on = await bench({ days: 2 });
  for (const options of [{ days: 0 }, { days: 3, from: FROM }, { from: 'soon' }, { from: TO, to: FROM }])
    expect(await on.reconcile(options)).toMatchObject({ code: 2, stdout: '' });
});
