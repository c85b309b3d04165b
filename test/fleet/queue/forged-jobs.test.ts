import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog, systemClock } from '../../../src/core/model/index.ts';
import type { BullVesselDays, QueuedDay } from '../../../src/fleet/queue/vessel-day-queue.ts';
import { openVesselDayQueue } from '../../../src/fleet/queue/vessel-day-queue.ts';
import { startVesselDayWorker, type VesselDayWorker } from '../../../src/fleet/queue/vessel-day-worker.ts';
import { hostileNames, LONG_NAME_CHARS, longName, unseenIn } from '../../helpers/hostile-text.ts';
import { queueRedisForTests } from '../../helpers/redis.ts';

const { server, redis } = await queueRedisForTests();
const DAY: QueuedDay = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05', kind: 'nightly' };
const ID = 'measurements/IMO9321483/2026-01-05';
const LAST: QueuedDay = { ...DAY, date: '2026-01-09' };

/** Data that is no vessel-day, and a word of the fault that is logged. */
const FORGED: readonly (readonly [name: string, data: unknown, fault: string])[] = [
  ['a slash in a vessel', { ...DAY, vessel: '../../_ledger/x' }, 'vessel'],
  ['a vessel of 300 kB', { ...DAY, vessel: longName }, 'vessel'],
  ['a job that leaves its folder', { ...DAY, job: '..' }, 'job'],
  ['a job with ESC', { ...DAY, job: hostileNames.escape }, 'job'],
  ['a day that there is not', { ...DAY, date: '2026-02-30' }, 'date'],
  ['a date with a path', { ...DAY, date: '2026-01-05/../x' }, 'date'],
  ['another kind', { ...DAY, kind: 'urgent' }, 'kind'],
  ['a flag that is none', { ...DAY, force: 'yes' }, 'force'],
  ['a comparison that is none', { ...DAY, compared: { epoch: -1, totalsSha256: 'x' } }, 'compared.epoch'],
  ['a code with a line end', { ...DAY, failure: { code: 'a\nb', message: '' } }, 'failure.code'],
  ['disagreements without end', { ...DAY, disagreements: 1e300 }, 'disagreements'],
  ['a list', [DAY], 'its data'],
  ['nothing', null, 'its data'],
  ['a text', 'measurements', 'its data'],
  ['a prototype', JSON.parse('{"__proto__": {"job": "measurements"}}'), 'job'],
];

interface Line {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

describe.skipIf(server === undefined)('forged jobs', () => {
  let queue: BullVesselDays;
  let prefix: string;
  let errors: Line[];
  let worker: VesselDayWorker | undefined;

  beforeEach(() => {
    prefix = server!.newPrefix();
    errors = [];
    queue = openVesselDayQueue({ redis, prefix, log });
  });
  afterEach(async () => {
    await worker?.stop();
    worker = undefined;
  });

  const log = {
    ...silentLog,
    error: (fields: object, message: string) => void errors.push({ fields: { ...fields }, message }),
  };

  /** Works until LAST has come; the vessel-days that it was given. */
  async function workUntilLast(stalledCheckMs = 30_000): Promise<QueuedDay[]> {
    const performed: QueuedDay[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    worker = startVesselDayWorker({
      redis,
      prefix,
      concurrency: 1,
      clock: systemClock,
      random: () => 0,
      log,
      onFault: async () => true,
      onTrouble: () => {},
      timings: { lockMs: 30_000, stalledCheckMs },
      perform: async (day) => {
        performed.push(day);
        if (day.date === LAST.date) resolve();
      },
    });
    await promise;
    return performed;
  }

  /** Put a job into the list of those that wait, by hand. */
  async function putRaw(id: string, fields: Readonly<Record<string, string>> | undefined): Promise<void> {
    if (fields !== undefined) await redis.hset(queue.bull.toKey(id), fields);
    await redis.lpush(queue.bull.toKey('wait'), id);
    await redis.zadd(queue.bull.toKey('marker'), 0, '0');
  }

  /** What of the queue's keys is a job. */
  async function jobKeys(): Promise<string[]> {
    const own = new Set(['meta', 'id', 'events', 'marker', 'stalled-check', 'pc', 'limiter']);
    const keys = await redis.keys(queue.bull.toKey('*'));
    return keys.filter((key) => !own.has(key.slice(queue.bull.toKey('').length)));
  }

  function expectDropped(line: Line | undefined, fault: string): void {
    expect(line?.message).toBe('a job that is no vessel-day is dropped from the queue');
    expect(line?.fields.fault).toContain(`${fault}: got `);
    expect(String(line?.fields.fault)).toMatch(/expected|Invalid|Too/);
    expect(unseenIn(String(line?.fields.fault))).toEqual([]);
    expect(String(line?.fields.fault).length).toBeLessThan(400);
  }

  test.for(FORGED)('%s is dropped by the worker, which goes on', async ([, data, fault]) => {
    await queue.bull.add('nightly', data, { jobId: 'forged', removeOnComplete: false });
    await queue.add([LAST]);
    expect(await workUntilLast()).toEqual([LAST]);
    expect(errors).toHaveLength(1);
    expectDropped(errors[0], fault);
    await expect.poll(jobKeys).toEqual([]);
  });

  test('a vessel-day under the id of another is dropped, and that other can be queued', async () => {
    await queue.bull.add('nightly', { ...DAY, date: '2026-01-06' }, { jobId: ID });
    await queue.add([LAST]);
    expect(await workUntilLast()).toEqual([LAST]);
    expectDropped(errors[0], 'id');
    await expect.poll(jobKeys).toEqual([]);
    expect((await queue.known([DAY])).size).toBe(0);
  });

  test('what a job says beside what it should is not passed on', async () => {
    const more = { clientSecret: 'x', constructor: 'y', takeover: true };
    await queue.bull.add('nightly', { ...LAST, ...more }, { jobId: ID.replace(DAY.date, LAST.date) });
    expect(await workUntilLast()).toEqual([LAST]);
  });

  test('by hand: no JSON, no data, no hash, and a key of another type do not stop a worker', async () => {
    await putRaw('bad-json', { name: 'x', data: '{nope', opts: '{}', timestamp: '1' });
    await putRaw('bad-options', { name: 'x', data: JSON.stringify(DAY), opts: '{nope', timestamp: '1' });
    await putRaw('no-data', { name: 'x', opts: '{}', timestamp: '1' });
    await putRaw('no-hash', undefined);
    await redis.set(queue.bull.toKey('a-text'), 'hello');
    await redis.lpush(queue.bull.toKey('wait'), 'a-text');
    await queue.add([LAST]);
    expect(await workUntilLast()).toEqual([LAST]);
  });

  test('in the failed set they are dropped, and the others are read', async () => {
    await putFailed('bad-json', { data: '{nope', failedReason: 'x' });
    await putFailed('too-much', {
      data: JSON.stringify({ ...DAY, failure: { code: 'a', message: longName } }),
    });
    await putFailed('slash', { data: JSON.stringify({ ...DAY, vessel: 'a/b' }), failedReason: 'x' });
    await putFailed('no-hash', undefined);
    await putFailed(ID, {
      data: JSON.stringify(DAY),
      failedReason: `${hostileNames.all}${'x'.repeat(5_000)}`,
    });
    const failure = { code: 'bad-record', message: hostileNames.all };
    const other = { ...DAY, date: '2026-01-06', failure };
    await putFailed(`${ID.slice(0, -1)}6`, { data: JSON.stringify(other), failedReason: 'x' });
    const letters = await queue.deadLetters();
    expect(letters.map(({ day, code }) => [day.date, code]).sort()).toEqual([
      ['2026-01-05', 'unknown'],
      ['2026-01-06', 'bad-record'],
    ]);
    for (const { message, queued } of letters) {
      expect(unseenIn(message + (queued.failure?.message ?? ''))).toEqual([]);
      expect(message.length).toBeLessThanOrEqual(2_000);
    }
    expect(errors.map(({ fields }) => fields.queueJob).sort()).toEqual(['bad-json', 'slash', 'too-much']);
    expect(await redis.exists(...['bad-json', 'slash', 'too-much'].map((id) => queue.bull.toKey(id)))).toBe(
      0,
    );
    expect(await queue.deadLetters()).toHaveLength(2);
  });

  async function putFailed(id: string, fields: Readonly<Record<string, string>> | undefined): Promise<void> {
    if (fields !== undefined) await redis.hset(queue.bull.toKey(id), { name: 'x', opts: '{}', ...fields });
    await redis.zadd(queue.bull.toKey('failed'), 1, id);
  }

  test('what waits is withdrawn although some of it is forged', async () => {
    await putRaw('bad-json', { name: 'x', data: '{nope', opts: '{}', timestamp: '1' });
    await queue.bull.add('backfill', { ...DAY, kind: 'backfill', vessel: longName }, { jobId: 'forged' });
    await queue.add([{ ...DAY, kind: 'backfill' }]);
    expect(await queue.withdraw(({ kind }) => kind === 'backfill')).toBe(1);
    expect(await queue.depth()).toMatchObject({ waiting: 0, prioritized: 0 });
    expect(errors.map(({ fields }) => fields.queueJob).sort()).toEqual(['bad-json', 'forged']);
  });

  test.for([
    ['no JSON', '{nope'],
    ['a number', '5'],
    [
      'a code for a terminal',
      JSON.stringify({ code: hostileNames.all, message: 'm', host: 'h', sinceMs: 1 }),
    ],
    ['nothing of a hold', '{}'],
  ])('a hold that is %s is a hold all the same, and can be lifted', async ([, text]) => {
    const hold = queue.hold;
    await hold.place({ code: 'disk-full', message: 'm', host: 'h', sinceMs: 1 });
    await redis.hset(queue.bull.toKey('meta'), 'vessel-export:hold', text!);
    expect(await hold.read()).toEqual({
      code: 'unknown',
      message: 'its reason cannot be read',
      host: null,
      sinceMs: null,
    });
    expect(await hold.lift()).toBe(true);
    expect(await hold.read()).toBeUndefined();
  });

  test('the texts of a hold are cleaned and bounded', async () => {
    const hold = queue.hold;
    await hold.place({ code: 'disk-full', message: longName, host: hostileNames.all, sinceMs: 1 });
    const { message, host } = (await hold.read())!;
    expect(unseenIn(message + host)).toEqual([]);
    expect(message.length).toBeLessThan(LONG_NAME_CHARS / 100);
  });
});
