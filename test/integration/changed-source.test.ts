/** The source changes between an attempt and the one that goes on: the day is the new truth, not a mixture. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ClaimFile } from '../../src/core/model/index.ts';
import { dayRange, MICROS_PER_HOUR } from '../../src/core/model/index.ts';
import { claimKey } from '../../src/lake/keys.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import {
  acceptService,
  expectExactDay,
  lakeReadings,
  readObject,
  receiptOf,
  serviceNames,
  unfinishedFiles,
} from '../helpers/lake.ts';
import type { JobFile, TestLake } from '../helpers/run.ts';
import {
  DATE,
  FEW_EXPRESSIONS,
  FEW_SERIES,
  mustExport,
  newLake,
  runExport,
  serviceForTests,
  startTestService,
  VESSEL,
} from '../helpers/run.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const MIDNIGHT = dayRange(DATE).fromMicros;
const SMALL = { sizes: { rowGroupRows: 130, partBytes: 1_500 }, sliceTargetRows: 300 };

const service = await serviceForTests({ readingsPerDay: 14_000 });
let lake: TestLake;
/** Two series with readings all day, and one that is bare. */
let series: string;
let other: string;
let bare: string;

beforeAll(async () => {
  const tags = ['Shaft Power', 'Shaft Torque', 'Shaft Thrust'].map((tag) => `flat/${VESSEL}/${tag}`);
  [series, other, bare] = [...(await serviceNames(service, tags)).keys()] as [string, string, string];
});
beforeEach(async () => {
  lake = await newLake();
  service.overlay.reset();
  service.overlay.removeReadings(bare);
  return () => lake[Symbol.asyncDispose]();
});

/** Run until the checkpoint of that number, and stop there; what it holds. */
async function stopAt(checkpoint: number, job: JobFile = FEW_SERIES, interrupt = false, from = service) {
  const stop = new AbortController();
  let seen = 0;
  const onStep = (step: string) => {
    if (step !== 'checkpoint' || ++seen < checkpoint) return;
    if (!interrupt) throw new Error('the machine is on fire');
    stop.abort(new Error('interrupted'));
  };
  const ran = await runExport({
    service: from,
    lakeUrl: lake.url,
    jobs: { [String(job.dataset)]: job },
    overrides: { ...SMALL, onStep },
    signal: stop.signal,
  });
  expect(ran.code).toBe(interrupt ? 130 : 1);
  const day = { ...DAY, job: String(job.dataset) };
  const claim: ClaimFile = JSON.parse(await readFile(join(lake.dir, claimKey(day, 1)), 'utf8'));
  expect(claim.checkpoint?.parts.length).toBeGreaterThanOrEqual(checkpoint);
  expect(await readObject(lake.dir, day)).toBeUndefined();
  expect(await receiptOf(lake.dir, day)).toBeUndefined();
  return claim.checkpoint!;
}

/** Run again to the end; the day must be exact. */
async function goOn(job: JobFile = FEW_SERIES) {
  const before = service.requests.length;
  const ran = await mustExport({
    service,
    lakeUrl: lake.url,
    jobs: { [String(job.dataset)]: job },
    overrides: SMALL,
  });
  expect(await unfinishedFiles(lake.dir)).toEqual([]);
  const asked = service.requests.slice(before).filter(({ family }) => family === 'measurements');
  const from = Math.min(...asked.map(({ range }) => range!.fromMicros));
  return { resumed: ran.results[0]!.resumed, from, asked: asked.length };
}

function expectExact(millis = false) {
  return expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS, millis });
}

/** The object that an undisturbed run makes now. */
async function undisturbed(job: JobFile = FEW_SERIES) {
  await using fresh = await newLake();
  const name = String(job.dataset);
  await mustExport({ service, lakeUrl: fresh.url, jobs: { [name]: job }, overrides: SMALL });
  return readObject(fresh.dir, { ...DAY, job: name });
}

for (const transport of ['ndjson', 'json', 'parquet']) {
  test(`unchanged, over ${transport}: goes on from the cursor, and makes the same bytes`, async () => {
    const job = { ...FEW_SERIES, transport };
    const { cursorMicros } = await stopAt(3, job);
    expect(await goOn(job)).toMatchObject({ resumed: true, from: cursorMicros });
    await expectExact(transport === 'parquet');
    expect(await readObject(lake.dir, DAY)).toEqual(await undisturbed(job));
    expect(await receiptOf(lake.dir, DAY)).toMatchObject({ epoch: 2, proof: 'exact' });
  });
}

test('row groups of another format version: starts clean, and makes the bytes of this one', async () => {
  await stopAt(3);
  const path = join(lake.dir, claimKey(DAY, 1));
  const claim: ClaimFile = JSON.parse(await readFile(path, 'utf8'));
  // Version 1 did not say which it was.
  const { formatVersion: _, ...checkpoint } = claim.checkpoint!;
  await writeFile(path, JSON.stringify({ ...claim, checkpoint }));
  expect(await goOn()).toMatchObject({ resumed: false, from: MIDNIGHT });
  expect(await readObject(lake.dir, DAY)).toEqual(await undisturbed());
});

test('interrupted twice, at different places', async () => {
  await stopAt(1, FEW_SERIES, true);
  const stop = new AbortController();
  let seen = 0;
  const second = await runExport({
    service,
    lakeUrl: lake.url,
    overrides: { ...SMALL, onStep: (step) => void (step === 'checkpoint' && ++seen === 2 && stop.abort()) },
    signal: stop.signal,
  });
  expect(second.code).toBe(130);
  expect((await goOn()).resumed).toBe(true);
  await expectExact();
});

test('interrupted while a part is on its way: nothing is written after the vessel-day was handed back', async () => {
  const stop = new AbortController();
  const claimPath = join(lake.dir, claimKey(DAY, 1));
  const heartbeatMs = async () => (JSON.parse(await readFile(claimPath, 'utf8')) as ClaimFile).heartbeatMs;
  let seen = 0;
  const onStep = async (step: string) => {
    if (step !== 'part-uploaded' || ++seen !== 3) return;
    stop.abort();
    // Time enough to hand the vessel-day back, for whoever does not wait for this part.
    for (let turn = 0; turn < 300 && (await heartbeatMs()) !== 0; turn++)
      await new Promise((resolve) => setImmediate(resolve));
  };
  const options = { overrides: { ...SMALL, onStep }, signal: stop.signal };
  expect((await runExport({ service, lakeUrl: lake.url, ...options })).code).toBe(130);
  expect(await heartbeatMs()).toBe(0);
  expect((await goOn()).resumed).toBe(true);
  await expectExact();
});

test('stopped between verify and publish: only publishing is left', async () => {
  const onStep = (step: string) => {
    if (step === 'sealed') throw new Error('the machine is on fire');
  };
  const ran = await runExport({ service, lakeUrl: lake.url, overrides: { ...SMALL, onStep } });
  expect(ran.code).toBe(1);
  const before = service.requests.length;
  await goOn();
  expect(service.requests.length).toBe(before);
  await expectExact();
});

describe('before the cursor', () => {
  test('a reading is added', async () => {
    await stopAt(3);
    service.overlay.addReadings(series, [{ timestampMicros: MIDNIGHT + 77, valueText: '1.25' }]);
    expect(await goOn()).toMatchObject({ resumed: false, from: MIDNIGHT });
    const lines = await expectExact();
    expect(lines.some((line) => line.startsWith(`${MIDNIGHT + 77}\t${series}`))).toBe(true);
  });

  test('readings are removed', async () => {
    await stopAt(3);
    service.overlay.removeReadings(series, { fromMicros: MIDNIGHT, toMicros: MIDNIGHT + MICROS_PER_HOUR });
    expect((await goOn()).resumed).toBe(false);
    await expectExact();
  });

  test('one series loses a reading and another gains one', async () => {
    await stopAt(3);
    const lost = (await lakeFirst(series))!;
    service.overlay.removeReadings(series, { fromMicros: lost, toMicros: lost + 1 });
    service.overlay.addReadings(other, [{ timestampMicros: lost, valueText: '5' }]);
    expect((await goOn()).resumed).toBe(false);
    await expectExact();
  });

  test('a reading moves to another hour, so that the sum up to the cursor stays', async () => {
    const { cursorMicros } = await stopAt(6);
    expect(cursorMicros).toBeGreaterThan(MIDNIGHT + 3 * MICROS_PER_HOUR);
    const moved = (await lakeFirst(series))!;
    service.overlay.removeReadings(series, { fromMicros: moved, toMicros: moved + 1 });
    service.overlay.addReadings(series, [
      { timestampMicros: MIDNIGHT + 2 * MICROS_PER_HOUR + 1, valueText: '5' },
    ]);
    await goOn();
    await expectExact();
  });

  test('a series has its first readings', async () => {
    await stopAt(3);
    service.overlay.addReadings(bare, [{ timestampMicros: MIDNIGHT + 1, valueText: '"new"' }]);
    expect((await goOn()).resumed).toBe(false);
    await expectExact();
  });
});

describe('values before the cursor are corrected in place', () => {
  const AT = MIDNIGHT + 77;
  const texts = [...Array(40)].map((_, i) => `${i}.25`);
  /** `bare` has these readings, a second apart. */
  const say = (values: readonly string[]) => {
    service.overlay.removeReadings(bare);
    const readings = values.map((valueText, i) => ({ timestampMicros: AT + i * 1_000_000, valueText }));
    service.overlay.addReadings(bare, readings);
  };
  const instead = (index: number, text: string) => texts.map((old, i) => (i === index ? text : old));
  const CORRECTED: readonly [what: string, then: readonly string[], now: readonly string[]][] = [
    ['all of them', texts, texts.map((text) => `1${text}`)],
    ['one in the middle', texts, instead(20, '20.5')],
    ['the greatest, so that the last stays', instead(20, '99.5'), instead(20, '99.75')],
    [
      'a long beyond 2^53, by one',
      texts.map((_, i) => (i === 20 ? '9007199254740992' : `${i}`)),
      texts.map((_, i) => (i === 20 ? '9007199254740993' : `${i}`)),
    ],
    ['the first of JSON', instead(0, '{"lat": 1.50}'), instead(0, '{"lat": 1.5, "lon": 2}')],
    ['the last of JSON', instead(39, '"on"'), instead(39, '"off"')],
  ];

  test.each(CORRECTED)('%s', async (_, then, now) => {
    say(then);
    const { values } = await stopAt(3);
    expect(values![bare]![0].reduce((a, b) => a + b)).toBe(texts.length);
    say(now);
    expect(await goOn()).toMatchObject({ resumed: false, from: MIDNIGHT });
    await expectExact();
  });

  test('the same again, JSON and numbers: goes on', async () => {
    const mixed = [...instead(0, '{"lat": 1.50, "a":[1]}'), '5', '9007199254740993', '"on"'];
    say(mixed);
    const { cursorMicros } = await stopAt(3);
    say(mixed);
    expect(await goOn()).toMatchObject({ resumed: true, from: cursorMicros });
    await expectExact();
  });

  test('windows of statistics', async () => {
    const job = { dataset: 'statistics', select: ['flat/{vessel}/*'], window: '10m' };
    say(texts);
    await stopAt(2, job);
    say(instead(20, '20.5'));
    expect((await goOn(job)).resumed).toBe(false);
    expect(await readObject(lake.dir, { ...DAY, job: 'statistics' })).toEqual(await undisturbed(job));
  });
});

test('windows that do not tell what their readings add up to start clean', async () => {
  const aggregations = ['stddev', 'min', 'max'];
  const job = { dataset: 'statistics', select: ['flat/{vessel}/*'], window: '10m', aggregations };
  await stopAt(2, job);
  expect((await goOn(job)).resumed).toBe(false);
  expect(await readObject(lake.dir, { ...DAY, job: 'statistics' })).toEqual(await undisturbed(job));
});

test('a checkpoint of an earlier version, without values, starts clean', async () => {
  await stopAt(3);
  const path = join(lake.dir, claimKey(DAY, 1));
  const { checkpoint, ...claim } = JSON.parse(await readFile(path, 'utf8')) as ClaimFile;
  const { values: _, ...older } = checkpoint!;
  await writeFile(path, JSON.stringify({ ...claim, checkpoint: older }));
  expect(await goOn()).toMatchObject({ resumed: false, from: MIDNIGHT });
  await expectExact();
});

describe('a service that does not say what it has before the cursor: the day starts clean', () => {
  const FAULTS: readonly [string, Fault][] = [
    ['refused', { kind: 'status', status: 400 }],
    ['not found', { kind: 'status', status: 404 }],
    ['no sum', { kind: 'rewrite', rewrite: (body) => body.replaceAll(/"sum":[^,}]+/g, '"sum":null') }],
    [
      'no time',
      { kind: 'rewrite', rewrite: (body) => body.replaceAll(/"first_time":[^,}]+/g, '"first_time":null') },
    ],
    [
      'a count that is none',
      { kind: 'rewrite', rewrite: (body) => body.replaceAll(/"count":\d+/g, '"count":1.5') },
    ],
  ];
  test.each(FAULTS)('%s', async (_, fault) => {
    await stopAt(3);
    service.faults = ({ url }) => (url.includes('window=none') ? fault : undefined);
    expect(await goOn()).toMatchObject({ resumed: false, from: MIDNIGHT });
    service.faults = undefined;
    await expectExact();
  });
});

/** Instant of a series' first reading of the day. */
async function lakeFirst(timeSeriesId: string): Promise<number | undefined> {
  await using fresh = await newLake();
  await mustExport({ service, lakeUrl: fresh.url });
  const { lines } = await lakeReadings(
    join(fresh.dir, `measurements/vessel=${VESSEL}/date=${DATE}/data.parquet`),
  );
  const times = lines.flatMap((line) => {
    const [micros, id] = line.split('\t');
    return id === timeSeriesId ? [Number(micros)] : [];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

describe('after the cursor', () => {
  test('a series gets readings', async () => {
    const { cursorMicros } = await stopAt(3);
    const readings = Array.from({ length: 100 }, (_, i) => ({
      timestampMicros: MIDNIGHT + 20 * MICROS_PER_HOUR + i * 1_000_003,
      valueText: `${i}`,
    }));
    service.overlay.addReadings(bare, readings);
    expect(await goOn()).toMatchObject({ resumed: true, from: cursorMicros });
    await expectExact();
  });

  test('a reading arrives exactly at the cursor', async () => {
    const { cursorMicros } = await stopAt(3);
    service.overlay.addReadings(bare, [{ timestampMicros: cursorMicros, valueText: '1' }]);
    expect((await goOn()).resumed).toBe(true);
    await expectExact();
  });

  test('readings are removed, all of them', async () => {
    const { cursorMicros } = await stopAt(3);
    service.overlay.removeReadings(undefined, {
      fromMicros: cursorMicros,
      toMicros: MIDNIGHT + 24 * MICROS_PER_HOUR,
    });
    expect((await goOn()).resumed).toBe(true);
    await expectExact();
  });
});

test('a reading just before the cursor is not lost', async () => {
  const { cursorMicros } = await stopAt(3);
  service.overlay.addReadings(bare, [{ timestampMicros: cursorMicros - 1, valueText: '1' }]);
  expect((await goOn()).resumed).toBe(false);
  await expectExact();
});

test('the whole day is emptied', async () => {
  await stopAt(3);
  service.overlay.removeReadings(undefined);
  await goOn();
  await expectExact();
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ rows: 0 });
});

test('other settings do not go on with what was begun', async () => {
  await stopAt(3);
  const job = { ...FEW_SERIES, select: ['jsmea/{vessel}/jsmea_mac'] };
  expect((await goOn(job)).resumed).toBe(false);
  await expectExactDay(service, { lakeDir: lake.dir, day: DAY, expressions: [`jsmea/${VESSEL}/jsmea_mac`] });
});

test('with verify off nobody knows, so the day starts clean', async () => {
  const job = { ...FEW_SERIES, verify: 'off' };
  await stopAt(3, job);
  expect(await goOn(job)).toMatchObject({ resumed: false, from: MIDNIGHT });
  await expectExact();
});

test('a fleet that has become another one: the pinned series are gone', async () => {
  await stopAt(3);
  const replaced = await startTestService({ seed: 9, readingsPerDay: 14_000 });
  try {
    await acceptService(lake.dir, replaced);
    await mustExport({ service: replaced, lakeUrl: lake.url, overrides: SMALL });
    await expectExactDay(replaced, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS });
    expect(await unfinishedFiles(lake.dir)).toEqual([]);
  } finally {
    await replaced.close();
  }
});

test('statistics go on from the cursor, and make the same bytes', async () => {
  const job = { dataset: 'statistics', select: ['flat/{vessel}/*'], window: '10m' };
  await stopAt(2, job);
  expect((await goOn(job)).resumed).toBe(true);
  expect(await readObject(lake.dir, { ...DAY, job: 'statistics' })).toEqual(await undisturbed(job));
});

test('statistics of a source that has changed before the cursor start clean', async () => {
  const job = { dataset: 'statistics', select: ['flat/{vessel}/*'], window: '10m' };
  await stopAt(2, job);
  service.overlay.addReadings(series, [{ timestampMicros: MIDNIGHT + 77, valueText: '1.25' }]);
  expect((await goOn(job)).resumed).toBe(false);
  expect(await readObject(lake.dir, { ...DAY, job: 'statistics' })).toEqual(await undisturbed(job));
});

test('a service whose ranges include their end: exact, whether it goes on or not', async () => {
  const inclusive = await startTestService({ readingsPerDay: 14_000, toInclusive: true });
  try {
    const { cursorMicros } = await stopAt(3, FEW_SERIES, false, inclusive);
    inclusive.overlay.addReadings(other, [{ timestampMicros: cursorMicros, valueText: '1' }]);
    await mustExport({ service: inclusive, lakeUrl: lake.url, overrides: SMALL });
    await expectExactDay(inclusive, { lakeDir: lake.dir, day: DAY, expressions: FEW_EXPRESSIONS });
  } finally {
    await inclusive.close();
  }
});
