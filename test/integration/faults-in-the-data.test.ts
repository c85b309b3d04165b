/** A service that tells other things than it has: exact or refused, never wrong; the published day stays. */
import { rm } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { dayRange, MICROS_PER_HOUR, MICROS_PER_MILLI } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import type { Fault, FaultPort } from '../helpers/faulty-service/faults.ts';
import {
  expectExactDay,
  lakeFiles,
  noteOf,
  readObject,
  receiptOf,
  serviceNames,
  unfinishedFiles,
} from '../helpers/lake.ts';
import type { RunExportOptions, TestLake } from '../helpers/run.ts';
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
const NOON = MIDNIGHT + 12 * MICROS_PER_HOUR;
const EXACT = { day: DAY, expressions: FEW_EXPRESSIONS };
const SMALL = { sizes: { rowGroupRows: 600, partBytes: 15_000 }, sliceTargetRows: 700 };

const service = await serviceForTests({ readingsPerDay: 28_000 });
/** A series with readings in every hour, and its name. */
let series: string;
let name: string;

beforeAll(async () => {
  const names = await serviceNames(service, [`flat/${VESSEL}/Shaft Power`]);
  [[series, name]] = [...names] as [[string, string]];
});

const of =
  (family: string, fault: Fault): FaultPort =>
  (request) =>
    request.family === family ? fault : undefined;

function run(lake: TestLake, options: Partial<RunExportOptions> = {}, from = service) {
  return runExport({ service: from, lakeUrl: lake.url, overrides: SMALL, ...options });
}

/** Under faults nothing is published at first, and a published day stays as it was, by force too. */
async function expectRefusal(faults: FaultPort, code: string, message: readonly (RegExp | string)[]) {
  await using lake = await newLake();
  service.faults = faults;
  const first = await run(lake);
  expect(first).toMatchObject({ code: 1, results: [{ code }] });
  for (const part of message)
    if (typeof part === 'string') expect(first.results[0]!.message).toContain(part);
    else expect(first.results[0]!.message).toMatch(part);
  expect(await receiptOf(lake.dir, DAY)).toBeUndefined();
  expect(await readObject(lake.dir, DAY)).toBeUndefined();
  expect(await noteOf(lake.dir, DAY)).toMatchObject({ ...DAY, code, message: first.results[0]!.message });
  expect(await unfinishedFiles(lake.dir)).toEqual([]);

  service.faults = undefined;
  await mustExport({ service, lakeUrl: lake.url, overrides: SMALL });
  await expectExactDay(service, { ...EXACT, lakeDir: lake.dir });
  expect(await noteOf(lake.dir, DAY)).toBeUndefined();
  const published = await lakeFiles(lake.dir);

  service.faults = faults;
  const again = await run(lake, { args: { force: true } });
  service.faults = undefined;
  expect(again.code).toBe(1);
  const note = await noteOf(lake.dir, DAY);
  expect(note?.message).toBe(again.results[0]!.message);
  const after = await lakeFiles(lake.dir);
  after.delete(`_notes/measurements/date=${DATE}/vessel=${VESSEL}.json`);
  expect(after).toEqual(published);
  return again;
}

test('a service that drops one reading in a hundred', async () => {
  await expectRefusal(of('measurements', { kind: 'drop-rows', every: 100 }), 'counts-disagree', [
    /series IMO\d+\/.+ in hour \d\d: \d+ fetched, \d+ counted by the source/,
  ]);
});

test('a service that drops a series', async () => {
  const again = await expectRefusal(
    of('measurements', { kind: 'drop-rows', timeSeriesId: series }),
    'counts-disagree',
    [`series ${name} in hour 00: 0 fetched`],
  );
  expect(again.results).toMatchObject([{ state: 'failed' }]);
});

test('a service that drops an hour', async () => {
  const range = { fromMicros: NOON, toMicros: NOON + MICROS_PER_HOUR };
  await expectRefusal(of('measurements', { kind: 'drop-rows', range }), 'counts-disagree', [
    'hour 12: 0 fetched',
  ]);
});

test('a service that drops the last reading of the day', async () => {
  const { lastTimestamp } = await lastOfDay();
  const range = { fromMicros: lastTimestamp, toMicros: lastTimestamp + 1 };
  await expectRefusal(of('measurements', { kind: 'drop-rows', range }), 'counts-disagree', ['hour 23']);
});

async function lastOfDay() {
  await using lake = await newLake();
  await mustExport({ service, lakeUrl: lake.url });
  const text = (await receiptOf(lake.dir, DAY))!.lastTimestamp!;
  return {
    lastTimestamp: Date.parse(`${text.slice(0, 23)}Z`) * MICROS_PER_MILLI + Number(text.slice(23, 26)),
  };
}

test('a service that adds a reading', async () => {
  const rows = [{ timeSeriesId: series, timestampMicros: NOON + 5, valueText: '1.5' }];
  await expectRefusal(of('measurements', { kind: 'add-rows', rows }), 'counts-disagree', [
    new RegExp(`series ${name} in hour 12: (\\d+) fetched, \\d+ counted`),
  ]);
});

test('statistics that answer nothing while there are readings', async () => {
  await expectRefusal(of('statistics', { kind: 'statistics-empty' }), 'counts-disagree', [
    'fetched, 0 counted by the source',
  ]);
});

test('statistics that lag behind', async () => {
  await expectRefusal(of('statistics', { kind: 'statistics-lag', toMicros: NOON }), 'counts-disagree', [
    /in hour 12: [1-9]\d* fetched, 0 counted by the source/,
  ]);
});

test('statistics that count one too many, or one too few', async () => {
  for (const offset of [1, -1])
    await expectRefusal(of('statistics', { kind: 'statistics-counts', offset }), 'counts-disagree', [
      /in hour \d\d: \d+ fetched, \d+ counted by the source; .*and \d+ more/,
    ]);
});

test('a published day is not replaced by one of fewer readings, not by force', async () => {
  const shrinking = await startTestService({ readingsPerDay: 28_000 });
  await using lake = await newLake();
  try {
    await mustExport({ service: shrinking, lakeUrl: lake.url, overrides: SMALL });
    const published = await lakeFiles(lake.dir);
    shrinking.overlay.removeReadings(series, { fromMicros: NOON, toMicros: NOON + MICROS_PER_HOUR });
    const refused = await run(lake, { args: { force: true } }, shrinking);
    expect(refused).toMatchObject({ code: 1, results: [{ state: 'refused', code: 'would-shrink' }] });
    expect(refused.results[0]!.message).toMatch(
      new RegExp(`1 series would lose \\d+ readings: ${name}: \\d+ published, \\d+ now.*--allow-shrink`),
    );
    expect(await noteOf(lake.dir, DAY)).toMatchObject({ state: 'refused', code: 'would-shrink' });
    // Nothing was fetched for it.
    const asked = shrinking.requests.filter(({ family }) => family === 'measurements').length;
    await run(lake, { args: { force: true } }, shrinking);
    expect(shrinking.requests.filter(({ family }) => family === 'measurements').length).toBe(asked);
    const after = await lakeFiles(lake.dir);
    after.delete(`_notes/measurements/date=${DATE}/vessel=${VESSEL}.json`);
    expect(after).toEqual(published);

    const allowed = await run(lake, { args: { force: true, allowShrink: true } }, shrinking);
    expect(allowed.code).toBe(0);
    await expectExactDay(shrinking, { ...EXACT, lakeDir: lake.dir });
    expect(await noteOf(lake.dir, DAY)).toBeUndefined();
  } finally {
    await shrinking.close();
  }
});

test('a series that loses readings is not hidden by one that gains more', async () => {
  const changing = await startTestService({ readingsPerDay: 28_000 });
  await using lake = await newLake();
  try {
    await mustExport({ service: changing, lakeUrl: lake.url });
    const [other] = [...(await serviceNames(changing, [`flat/${VESSEL}/Shaft Torque`])).keys()];
    changing.overlay.removeReadings(series, { fromMicros: NOON, toMicros: NOON + MICROS_PER_HOUR });
    const more = Array.from({ length: 500 }, (_, i) => ({ timestampMicros: NOON + i, valueText: '1' }));
    changing.overlay.addReadings(other!, more);
    const refused = await run(lake, { args: { force: true } }, changing);
    expect(refused).toMatchObject({ code: 1, results: [{ state: 'refused', code: 'would-shrink' }] });
  } finally {
    await changing.close();
  }
});

for (const verify of ['exact', 'at-least', 'off']) {
  test(`a service that empties a published day, verify ${verify}: refused, unless that is allowed`, async () => {
    const emptied = await startTestService({ readingsPerDay: 28_000 });
    await using lake = await newLake();
    const jobs = { measurements: { ...FEW_SERIES, verify } };
    try {
      await mustExport({ service: emptied, lakeUrl: lake.url, jobs });
      const published = await readObject(lake.dir, DAY);
      emptied.overlay.removeReadings(undefined);
      const refused = await run(lake, { jobs, args: { force: true } }, emptied);
      expect(refused).toMatchObject({ code: 1, results: [{ state: 'refused', code: 'would-shrink' }] });
      expect(await readObject(lake.dir, DAY)).toEqual(published);
      const allowed = await run(lake, { jobs, args: { force: true, allowShrink: true } }, emptied);
      expect(allowed).toMatchObject({ code: 0, results: [{ state: 'empty', rows: 0 }] });
      await expectExactDay(emptied, { ...EXACT, lakeDir: lake.dir, emptied: true });
      expect(
        [...(await lakeFiles(lake.dir)).keys()].filter((key) => !/^_(lake|ledger|detail)\b/.test(key)),
      ).toEqual([objectKey(DAY)]);
    } finally {
      await emptied.close();
    }
  });
}

test('the guard stands when the counts of the published day are lost', async () => {
  const emptied = await startTestService({ readingsPerDay: 28_000 });
  await using lake = await newLake();
  try {
    await mustExport({ service: emptied, lakeUrl: lake.url });
    await rm(`${lake.dir}/_detail`, { recursive: true });
    emptied.overlay.removeReadings(series);
    const refused = await run(lake, { args: { force: true } }, emptied);
    expect(refused).toMatchObject({ code: 1, results: [{ state: 'refused', code: 'would-shrink' }] });
  } finally {
    await emptied.close();
  }
});

test('readings that arrive while we fetch: the second count is right', async () => {
  const growing = await startTestService({ readingsPerDay: 28_000 });
  await using lake = await newLake();
  try {
    let slices = 0;
    growing.faults = ({ family }) => {
      // After the count and before the last page.
      if (family === 'measurements' && ++slices === 2)
        growing.overlay.addReadings(series, [
          { timestampMicros: MIDNIGHT + 23 * MICROS_PER_HOUR, valueText: '7' },
        ]);
      return undefined;
    };
    const { results } = await mustExport({ service: growing, lakeUrl: lake.url, overrides: SMALL });
    expect(results).toMatchObject([{ state: 'published' }]);
    await expectExactDay(growing, { ...EXACT, lakeDir: lake.dir });
    const asked = growing.requests.filter(({ family }) => family === 'statistics').length;
    expect(asked).toBe(2);
  } finally {
    await growing.close();
  }
});

test('readings that arrive behind us while we fetch: the day starts clean', async () => {
  const growing = await startTestService({ readingsPerDay: 28_000 });
  await using lake = await newLake();
  try {
    let slices = 0;
    growing.faults = ({ family }) => {
      if (family === 'measurements' && ++slices === 4)
        growing.overlay.addReadings(series, [
          { timestampMicros: MIDNIGHT + 5, valueText: '7' },
          { timestampMicros: MIDNIGHT + 23 * MICROS_PER_HOUR, valueText: '7' },
        ]);
      return undefined;
    };
    const { stderr } = await mustExport({ service: growing, lakeUrl: lake.url, overrides: SMALL });
    expect(stderr).toContain('starting clean');
    await expectExactDay(growing, { ...EXACT, lakeDir: lake.dir });
    expect(await unfinishedFiles(lake.dir)).toEqual([]);
  } finally {
    await growing.close();
  }
});

test('a first count that lags and a second that is right', async () => {
  await using lake = await newLake();
  let asked = 0;
  service.faults = ({ family }) =>
    family === 'statistics' && ++asked === 1 ? { kind: 'statistics-lag', toMicros: NOON } : undefined;
  await mustExport({ service, lakeUrl: lake.url, overrides: SMALL });
  service.faults = undefined;
  expect(asked).toBe(2);
  await expectExactDay(service, { ...EXACT, lakeDir: lake.dir });
  const receipt = await receiptOf(lake.dir, DAY);
  expect(receipt).toMatchObject({ proof: 'exact', source: { rows: receipt!.rows } });
});

test('rows dropped once, and not when the day is begun again', async () => {
  await using lake = await newLake();
  let dropped = 0;
  service.faults = ({ family }) =>
    family === 'measurements' && dropped++ < 3 ? { kind: 'drop-rows', every: 10 } : undefined;
  const { stderr } = await mustExport({ service, lakeUrl: lake.url, overrides: SMALL });
  service.faults = undefined;
  expect(stderr).toContain('starting clean');
  await expectExactDay(service, { ...EXACT, lakeDir: lake.dir });
});

test('a series that metadata does not know fails, by name', async () => {
  const other = await startTestService({ seed: 5, readingsPerDay: 28_000 });
  const [stranger] = [...(await serviceNames(other, [`flat/${VESSEL}/Shaft Power`])).keys()];
  await other.close();
  await using lake = await newLake();
  const line = `{"id":"${stranger}","timestamp":"2026-01-05T00:00:01.000000Z","value":1}\n`;
  service.faults = of('measurements', { kind: 'garbage', body: line });
  const ran = await run(lake);
  expect(ran).toMatchObject({ code: 1, results: [{ state: 'failed', code: 'unknown-series' }] });
  expect(ran.results[0]!.message).toContain(stranger);
  expect(await readObject(lake.dir, DAY)).toBeUndefined();
});

test('verify at-least takes more readings than were counted, and never fewer', async () => {
  await using lake = await newLake();
  const jobs = { measurements: { ...FEW_SERIES, verify: 'at-least' } };
  service.faults = of('statistics', { kind: 'statistics-lag', toMicros: NOON });
  await mustExport({ service, lakeUrl: lake.url, jobs });
  service.faults = undefined;
  await expectExactDay(service, { ...EXACT, lakeDir: lake.dir });
  const receipt = (await receiptOf(lake.dir, DAY))!;
  expect(receipt.proof).toBe('at-least');
  expect(receipt.source!.rows).toBeLessThan(receipt.rows);

  await using second = await newLake();
  service.faults = of('measurements', { kind: 'drop-rows', every: 100 });
  expect(await run(second, { jobs })).toMatchObject({ code: 1, results: [{ code: 'counts-disagree' }] });
});

test('verify off asks for no statistics and proves nothing', async () => {
  await using lake = await newLake();
  const before = service.requests.length;
  service.faults = of('statistics', { kind: 'status', status: 404 });
  await mustExport({
    service,
    lakeUrl: lake.url,
    jobs: { measurements: { ...FEW_SERIES, verify: 'off' } },
  });
  service.faults = undefined;
  expect(service.requests.slice(before).filter(({ family }) => family === 'statistics')).toEqual([]);
  await expectExactDay(service, { ...EXACT, lakeDir: lake.dir });
  expect(await receiptOf(lake.dir, DAY)).toMatchObject({ proof: 'unproven', source: null });
});

test('statistics that are not there fail the day, with verify exact', async () => {
  await using lake = await newLake();
  service.faults = of('statistics', { kind: 'status', status: 404 });
  const ran = await run(lake);
  expect(ran).toMatchObject({ code: 1, results: [{ state: 'failed', code: 'not-found' }] });
  expect(await receiptOf(lake.dir, DAY)).toBeUndefined();
});

test('measurements that answer 404 are never an empty day', async () => {
  const silent = await startTestService({ readingsPerDay: 1_000 });
  silent.overlay.removeReadings(undefined);
  await using lake = await newLake();
  silent.faults = of('measurements', { kind: 'status', status: 404 });
  try {
    expect(await run(lake, {}, silent)).toMatchObject({ code: 1, results: [{ state: 'failed' }] });
    expect(await receiptOf(lake.dir, DAY)).toBeUndefined();
  } finally {
    await silent.close();
  }
});
