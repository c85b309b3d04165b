/** A service that tells other things than it has: exact or refused, never wrong; the published day stays. */
import { expect, test } from 'vitest';
import { HttpStatusError } from '../../src/core/errors.ts';
import type { Job, QueryRequest } from '../../src/core/model/index.ts';
import { dateToMicros, MICROS_PER_HOUR, microsToIso } from '../../src/core/model/index.ts';
import { noteKey } from '../../src/lake/keys.ts';
import type { MadeUpReading, MadeUpSeries, MadeUpSource } from '../helpers/made-up-source.ts';
import { DATE, DAY, jobOf, type OpenLake, openMemoryLake, seriesOf, VESSEL } from '../helpers/memory-lake.ts';

const MINUTE = MICROS_PER_HOUR / 60;
/** A reading every six minutes of the day. */
const READINGS: readonly MadeUpReading[] = Array.from({ length: 240 }, (_, at) => ({
  micros: (6 * at + 1) * MINUTE,
  text: `${at}.5`,
}));
const FLEET = [seriesOf('A', READINGS), seriesOf('B', READINGS)];
const NOON = 12 * MICROS_PER_HOUR;
const [A, B] = FLEET.map(({ timeSeriesId }) => timeSeriesId) as [string, string];
const SMALL = { sizes: { rowGroupRows: 50, partBytes: 400 }, sliceTargetRows: 100 };
type Rewrite = NonNullable<MadeUpSource['rewrite']>;
type Window = { id: string; timestamp: string; aggregations: Record<string, unknown> };

const of =
  (family: string, say: (body: string, request: QueryRequest) => string): Rewrite =>
  (request, body) =>
    request.family === family ? say(body, request) : body;
const lines = (keep: (line: string, at: number) => boolean) =>
  of('measurements', (body) =>
    body
      .split(/(?<=\n)/)
      .filter(keep)
      .join(''),
  );
const rows = (change: (row: Window) => Window | undefined) =>
  of('statistics', (body) =>
    JSON.stringify((JSON.parse(body) as Window[]).flatMap((row) => change(row) ?? [])),
  );
const counting = (change: (count: number) => number) =>
  rows((row) => ({
    ...row,
    aggregations: { ...row.aggregations, count: change(Number(row.aggregations.count)) },
  }));
const at = (micros: number) => microsToIso(dateToMicros(DATE) + micros);
const isAt = (line: string, micros: number) => line.includes(at(micros));
const lineOf = (id: string, micros: number) => `{"id":"${id}","timestamp":"${at(micros)}","value":1.5}\n`;
/** Lines in the order of their times. */
const inOrder = (body: string, ...more: string[]) =>
  [...body.split(/(?<=\n)/), ...more].sort((a, b) => (a.slice(50) < b.slice(50) ? -1 : 1)).join('');
/** The reading of the first series at `lost` is not sent; that at noon and a half is sent twice instead. */
const lostAndDoubled = (lost: number) => {
  const doubled = NOON + 31 * MINUTE;
  return of('measurements', (body) =>
    inOrder(
      body.replace(new RegExp(`\\{"id":"${A}","timestamp":"${at(lost)}.*\n`), ''),
      ...(isAt(body, doubled) ? [lineOf(A, doubled).replace('1.5', '125.5')] : []),
    ),
  );
};
/** The window at noon tells times of another hour, and its readings are not sent. */
const elsewhere = (hours: number): Rewrite => {
  const moved = at(NOON + hours * MICROS_PER_HOUR);
  const lie = rows((row) =>
    row.id === A && row.timestamp === at(NOON)
      ? { ...row, aggregations: { ...row.aggregations, first_time: moved, last_time: moved } }
      : row,
  );
  const lose = lines((line) => !line.includes(`${DATE}T12`) || !line.includes(A));
  return async (request, body) => lose(request, await lie(request, body));
};
const status = (family: string, code: number) =>
  of(family, () => {
    throw new HttpStatusError(code, code === 404 ? 'not-found' : 'bad-request', 'not today');
  });
const STATISTICS = jobOf('statistics');
const AT_LEAST = jobOf('measurements', { verify: 'at-least' });

/** Without the lines of which this holds. */
const dropping = (isDropped: (line: string, at: number) => boolean) =>
  lines((line, n) => !isDropped(line, n));
const OF_NOON = `${DATE}T12`;
const [LAST, MISCOUNTED] = [
  READINGS.at(-1)!.micros,
  /in hour \d\d: \d+ fetched, \d+ counted by the source; .*and \d+ more/,
];
const [EDGES, CONTRADICTION] = [/in hour 12: first and last reading .* as fetched/, /contradict themselves/];
const addingOne = of('measurements', (body) =>
  body.includes('T12:01') ? inOrder(body, lineOf(A, NOON + 5)) : body,
);
/** Of the windows that are exported, not of those that are counted. */
const ofWindows = (say: (body: string) => string) =>
  of('statistics', (body, { aggregations }) => (aggregations!.includes('mean') ? say(body) : body));

type Row = readonly [what: string, rewrite: Rewrite, says: RegExp, job?: Job, code?: string];
const DISAGREEING: readonly Row[] = [
  [
    'drops one reading in ten',
    dropping((_, n) => n % 10 === 0),
    /series IMO\d+\/.+ in hour \d\d: \d+ fetched/,
  ],
  ['drops a series', dropping((line) => line.includes(A)), /series \S+\/A in hour 00: 0 fetched/],
  ['drops an hour', dropping((line) => line.includes(OF_NOON)), /hour 12: 0 fetched/],
  ['drops the last reading of the day', dropping((line) => isAt(line, LAST)), /hour 23/],
  ['adds a reading', addingOne, /\/A in hour 12: 11 fetched, 10 counted/],
  ['counts nothing', of('statistics', () => '[]'), /fetched, 0 counted by the source/],
  [
    'does not count the newest',
    rows((row) => (row.timestamp < at(NOON) ? row : undefined)),
    /12: 10 fetched, 0 counted/,
  ],
  ['counts one too many', counting((count) => count + 1), MISCOUNTED],
  ['counts one too few', counting((count) => count - 1), MISCOUNTED],
  ['loses the first of an hour and doubles another', lostAndDoubled(NOON + MINUTE), EDGES],
  ['loses the last of an hour and doubles another', lostAndDoubled(NOON + 55 * MINUTE), EDGES],
  ['does so, at least the counts being there', lostAndDoubled(NOON + MINUTE), EDGES, AT_LEAST],
  ['drops, at least the counts to be there', dropping((_, n) => n % 10 === 0), /fetched/, AT_LEAST],
  ['counts an hour that lies in the next day', elsewhere(12), CONTRADICTION],
  ['counts an hour that lies in the day before', elsewhere(-13), CONTRADICTION],
  [
    'counts too much in windows',
    ofWindows((body) => body.replaceAll('"count":10', '"count":11')),
    /counted/,
    STATISTICS,
  ],
  [
    'has empty windows only',
    of('statistics', () => '[]'),
    /no reading .* has one at 2026-01-05T/,
    STATISTICS,
  ],
];
const X = seriesOf('X').timeSeriesId;
const misaligned = ofWindows((body) => body.replaceAll(':00:00.', ':07:00.'));
const OTHERS: readonly Row[] = [
  [
    'sends a series that nobody knows',
    of('measurements', (body) => body.replaceAll(B, X)),
    new RegExp(X),
    jobOf(),
    'unknown-series',
  ],
  ['has no statistics', status('statistics', 404), /not today/, jobOf(), 'not-found'],
  ['has no measurements', status('measurements', 404), /not today/, jobOf(), 'not-found'],
  [
    'sends crooked windows',
    misaligned,
    /window of 1h that begins at \S+:07:00/,
    STATISTICS,
    'windows-misaligned',
  ],
];
test.for([...DISAGREEING, ...OTHERS])(
  'a service that %s',
  async ([, rewrite, says, job = jobOf(), code = 'counts-disagree']) => {
    const lake = openMemoryLake(FLEET);
    const run = (force = false) => lake.run({ job, force, over: SMALL });
    lake.source.rewrite = rewrite;
    const first = await run();
    expect(first).toMatchObject({ code, message: expect.stringMatching(says) });
    expect([await lake.receipt(), await lake.unfinished()]).toEqual([undefined, []]);
    expect(await lake.note()).toMatchObject({ ...DAY, code, message: first.message });
    lake.source.rewrite = undefined;
    expect(await run()).toMatchObject({ code: 'published', receipt: { proof: job.verify } });
    expect(await lake.note()).toBeUndefined();
    const published = await everything(lake);
    lake.source.rewrite = rewrite;
    const again = await run(true);
    expect(again).not.toHaveProperty('receipt');
    expect((await lake.note())?.message).toBe(again.message);
    await lake.store.remove(noteKey(DAY));
    expect(await everything(lake)).toEqual(published);
  },
);

test.for<[what: string, body: string]>([
  ['nothing', ''],
  ['null', 'null'],
  ['a number', '42'],
  ['an error with status 200', '{"error":"database is away"}'],
  ['bytes that are no UTF-8', '\ufffd\u0000'],
])('%s instead of an answer publishes nothing, and is no defect of ours', async ([what, body]) => {
  for (const family of what === 'null' ? ['metadata', 'statistics', 'measurements'] : ['measurements']) {
    const lake = openMemoryLake(FLEET);
    lake.source.rewrite = of(family, () => body);
    const { code, message } = await lake.run();
    expect(code, message).toMatch(/^[a-z-]+$/);
    expect(`${code} ${message}`).not.toMatch(/undefined|\[object|internal/);
    expect(await lake.note()).toMatchObject({ state: 'failed', code });
  }
});

/** Every object of the lake, as text. */
async function everything({ store }: OpenLake): Promise<[string, string][]> {
  const all: [string, string][] = [];
  for await (const { key } of store.list(''))
    all.push([key, Buffer.from((await store.get(key))!.bytes).toString('base64')]);
  return all;
}

/** What is said or has changed by the n-th request of a family, counted from 1. */
function once(family: string, nth: number, change: (body: string) => string): Rewrite {
  let asked = 0;
  return (request, body) => (request.family === family && ++asked === nth ? change(body) : body);
}
const adds =
  (lake: OpenLake, ...micros: number[]) =>
  (body: string) => {
    const more = micros.map((each) => ({ micros: each, text: '7' }));
    lake.source.series = [
      seriesOf(
        'A',
        [...READINGS, ...more].sort((a, b) => a.micros - b.micros),
      ),
      FLEET[1]!,
    ];
    return body;
  };

test.for<
  [
    what: string,
    family: string,
    nth: number,
    change: (lake: OpenLake) => (body: string) => string,
    counts: number,
  ]
>([
  [
    'readings that arrive while we fetch: the second count is right',
    'measurements',
    2,
    (lake) => adds(lake, 23 * MICROS_PER_HOUR),
    2,
  ],
  [
    'readings that arrive behind us while we fetch: the day starts clean',
    'measurements',
    4,
    (lake) => adds(lake, 5, 23 * MICROS_PER_HOUR),
    3,
  ],
  [
    'a first count that lags and a second that is right',
    'statistics',
    1,
    () => (body) => JSON.stringify(JSON.parse(body).slice(0, 30)),
    2,
  ],
  [
    'statistics that contradict themselves once',
    'statistics',
    1,
    () => (body) => body.replace(at(NOON + MINUTE), at(0)),
    2,
  ],
  ['rows dropped once', 'measurements', 2, () => (body) => body.slice(body.indexOf('\n') + 1), 3],
])('%s', async ([, family, nth, change, counts]) => {
  const lake = openMemoryLake(FLEET);
  lake.source.rewrite = once(family, nth, change(lake));
  expect(await lake.run({ over: SMALL })).toMatchObject({ code: 'published', receipt: { proof: 'exact' } });
  expect(lake.source.requests.filter((request) => request.family === 'statistics')).toHaveLength(counts);
  expect(await lake.unfinished()).toEqual([]);
  const fresh = openMemoryLake(lake.source.series);
  await fresh.run({ over: SMALL });
  expect((await lake.bytes()) === (await fresh.bytes())).toBe(true);
});

const WITHOUT_NOON = READINGS.filter(({ micros }) => micros < NOON || micros >= NOON + MICROS_PER_HOUR);
const MORE = [...READINGS, ...READINGS].sort((a, b) => a.micros - b.micros);
test.for<[what: string, now: readonly MadeUpSeries[], job?: Job]>([
  ['an hour', [seriesOf('A', WITHOUT_NOON), FLEET[1]!]],
  ['an hour of a series, where another gains more', [seriesOf('A', WITHOUT_NOON), seriesOf('B', MORE)]],
  ...(['exact', 'at-least', 'off'] as const).map((verify): [string, MadeUpSeries[], Job] => [
    `everything, with verify ${verify}`,
    [seriesOf('A', 0), seriesOf('B', 0)],
    jobOf('measurements', { verify }),
  ]),
  ['everything, of statistics', [seriesOf('A', 0), seriesOf('B', 0)], STATISTICS],
])('a published day that lost %s is kept, unless that is allowed', async ([, now, job = jobOf()]) => {
  const lake = openMemoryLake(FLEET);
  const isEmptied = now[0]!.readings === 0;
  await lake.run({ job });
  const before = await lake.bytes();
  lake.source.series = now;
  const asked = lake.source.requests.length;
  const refused = await lake.run({ job, force: true });
  const says = /series would lose \d+ readings: .*A: \d+ published, \d+ now.*--allow-shrink/;
  expect(refused).toMatchObject({ code: 'would-shrink', message: expect.stringMatching(says) });
  expect(await lake.note()).toMatchObject({ state: 'refused', code: 'would-shrink' });
  expect((await lake.bytes()) === before).toBe(true);
  const families = lake.source.requests.slice(asked).map(({ family }) => family);
  if (job.verify === 'exact' && !isEmptied) expect(families).toEqual(['metadata', 'statistics']);
  const { receipt } = await lake.run({ job, force: true, allowShrink: true });
  expect(await lake.note()).toBeUndefined();
  if (!isEmptied) return;
  expect(receipt).toMatchObject({ rows: 0, series: 0, firstTimestamp: null, object: {} });
  expect((await lake.bytes())!.length).toBeGreaterThan(100);
  lake.source.series = FLEET;
  await lake.run({ job, force: true });
  expect((await lake.bytes()) === before).toBe(true);
});

test('verify at-least takes more readings than were counted; verify off asks for no statistics', async () => {
  const lake = openMemoryLake(FLEET);
  lake.source.rewrite = rows((row) => (row.timestamp < at(NOON) ? row : undefined));
  const { receipt } = await lake.run({ job: AT_LEAST });
  expect(receipt).toMatchObject({ proof: 'at-least', rows: 480, source: { rows: 240 } });
  const other = openMemoryLake(FLEET);
  const off = await other.run({ job: jobOf('measurements', { verify: 'off' }) });
  expect(off.receipt).toMatchObject({ proof: 'unproven', rows: 480, source: null });
  expect(other.source.requests.map(({ family }) => family)).not.toContain('statistics');
});

/** A run that ends after a step, as if the machine had. */
const dieAt = async (lake: OpenLake, last: string, force = false) => {
  const onStep = (step: string) => {
    if (step === last) throw new Error('the machine is on fire');
  };
  expect(await lake.run({ force, over: { onStep } })).toMatchObject({ code: 'the machine is on fire' });
};
const GROWN = [
  seriesOf(
    'A',
    [...READINGS, { micros: NOON + 7, text: '1' }].sort((a, b) => a.micros - b.micros),
  ),
  FLEET[1]!,
];

test.for(['sealed', 'published'])(
  'a forced run after a kill once it is %s publishes what the source has now',
  async (step) => {
    const lake = openMemoryLake(FLEET);
    await dieAt(lake, step);
    lake.source.series = GROWN;
    expect(await lake.run({ force: true })).toMatchObject({
      code: 'published',
      receipt: { rows: 481, epoch: 2 },
    });
    expect(await lake.unfinished()).toEqual([]);
  },
);

test('a day that is visible without its receipt is what the never-shrink guard compares with', async () => {
  const lake = openMemoryLake(FLEET);
  await lake.run();
  lake.source.series = GROWN;
  await dieAt(lake, 'published', true);
  expect(await lake.receipt()).toMatchObject({ rows: 480 });
  lake.source.series = FLEET;
  // Other settings: the draft is of no use, but what it has published is there.
  const refused = await lake.run({ job: jobOf('measurements', { transport: 'json' }) });
  expect(refused).toMatchObject({
    code: 'would-shrink',
    message: expect.stringContaining('A: 241 published, 240 now'),
  });
  expect(await lake.receipt()).toMatchObject({ rows: 481, epoch: 2 });
});

test('an object that no receipt and no claim knows is replaced', async () => {
  const lake = openMemoryLake(FLEET);
  const key = `${DAY.job}/vessel=${VESSEL}/date=${DATE}/data.parquet`;
  await lake.store.put(key, Buffer.from('left by somebody'));
  expect(await lake.run()).toMatchObject({ code: 'published', receipt: { object: { key }, rows: 480 } });
});
