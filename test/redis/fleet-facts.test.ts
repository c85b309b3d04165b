/** What processes of a fleet tell each other, by a real Redis and a clock of one's own. */
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRedis } from '../../src/redis/connection.ts';
import type { FactName, FleetReport } from '../../src/redis/fleet-facts.ts';
import { ALIVE_MS, createFleetReporter, lookAtFleet, REQUEST_SLICE_MS } from '../../src/redis/fleet-facts.ts';
import type { ProcessFacts } from '../../src/redis/fleet-shapes.ts';
import { SharedConcurrencyLimit } from '../../src/redis/shared-concurrency-limit.ts';
import { SharedRateLimit } from '../../src/redis/shared-rate-limit.ts';
import { hostileNames, longName, unseenIn } from '../helpers/hostile-text.ts';
import { redisForTests } from '../helpers/redis.ts';
import { type RedisTime, startRedisTime, type TestProcess } from './redis-time.ts';

const server = await redisForTests();
const raw = server && (await openRedis(server.url));

const WORKER: ProcessFacts = {
  role: 'worker',
  host: 'north',
  pid: 7,
  version: '1.2.3',
  upMs: 60_000,
  active: 1,
  atOnce: 4,
  leads: null,
  running: [
    {
      job: 'measurements',
      vessel: 'IMO9321483',
      date: '2026-01-05',
      kind: 'nightly',
      forMs: 4_000,
      rows: 1_000,
      rowsKnown: 3_000,
      rowsPerSecond: 250,
      step: 'fetching',
    },
  ],
};
const PLANNED = { lookedMs: 1, missing: 1, oldestMissing: null, failed: null, refused: null };
const COUNTS = { requests: 3, limited: 1, retries: 1, errors: 0 };
const NAMES = { credential: 'c0ffee', group: 'default:c0ffee' };

describe.skipIf(server === undefined)('what the fleet knows of itself', () => {
  let prefix: string;
  let time: RedisTime;
  let redis: Redis;

  beforeEach(async () => {
    prefix = server!.newPrefix();
    time = await startRedisTime(server!.url, prefix);
    redis = raw!.client;
  });
  afterEach(() => time.close());
  afterAll(async () => {
    await raw!.close();
    await server!.stop();
  });

  const reporterOf = ({ connection }: TestProcess) =>
    createFleetReporter({ connection, prefix, redisNow: time.redisNow });
  const report = (more: Partial<FleetReport> = {}): FleetReport => ({
    process: WORKER,
    facts: [],
    ...more,
  });
  const look = (names: readonly FactName[] = []) =>
    lookAtFleet({ connection: raw!, prefix, redisNow: time.redisNow, limits: NAMES }, names);
  const sum = (steps: readonly { readonly requests: number }[]) =>
    steps.reduce((all, { requests }) => all + requests, 0);

  test('two processes are seen with all they say, and each one a while after it has fallen silent', async () => {
    const [one, other] = [await time.openProcess(), await time.openProcess()];
    await reporterOf(one).send(report());
    const alive = reporterOf(other);
    const scheduler = { ...WORKER, role: 'scheduler', leads: true, active: null, atOnce: null } as const;
    await alive.send(report({ process: { ...scheduler, running: [] } }));
    await time.passTime(10_000);
    expect((await look()).processes).toEqual(
      expect.arrayContaining([
        { ...WORKER, agoMs: 10_000 },
        { ...scheduler, running: [], agoMs: 10_000 },
      ]),
    );
    await one.die();
    await time.passTime(ALIVE_MS - 10_000);
    await alive.send(report({ process: scheduler }));
    await time.passTime(1);
    expect((await look()).processes.map(({ role }) => role)).toEqual(['scheduler']);
    await alive.send(report({ isLeaving: true }));
    expect((await look()).processes).toEqual([]);
  });

  test('a clock of Redis that is set back shows no dead process for longer', async () => {
    const [one, other] = [await time.openProcess(), await time.openProcess()];
    await reporterOf(one).send(report());
    await time.stepRedis(-3_600_000);
    await reporterOf(other).send(report({ process: { ...WORKER, pid: 8 } }));
    expect((await look()).processes.map(({ pid }) => pid)).toEqual([8]);
    expect(await redis.zcard(`${prefix}:fleet:seen`)).toBe(1);
  });

  test('requests of many processes at once are counted exactly, by steps of ten minutes', async () => {
    const reporters = await Promise.all(
      Array.from({ length: 6 }, async () => reporterOf(await time.openProcess())),
    );
    const send = async () => {
      for (let round = 0; round < 20; round++)
        await Promise.all(reporters.map((each) => each.send(report({ counts: COUNTS }))));
    };
    await send();
    await time.passTime(REQUEST_SLICE_MS);
    await send();
    const { requests, nowMs } = await look();
    const each = { requests: 360, limited: 120, retries: 120, errors: 0 };
    const last = Math.floor(nowMs / REQUEST_SLICE_MS) * REQUEST_SLICE_MS;
    expect(requests).toEqual([
      { fromMs: last - REQUEST_SLICE_MS, ...each },
      { fromMs: last, ...each },
    ]);
    await time.passTime(144 * REQUEST_SLICE_MS);
    expect((await look()).requests).toEqual([]);
  });

  test('a report whose answer was lost is counted once', async () => {
    const { connection } = await time.openProcess();
    let isLost = true;
    const run: typeof connection.run = async (...call) => {
      const answer = await connection.run(...call);
      if (isLost) throw new Error('the connection broke');
      return answer;
    };
    const reporter = createFleetReporter({ connection: { run }, prefix, redisNow: time.redisNow });
    await expect(reporter.send(report({ counts: COUNTS }))).rejects.toThrow('broke');
    isLost = false;
    await reporter.send(report({ counts: COUNTS }));
    expect(sum((await look()).requests)).toBe(3);
    await reporter.send(report({ counts: COUNTS }));
    expect(sum((await look()).requests)).toBe(6);
  });

  test('what is old goes, and everything runs out', async () => {
    const reporter = reporterOf(await time.openProcess());
    await redis.hset(
      `${prefix}:fleet:requests`,
      Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`${n}:requests`, 1])),
    );
    await reporter.send(report({ counts: COUNTS }));
    expect(await redis.hlen(`${prefix}:fleet:requests`)).toBe(3);
    const facts = [{ kind: 'planned', of: 'x', value: {} }] as const;
    await reporter.send(report({ facts }));
    for (const end of ['seen', 'reports', 'requests', 'facts'])
      expect(await redis.pttl(`${prefix}:fleet:${end}`), end).toBeGreaterThan(0);
  });

  test('processes that come and go without farewell are bounded', async () => {
    const connection = (await time.openProcess()).connection;
    for (let n = 0; n < 1_150; n++)
      await createFleetReporter({ connection, prefix, redisNow: time.redisNow }).send(report());
    expect(await redis.zcard(`${prefix}:fleet:seen`)).toBeLessThanOrEqual(1_001);
    expect((await look()).processes).toHaveLength(200);
  });

  test('facts of jobs and backfills are told, changed and dropped', async () => {
    const reporter = reporterOf(await time.openProcess());
    const planned = { lookedMs: 5, missing: 2, oldestMissing: '2026-01-05', failed: 1, refused: null };
    const backfill = { due: 9, done: 3, failed: 1, queued: 5, vesselDaysPerHour: 12.5, secondsLeft: 1_440 };
    await reporter.send(
      report({
        facts: [
          { kind: 'planned', of: 'measurements', value: planned },
          { kind: 'backfill', of: 'b-1', value: backfill },
        ],
      }),
    );
    await time.passTime(7_000);
    const names: FactName[] = [
      { kind: 'planned', of: 'measurements' },
      { kind: 'backfill', of: 'b-1' },
      { kind: 'look-back', of: 'measurements' },
    ];
    const seen = await look(names);
    expect(seen.fact('planned', 'measurements')).toEqual({ fact: planned, agoMs: 7_000 });
    expect(seen.fact('backfill', 'b-1')).toEqual({ fact: backfill, agoMs: 7_000 });
    expect(seen.fact('look-back', 'measurements')).toBeUndefined();
    await reporter.send(report({ facts: [{ kind: 'backfill', of: 'b-1', value: null }] }));
    expect((await look(names)).fact('backfill', 'b-1')).toBeUndefined();
  });

  test('the limits are seen as they are: lowered, held, in flight, and grown again', async () => {
    const { connection, clock } = await time.openProcess();
    const common = { connection, prefix, clock, random: () => 0, redisNow: time.redisNow };
    const rateLimit = new SharedRateLimit({ ...common, group: NAMES.group, perMinute: 600 });
    const limit = new SharedConcurrencyLimit({
      ...common,
      ...{ credential: NAMES.credential, limit: 8, rateLimit, settleMs: 0 },
    });
    const [slot] = await Promise.all([limit.acquire(), rateLimit.take()]);
    await time.settle();
    expect((await look()).limits).toEqual({
      concurrency: undefined,
      concurrencySetting: 8,
      inFlight: 1,
      holdMs: 0,
      pace: undefined,
      paceSetting: 600,
    });
    limit.limited(20_000);
    rateLimit.slowDown();
    await time.settle();
    expect((await look()).limits).toMatchObject({ concurrency: 4, inFlight: 1, holdMs: 20_000, pace: 300 });
    await time.passTime(15_000);
    expect((await look()).limits).toMatchObject({ concurrency: 4, holdMs: 5_000 });
    await time.passTime(15_000);
    // As the limit itself reckons.
    expect((await look()).limits).toMatchObject({ concurrency: limit.current, holdMs: 0, pace: 375 });
    expect(limit.current).toBe(5);
    slot.release();
    await time.settle();
    expect((await look()).limits.inFlight).toBe(0);
    await limit.close();
    await rateLimit.close();
  });

  const KEYS = ['fleet:seen', 'fleet:reports', 'fleet:requests', 'fleet:facts'];
  const LIMIT_KEYS = [
    ...['state', 'seen', 'limits', 'leases'].map((end) => `cap:{${NAMES.credential}}:${end}`),
    ...['state', 'seen', 'limits'].map((end) => `pace:{${NAMES.group}}:${end}`),
  ];
  const TYPES: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
    'a text': (key) => redis.set(key, longName),
    'a list': (key) => redis.rpush(key, hostileNames.all, 'x'),
    'a set': (key) => redis.sadd(key, hostileNames.all),
    'a sorted set': (key) => redis.zadd(key, 1e300, hostileNames.all, '-inf', 'x', '+inf', longName),
    'a hash': (key) => redis.hset(key, { [hostileNames.all]: longName, server: '', current: 'NaN' }),
    'a stream': (key) => redis.xadd(key, '*', 'a', 'b'),
  };

  test.for(Object.keys(TYPES))('%s in the place of every key harms nobody', async (type) => {
    for (const key of [...KEYS, ...LIMIT_KEYS]) await TYPES[type]!(`${prefix}:${key}`);
    const before = await look([{ kind: 'planned', of: 'measurements' }]);
    expect(before.processes).toEqual([]);
    expect(before.requests).toEqual([]);
    const reporter = reporterOf(await time.openProcess());
    await reporter.send(report({ counts: COUNTS }));
    const after = await look();
    expect(after.processes).toEqual([{ ...WORKER, agoMs: 0 }]);
    expect(sum(after.requests)).toBe(3);
    expect(after.limits).toMatchObject({ inFlight: expect.any(Number), holdMs: 0 });
  });

  test.for([
    ['no JSON', '{nope'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a prototype', '{"__proto__":{"role":"worker"}}'],
    ['another role', JSON.stringify({ ...WORKER, role: 'admin' })],
    ['a negative age', JSON.stringify({ ...WORKER, upMs: -1 })],
    ['an age without end', JSON.stringify({ ...WORKER, upMs: 1e300 })],
    ['a pid that is none', JSON.stringify({ ...WORKER, pid: '1;rm' })],
    ['a vessel-day that leaves its folder', withRunning({ vessel: '../../x' })],
    ['a job with markup', withRunning({ job: '<img src=x onerror=alert(1)>' })],
    ['a day that there is not', withRunning({ date: '2026-02-30' })],
    ['rows that are none', withRunning({ rows: 'many' })],
    ['a kind of two lines', withRunning({ kind: 'a\nb' })],
    ['too many vessel-days', JSON.stringify({ ...WORKER, running: Array(201).fill(WORKER.running[0]) })],
    ['too much', JSON.stringify({ ...WORKER, host: longName })],
  ])('a report with %s is as if it were not there', async ([, text]) => {
    await reporterOf(await time.openProcess()).send(report());
    await redis.zadd(`${prefix}:fleet:seen`, Number(await redis.get(`${prefix}:now`)), 'forged');
    await redis.hset(`${prefix}:fleet:reports`, 'forged', text!);
    expect((await look()).processes.map(({ pid }) => pid)).toEqual([7]);
  });

  test('names with control characters come out clean', async () => {
    const process = { ...WORKER, host: hostileNames.all, version: hostileNames.escape };
    await reporterOf(await time.openProcess()).send(report({ process }));
    const [seen] = (await look()).processes;
    expect(unseenIn(`${seen!.host}${seen!.version}`)).toEqual([]);
    expect(seen!.host).toContain('click');
  });

  test.for([
    ['no time before it', JSON.stringify(PLANNED)],
    ['no JSON', '5 {nope'],
    ['too much', `5 ${JSON.stringify({ ...PLANNED, x: longName })}`],
    ['another shape', `5 ${JSON.stringify({ ...PLANNED, lookedMs: '1' })}`],
    ['a date with a path', `5 ${JSON.stringify({ ...PLANNED, oldestMissing: '2026-01-05/..' })}`],
  ])('a fact with %s is as if it were not there', async ([, text]) => {
    await redis.hset(`${prefix}:fleet:facts`, 'planned/measurements', text!);
    const name = { kind: 'planned', of: 'measurements' } as const;
    expect((await look([name])).fact('planned', 'measurements')).toBeUndefined();
  });

  test('a count that is none counts as none, and is replaced', async () => {
    const reporter = reporterOf(await time.openProcess());
    await reporter.send(report({ counts: COUNTS }));
    const [field] = (await redis.hkeys(`${prefix}:fleet:requests`)).filter((each) => /:requests$/.test(each));
    for (const forged of [hostileNames.all, '-5', '1e99', longName]) {
      await redis.hset(`${prefix}:fleet:requests`, field!, forged);
      expect(sum((await look()).requests), forged.slice(0, 20)).toBe(0);
    }
    await reporter.send(report({ counts: COUNTS }));
    expect(sum((await look()).requests)).toBe(3);
  });
});

function withRunning(change: object): string {
  return JSON.stringify({ ...WORKER, running: [{ ...WORKER.running[0], ...change }] });
}
