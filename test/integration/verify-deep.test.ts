/** `verify --deep`: every row read back, against the detail and against what the service says now. */

import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CancelledError } from '../../src/core/errors.ts';
import type { ApiVersion } from '../../src/core/model/index.ts';
import { dateToMicros } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import {
  addOddReadings,
  copyLake,
  EMPTY,
  EMPTY_DATE,
  exportAuditLake,
  JOBS,
  MEASURED,
  replaceObject,
  runVerify,
  SNAPSHOT,
  startAuditService,
  WINDOWS,
} from '../audit/verify/audit-lake.ts';
import { forgeReadings, forgeSnapshot, forgeWindows } from '../audit/verify/rewrite.ts';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import type { AddedReading } from '../helpers/faulty-service/overlay.ts';
import { acceptService, serviceNames } from '../helpers/lake.ts';
import type { JobFile, TestLake, TestService, TestServiceOptions } from '../helpers/run.ts';
import { DATE, newLake, VESSEL } from '../helpers/run.ts';
import { newMemoryFolder } from '../helpers/temp.ts';
import type { Reading } from '../parquet/write/lake-file.ts';

let service: TestService;
let sound: TestLake;
/** Ids of the series with odd readings: longs beyond 2^53, longs and doubles, JSON, large and small. */
let odd: readonly [huge: string, mixed: string, json: string, big: string];
/** A series of the made-up fleet. */
let plain: string;

/** A service with the same data as every other of this file, to be changed by one test. */
async function startTwin(options: TestServiceOptions = {}): Promise<TestService> {
  const twin = await startAuditService(options);
  const ids = [...(await serviceNames(twin, [`flat/${VESSEL}/*`])).keys()].sort();
  odd = ids.slice(0, 4) as unknown as typeof odd;
  plain = ids[4]!;
  addOddReadings(twin, odd);
  return twin;
}

/** It ends with the test. */
async function twinOfTest(options: TestServiceOptions = {}): Promise<TestService> {
  const twin = await startTwin(options);
  onTestFinished(() => twin.close());
  return twin;
}

beforeAll(async () => {
  service = await startTwin();
  sound = await newLake();
  await exportAuditLake(service, { lakeUrl: sound.url });
});
afterEach(() => {
  service.faults = undefined;
});
afterAll(async () => {
  await service.close();
  await sound[Symbol.asyncDispose]();
});

function answerStatistics(fault: Fault): void {
  service.faults = ({ family }) => (family === 'statistics' ? fault : undefined);
}

const at = (seconds: number, date = DATE) => dateToMicros(date) + seconds * 1_000_000;

/** The reading of a series in its middle, by time. */
function middleOf(readings: readonly Reading[], series: string): Reading {
  const own = readings.filter((one) => one.series === series).sort((a, b) => a.micros - b.micros);
  return own[own.length >> 1]!;
}

type Find = (all: readonly Reading[]) => Reading;

/** Replace one reading. */
const instead =
  (find: Find, more: Partial<Reading> | ((reading: Reading) => Partial<Reading>)) => (all: Reading[]) => {
    const old = find(all);
    const change = typeof more === 'function' ? more(old) : more;
    return all.map((one) => (one === old ? { ...one, ...change } : one));
  };
const middle: Find = (all) => middleOf(all, plain);
const having =
  (value: Reading['value']): Find =>
  (all) =>
    all.find((one) => one.value === value)!;
const firstOfBig: Find = (all) => all.find(({ series }) => series === odd[3])!;

/** Change a value of the 700th window. */
const inWindow = (name: string, text: string) => (dir: string) => {
  const aggregations = [...(JOBS.statistics!.aggregations as []), 'count'] as never[];
  return forgeWindows(dir, WINDOWS, aggregations, (values, index) => {
    if (index === 700) values.set(name, text);
  });
};
describe('rows changed together with their receipt', () => {
  const READINGS: readonly [what: string, finding: string, change: (all: Reading[]) => Reading[]][] = [
    ['a double in the middle of its series', 'values-differ', instead(middle, { value: 1_234.5 })],
    ['a long beyond 2^53, by one', 'values-differ', instead(having(2n ** 53n + 1n), { value: 2n ** 53n })],
    ['a long that becomes a double', 'values-differ', instead(having(5n), { value: 6 })],
    ['the last JSON text of its series', 'values-differ', instead(having('"on"'), { value: '"off"' })],
    [
      'the first reading of a series, later in its hour',
      'times-differ',
      instead(firstOfBig, ({ micros }) => ({ micros: micros + 500_000_000 })),
    ],
    [
      'a reading in another hour',
      'count-differs',
      instead(middle, ({ micros }) => ({ micros: micros + (micros > at(43_200) ? -1 : 1) * 7_200_000_000 })),
    ],
    ['a reading of another series', 'count-differs', (all) => instead(middle, { series: odd[3] })(all)],
    [
      'a reading twice in the place of another',
      'count-differs',
      (all) => [...all.filter((one) => one !== middle(all)), firstOfBig(all)],
    ],
  ];
  const FORGERIES: readonly [what: string, finding: string, forge: (dir: string) => Promise<void>][] = [
    ...READINGS.map(([what, finding, change]): (typeof FORGERIES)[number] => [
      what,
      `${finding} measurements`,
      (dir) => forgeReadings(dir, MEASURED, change),
    ]),
    [
      'pages that cannot be decompressed',
      'rows-unreadable measurements',
      async (dir) => {
        const bytes = await readFile(join(dir, objectKey(MEASURED)));
        await replaceObject(dir, MEASURED, bytes.fill(0xff, 40, 240));
      },
    ],
    ['a value of a window', 'values-differ statistics', inWindow('mean', '17.25')],
    ['readings counted in a window', 'count-differs statistics', inWindow('count', '99')],
    ['a series twice', 'count-differs metadata', (dir) => forgeSnapshot(dir, SNAPSHOT, 2)],
  ];

  test.for(FORGERIES)('%s: found by a deep verify only', async ([what, finding, forge]) => {
    await using lake = await copyLake(sound.url);
    await forge(lake.dir);
    // Moving the day's first or last reading shows in the footer already: none of these does.
    expect((await runVerify({ lakeUrl: lake.url })).found).toEqual([]);
    const jobNames = [finding.split(' ')[1]!];
    const { code, found, result } = await runVerify({ lakeUrl: lake.url, service, deep: true, jobNames });
    expect({ code, found }).toEqual({ code: 1, found: [`${finding}/${DATE}`] });
    if (what !== 'a value of a window') return;
    expect(result.findings[0]!.found).toMatch(
      /^mean of series .* in the window at 2026-01-05T\d\d:00:00.000000Z: 17.25$/,
    );
  });

  test('a reading of the next day shows in the footer', async () => {
    await using lake = await copyLake(sound.url);
    await forgeReadings(lake.dir, MEASURED, instead(middle, { micros: at(0, EMPTY_DATE) }));
    expect((await runVerify({ lakeUrl: lake.url })).found).toEqual([`outside-day measurements/${DATE}`]);
  });

  test('a lake whose folder is named with what means something in patterns is read back', async () => {
    await using folder = await newMemoryFolder();
    const dir = join(folder.path, "ships [old] * ?'s");
    await cp(sound.dir, dir, { recursive: true, preserveTimestamps: true });
    const { code, found } = await runVerify({ lakeUrl: pathToFileURL(dir).href, service, deep: true });
    expect({ code, found }).toEqual({ code: 0, found: [] });
  });

  test('the same rows in other row groups are no finding', async () => {
    await using lake = await copyLake(sound.url);
    await forgeReadings(lake.dir, MEASURED, (all) => all);
    await inWindow('', '')(lake.dir);
    expect((await runVerify({ lakeUrl: lake.url, service, deep: true })).found).toEqual([]);
  });
});

describe('a source that has changed since', () => {
  const CHANGES: readonly [what: string, date: string, change: (twin: TestService) => void][] = [
    ['a late reading', DATE, (twin) => twin.overlay.addReadings(plain, [reading(50_000, '1.5')])],
    [
      'a removed hour',
      DATE,
      (twin) => twin.overlay.removeReadings(undefined, { fromMicros: at(36_000), toMicros: at(39_600) }),
    ],
    [
      'readings on a day that was empty',
      EMPTY_DATE,
      (twin) => twin.overlay.addReadings(plain, [{ timestampMicros: at(1, EMPTY_DATE), valueText: '1.5' }]),
    ],
  ];
  const reading = (seconds: number, valueText: string): AddedReading => ({
    timestampMicros: at(seconds),
    valueText,
  });

  test.for(CHANGES)('%s: no damage, and said', async ([, date, change]) => {
    const twin = await twinOfTest();
    change(twin);
    await using lake = await copyLake(sound.url);
    await acceptService(lake.dir, twin);
    const { code, found } = await runVerify({ lakeUrl: lake.url, service: twin, deep: true });
    expect(found).toEqual([`source-changed measurements/${date}`, `source-changed statistics/${date}`]);
    expect(code).toBe(1);
  });

  test('corrected readings differ in their values', async () => {
    const twin = await twinOfTest();
    twin.overlay.removeReadings(odd[1], { fromMicros: at(40), toMicros: at(41) });
    twin.overlay.addReadings(odd[1], [reading(40, '-7.25')]);
    await using lake = await copyLake(sound.url);
    await acceptService(lake.dir, twin);
    const { found, result } = await runVerify({ lakeUrl: lake.url, service: twin, deep: true });
    expect(found).toEqual([`values-differ measurements/${DATE}`, `values-differ statistics/${DATE}`]);
    expect(result.findings.find(({ job }) => job === 'measurements')).toMatchObject({
      found: expect.stringMatching(/^min of series IMO\d+\/.*: -7.5; sum of series .*: 5.75$/),
      expected: '-7.25; 6.0 by the service',
    });
  });

  test('statistics that lie are told by their numbers', async () => {
    answerStatistics({ kind: 'statistics-counts', offset: 1 });
    const { found, result } = await runVerify({
      lakeUrl: sound.url,
      service,
      deep: true,
      jobNames: ['measurements'],
      to: EMPTY_DATE,
    });
    expect(found).toEqual([`source-changed measurements/${DATE}`]);
    expect(result.findings[0]!.found).toMatch(
      /^series IMO\d+\/[^;]+: \d+ counted by the source now; .*; and \d+ more$/,
    );
  });

  test('statistics in doubles do not say that integers beyond 2^53 differ', async () => {
    const asDouble = (body: string) =>
      body.replaceAll(
        /([,:])(-?\d{16,})(?=[,}])/g,
        (_, before, digits) => `${before}${BigInt(Number(digits))}`,
      );
    answerStatistics({ kind: 'rewrite', rewrite: asDouble });
    const { code, found } = await runVerify({ lakeUrl: sound.url, service, deep: true });
    expect({ code, found }).toEqual({ code: 0, found: [] });
  });

  test('statistics that tell a value twice verify nothing', async () => {
    const row = `{"timestamp":"${DATE}T00:00:00.000000Z","id":"${plain}","aggregations":{"count":5,"min":1}}`;
    answerStatistics({ kind: 'garbage', contentType: 'application/json', body: `[${row},${row}]` });
    const to = EMPTY_DATE;
    const { found } = await runVerify({ lakeUrl: sound.url, service, deep: true, to });
    expect(found).toEqual([`not-verified measurements/${DATE}`, `not-verified statistics/${DATE}`]);
  });

  test('nothing is asked of silent series that a service may refuse for JSON', async () => {
    service.faults = ({ family, url }) =>
      family === 'statistics' && /[=,](min|max|sum)\b/.test(decodeURIComponent(url))
        ? { kind: 'status', status: 400 }
        : undefined;
    const [from, jobs] = [EMPTY_DATE, { measurements: JOBS.measurements! }];
    const { code, found, result } = await runVerify({
      lakeUrl: sound.url,
      service,
      deep: true,
      from,
      jobs,
    });
    expect({ code, found, vesselDays: result.vesselDays }).toEqual({ code: 0, found: [], vesselDays: 1 });
  });

  test('a series that the metadata has lost is a warning on the snapshot', async () => {
    const other = { ...JOBS.metadata!, select: ['flat/{vessel}/*', 'jsmea/{vessel}/*'] };
    const jobs = { metadata: JOBS.metadata! };
    await using lake = await copyLake(sound.url);
    await forgeSnapshot(lake.dir, SNAPSHOT, 1);
    const { code, result } = await runVerify({ lakeUrl: lake.url, service, deep: true, jobs });
    expect({ code, warnings: result.warnings }).toMatchObject({
      code: 0,
      warnings: [{ code: 'metadata-changed', message: expect.stringMatching(/^1 series then, \d{3} now$/) }],
    });
    // Of other settings than the job has now, it is compared with nothing.
    const stale = await runVerify({ lakeUrl: lake.url, service, deep: true, jobs: { metadata: other } });
    expect({ code: stale.code, warnings: stale.result.warnings }).toEqual({ code: 0, warnings: [] });
  });
});

describe('services and jobs of every kind', () => {
  const KINDS: readonly [what: string, job: JobFile, service: TestServiceOptions, version?: ApiVersion][] = [
    ['version 2025-10-31', {}, {}, '2025-10-31'],
    ['a service whose ranges include their end', {}, { toInclusive: true }],
    ['Parquet as transport', { transport: 'parquet' }, {}],
    ['JSON as transport', { transport: 'json' }, {}],
    ['at least the counts', { verify: 'at-least' }, {}],
    ['no counts at all', { verify: 'off' }, {}],
    ['series by their ids', { select: ['flat/{vessel}/*', 'jsmea/{vessel}/*'] }, {}],
  ];

  test.for(KINDS)('%s: a sound lake gives no finding', async ([, more, options, version]) => {
    const twin = await twinOfTest(options);
    await using lake = await newLake();
    const { statistics, measurements } = JOBS as Record<string, JobFile>;
    const jobs: Record<string, JobFile> = { measurements: { ...measurements, ...more } };
    if (more.transport !== 'parquet') jobs.statistics = { ...statistics, ...more };
    const env = version === undefined ? {} : { QUERY_API_VERSION: version };
    await exportAuditLake(twin, { lakeUrl: lake.url, jobs, env });
    const { result } = await runVerify({ lakeUrl: lake.url, service: twin, deep: true, jobs, env });
    expect(result.findings).toEqual([]);
    expect(result.vesselDays).toBe(2 * Object.keys(jobs).length);
  });

  test('days of other settings are compared by what they hold', async () => {
    const jobs = {
      measurements: { ...JOBS.measurements!, select: [`flat/{vessel}/Speed*`] },
      statistics: { ...JOBS.statistics!, window: '1h' },
    };
    const { code, found, result } = await runVerify({ lakeUrl: sound.url, service, deep: true, jobs });
    expect({ code, found }).toEqual({ code: 0, found: [] });
    expect(result.warnings.map(({ code: name, job, date }) => `${name} ${job}/${date}`).sort()).toEqual([
      `not-compared measurements/${EMPTY.date}`,
      `not-compared statistics/${DATE}`,
      `not-compared statistics/${EMPTY.date}`,
    ]);
  });
});

describe('when the service cannot be reached', () => {
  test('vessel-days are not verified, and said so', async () => {
    answerStatistics({ kind: 'status', status: 500, message: 'oops' });
    await using temp = await newMemoryFolder();
    const env = { TEMP_DIR: temp.path };
    const { code, found } = await runVerify({ lakeUrl: sound.url, service, deep: true, env });
    expect(found).toEqual([
      `not-verified measurements/${DATE}`,
      `not-verified measurements/${EMPTY_DATE}`,
      `not-verified statistics/${DATE}`,
      `not-verified statistics/${EMPTY_DATE}`,
    ]);
    expect(code).toBe(1);
    expect(await readdir(temp.path)).toEqual([]);
  });

  test('a refused credential ends it with one message', async () => {
    const wrong = { QUERY_CLIENT_SECRET: 'not-the-secret' };
    const failing = runVerify({ lakeUrl: sound.url, service, deep: true, env: wrong });
    await expect(failing).rejects.toMatchObject({ code: 'credentials-refused' });
  });

  test('a temp folder that cannot be made is a fault of configuration', async () => {
    const env = { TEMP_DIR: join(sound.dir, 'nowhere') };
    const failing = runVerify({ lakeUrl: sound.url, service, deep: true, env });
    await expect(failing).rejects.toThrow(/^TEMP_DIR: cannot make a folder in '.*nowhere'/);
  });

  test('an interrupted verify leaves no temp folder', async () => {
    const stop = new AbortController();
    await using temp = await newMemoryFolder();
    service.faults = ({ family }) => {
      if (family !== 'statistics') return undefined;
      stop.abort(new CancelledError('interrupted'));
      return { kind: 'stall', at: 'headers' };
    };
    const env = { TEMP_DIR: temp.path };
    const stopped = runVerify({ lakeUrl: sound.url, service, deep: true, env, signal: stop.signal });
    await expect(stopped).rejects.toBeInstanceOf(CancelledError);
    expect(await readdir(temp.path)).toEqual([]);
  });
});
