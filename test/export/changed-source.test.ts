/** The source changes between an attempt and the one that goes on: the day is the new truth, not a mixture. */
import { expect, test } from 'vitest';
import { HttpStatusError } from '../../src/core/errors.ts';
import type { ClaimFile, Job } from '../../src/core/model/index.ts';
import { dateToMicros, MICROS_PER_HOUR } from '../../src/core/model/index.ts';
import { claimKey } from '../../src/lake/keys.ts';
import type { MadeUpReading, MadeUpSeries } from '../helpers/made-up-source.ts';
import { DATE, DAY, jobOf, type OpenLake, openMemoryLake, seriesOf } from '../helpers/memory-lake.ts';

const MINUTE = MICROS_PER_HOUR / 60;
/** A reading every ten minutes of the day. */
const everyTen = (textOf: (at: number) => string): MadeUpReading[] =>
  Array.from({ length: 144 }, (_, at) => ({ micros: 10 * at * MINUTE, text: textOf(at) }));
const [DOUBLES, LONGS] = [everyTen((at) => `${at}.25`), everyTen((at) => `${at}`)];
/** Two series with readings all day, and one that is bare. */
const fleet = (a = DOUBLES, b = LONGS, c: readonly MadeUpReading[] = []) => [
  seriesOf('A', a),
  seriesOf('B', b),
  seriesOf('C', c),
];
const SMALL = { sizes: { rowGroupRows: 20, partBytes: 400 }, sliceTargetRows: 30 };
const MEASUREMENTS = jobOf();
const WINDOWS = jobOf('statistics', {
  ...{ window: '10m', windowMicros: 10 * MINUTE },
  aggregations: ['count', 'mean', 'min', 'max', 'sum', 'first_val', 'last_val', 'first_time', 'last_time'],
});

/** Run until the checkpoint of that number, and stop there; what it holds. */
async function stopAt(lake: OpenLake, nth: number, job: Job = MEASUREMENTS, interrupts = false) {
  const stop = new AbortController();
  let seen = 0;
  const onStep = (step: string) => {
    if (step !== 'checkpoint' || ++seen < nth) return;
    if (!interrupts) throw new Error('the machine is on fire');
    stop.abort();
  };
  const { code } = await lake.run({ job, over: { ...SMALL, onStep }, signal: stop.signal });
  expect(code).toBe(interrupts ? 'cancelled' : 'the machine is on fire');
  expect(await lake.receipt()).toBeUndefined();
  return (await claimOf(lake)).checkpoint!;
}

const claimOf = async ({ store }: OpenLake, epoch = 1): Promise<ClaimFile> =>
  JSON.parse(String(Buffer.from((await store.get(claimKey(DAY, epoch)))!.bytes)));

/** Run again to the end: the object is that of an undisturbed run. Where it began to ask for readings, and whether it went on. */
async function goOn(lake: OpenLake, job: Job = MEASUREMENTS) {
  const before = lake.source.requests.length;
  const { rewrite } = lake.source;
  const { code, resumed, message } = await lake.run({ job, over: SMALL });
  expect(code, message).toBe('published');
  expect(await lake.unfinished()).toEqual([]);
  const asked = lake.source.requests
    .slice(before)
    .filter((one) => one.family === job.dataset && one.window !== 'none');
  lake.source.rewrite = undefined;
  const fresh = openMemoryLake(lake.source.series);
  expect(await fresh.run({ job, over: SMALL })).toMatchObject({ code: 'published' });
  expect((await lake.bytes()) === (await fresh.bytes())).toBe(true);
  lake.source.rewrite = rewrite;
  const from = Math.min(...asked.map(({ range }) => range!.fromMicros - dateToMicros(DATE)));
  return { resumed, from };
}

const insertedAt = (readings: readonly MadeUpReading[], micros: number, text: string) =>
  [...readings, { micros, text }].sort((a, b) => a.micros - b.micros);
const instead = (at: number, text: string, all = DOUBLES) =>
  all.map((one, i) => (i === at ? { ...one, text } : one));
const HUGE = (text: string) => everyTen((at) => (at === 5 ? text : `${at}`));
const MIXED = [instead(0, '{"lat": 1.50, "a":[1]}'), instead(3, '9007199254740993'), instead(9, '"on"')];

/** `cursor`: micros since midnight. What is the same before it may be gone on with. */
test.for<[what: string, now: (cursor: number) => MadeUpSeries[], resumed: boolean, then?: MadeUpSeries[]]>([
  ['nothing', () => fleet(), true],
  ['a reading is added', () => fleet(insertedAt(DOUBLES, 77, '1.25')), false],
  ['readings of an hour are removed', () => fleet(DOUBLES.slice(6)), false],
  [
    'one series loses a reading, another gains one',
    () => fleet(DOUBLES.slice(1), insertedAt(LONGS, 7, '5')),
    false,
  ],
  [
    'a reading moves to another hour',
    () => fleet(insertedAt(DOUBLES.slice(1), 2 * MICROS_PER_HOUR + 1, '0.25')),
    false,
  ],
  ['a series has its first readings', () => fleet(DOUBLES, LONGS, [{ micros: 1, text: '"new"' }]), false],
  ['a series is gone', () => [seriesOf('A', DOUBLES)], false],
  ['another fleet', () => [seriesOf('X', DOUBLES), seriesOf('Y', LONGS), seriesOf('Z', [])], false],
  [
    'a reading just before the cursor',
    (cursor) => fleet(DOUBLES, LONGS, [{ micros: cursor - 1, text: '1' }]),
    false,
  ],
  ['a reading at the cursor', (cursor) => fleet(DOUBLES, LONGS, [{ micros: cursor, text: '1' }]), true],
  [
    'readings after the cursor',
    (cursor) => fleet(DOUBLES, insertedAt(LONGS, cursor + 7 * MINUTE, '5')),
    true,
  ],
  [
    'none after the cursor any more',
    (cursor) => fleet(...[DOUBLES, LONGS].map((all) => all.filter(({ micros }) => micros < cursor))),
    true,
  ],
  ['none at all any more', () => fleet([], []), false],
  ['all values are corrected', () => fleet(everyTen((at) => `1${at}.25`)), false],
  ['one value in the middle', () => fleet(instead(5, '5.5')), false],
  [
    'the greatest, so that the last stays',
    () => fleet(instead(5, '999.75')),
    false,
    fleet(instead(5, '999.5')),
  ],
  [
    'a long beyond 2^53, by one',
    () => fleet(HUGE('9007199254740993')),
    false,
    fleet(HUGE('9007199254740992')),
  ],
  [
    'the first of JSON',
    () => fleet(instead(0, '{"lat": 1.5, "lon": 2}')),
    false,
    fleet(instead(0, '{"lat": 1.50}')),
  ],
  [
    'the last of JSON',
    () => fleet(DOUBLES, LONGS, [{ micros: 77, text: '"off"' }]),
    false,
    fleet(DOUBLES, LONGS, [{ micros: 77, text: '"on"' }]),
  ],
  ...MIXED.map((mixed): [string, () => MadeUpSeries[], boolean, MadeUpSeries[]] => [
    'nothing, among JSON and longs',
    () => fleet(mixed),
    true,
    fleet(mixed),
  ]),
])('measurements: %s', async ([, now, resumed, then = fleet()]) => {
  const lake = openMemoryLake(then);
  const cursor = (await stopAt(lake, 3)).cursorMicros - dateToMicros(DATE);
  expect(cursor).toBeGreaterThan(2 * MICROS_PER_HOUR);
  lake.source.series = now(cursor);
  expect(await goOn(lake)).toEqual({ resumed, from: resumed ? cursor : 0 });
  expect(await lake.receipt()).toMatchObject({ epoch: 2, proof: 'exact' });
});

test.for<[what: string, now: MadeUpSeries[], resumed: boolean, job?: Job]>([
  ['nothing', fleet(), true],
  ['a reading is added', fleet(insertedAt(DOUBLES, 77, '1.25')), false],
  ['a value is corrected', fleet(instead(5, '5.5')), false],
  [
    'nothing, but nobody asked what they add up to',
    fleet(),
    false,
    { ...WINDOWS, aggregations: ['count', 'min', 'max'] },
  ],
])('windows of statistics: %s', async ([, now, resumed, job = WINDOWS]) => {
  const lake = openMemoryLake(fleet());
  await stopAt(lake, 3, job);
  lake.source.series = now;
  expect(await goOn(lake, job)).toMatchObject({ resumed });
});

test.for<[what: string, rewrite: (checkpoint: Record<string, unknown>) => void]>([
  // Version 1 did not say which it was.
  ['of another format version', (checkpoint) => delete checkpoint.formatVersion],
  ['of an earlier version, without values', (checkpoint) => delete checkpoint.values],
])('a checkpoint %s starts clean', async ([, rewrite]) => {
  const lake = openMemoryLake(fleet());
  await stopAt(lake, 3);
  const claim = JSON.parse(JSON.stringify(await claimOf(lake)));
  rewrite(claim.checkpoint);
  await lake.store.put(claimKey(DAY, 1), Buffer.from(JSON.stringify(claim)));
  expect(await goOn(lake)).toEqual({ resumed: false, from: 0 });
});

test.for<[what: string, Job]>([
  ['other settings do not go on with what was begun', jobOf('measurements', { select: ['flat/{vessel}/A'] })],
  ['with verify off nobody knows, so the day starts clean', jobOf('measurements', { verify: 'off' })],
])('%s', async ([, job]) => {
  const lake = openMemoryLake(fleet());
  await stopAt(lake, 3, job.verify === 'off' ? job : MEASUREMENTS);
  expect(await goOn(lake, job)).toEqual({ resumed: false, from: 0 });
});

test.for<[what: string, say: (body: string) => string]>([
  ...([400, 404] as const).map((status): [string, () => string] => [
    `answers ${status}`,
    () => {
      throw new HttpStatusError(status, 'refused', 'not today');
    },
  ]),
  ['gives no sum', (body) => body.replaceAll(/"sum":[^,}]+/g, '"sum":null')],
  ['gives no time', (body) => body.replaceAll(/"first_time":[^,}]+/g, '"first_time":null')],
  ['gives a count that is none', (body) => body.replaceAll(/"count":\d+/g, '"count":1.5')],
])(
  'a service that %s where it is asked what it has before the cursor: the day starts clean',
  async ([, say]) => {
    const lake = openMemoryLake(fleet());
    await stopAt(lake, 3);
    lake.source.rewrite = ({ window }, body) => (window === 'none' ? say(body) : body);
    expect(await goOn(lake)).toEqual({ resumed: false, from: 0 });
  },
);

test('interrupted twice, at different places', async () => {
  const lake = openMemoryLake(fleet());
  await stopAt(lake, 1, MEASUREMENTS, true);
  const stop = new AbortController();
  let seen = 0;
  const onStep = (step: string) => void (step === 'checkpoint' && ++seen === 2 && stop.abort());
  expect(await lake.run({ over: { ...SMALL, onStep }, signal: stop.signal })).toMatchObject({
    code: 'cancelled',
  });
  expect(await goOn(lake)).toMatchObject({ resumed: true });
});

test('interrupted while a part is on its way: nothing is written after the vessel-day was handed back', async () => {
  const lake = openMemoryLake(fleet());
  const stop = new AbortController();
  const heartbeatMs = async () => (await claimOf(lake)).heartbeatMs;
  let seen = 0;
  const onStep = async (step: string) => {
    if (step !== 'part-uploaded' || ++seen !== 3) return;
    stop.abort();
    // Time enough to hand the vessel-day back, for whoever does not wait for this part.
    for (let turn = 0; turn < 300 && (await heartbeatMs()) !== 0; turn++)
      await new Promise((resolve) => setImmediate(resolve));
  };
  expect(await lake.run({ over: { ...SMALL, onStep }, signal: stop.signal })).toMatchObject({
    code: 'cancelled',
  });
  expect(await heartbeatMs()).toBe(0);
  expect(await goOn(lake)).toMatchObject({ resumed: true });
});
