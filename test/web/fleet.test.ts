/** What the page is told of the fleet: by processes that really work, of a Redis that may be away or full of anything. */
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { backfillCommand } from '../../src/cli/commands/backfill.ts';
import { reconcileCommand } from '../../src/cli/commands/reconcile.ts';
import { runCommand } from '../../src/cli/commands/run.ts';
import { scheduleCommand } from '../../src/cli/commands/schedule.ts';
import { workerCommand } from '../../src/cli/commands/worker.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import { KINDS_COUNTED_AT_MOST } from '../../src/fleet/queue/queued-day.ts';
import type { Backfill } from '../../src/lake/backfills.ts';
import { backfillKey } from '../../src/lake/keys.ts';
import type { FleetAnswer } from '../../src/web/answers.ts';
import { registerFleet } from '../../src/web/fleet.ts';
import { WebError } from '../../src/web/web-error.ts';
import { defineBackfill } from '../helpers/backfills.ts';
import { hostileNames, longName, unseenIn } from '../helpers/hostile-text.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { canStartOwnRedis, redisForTests, startOwnRedis } from '../helpers/redis.ts';
import { DATE, VESSEL } from '../helpers/run.ts';
import { FLEET_OVERRIDES, learned, openTestFleet, type TestFleet } from './fleet-bench.ts';

const server = await redisForTests();
const isOwnPossible = canStartOwnRedis();
afterAll(() => server?.stop());
const DAY = { job: 'measurements', vessel: VESSEL, date: DATE, kind: 'nightly' } as const;
const BACKFILL: Backfill = {
  ...{ backfillVersion: 1, id: 'b-1', job: 'measurements', from: '2026-01-01', to: '2026-02-01' },
  ...{ vessels: [], allowShrink: false, paused: false, createdAt: '2026-02-01T00:00:00.000Z' },
};

async function serve({ ports }: Pick<TestFleet, 'ports'>): Promise<FastifyInstance> {
  const api = fastify();
  api.setErrorHandler(async (error, _request, reply) => {
    const isOurs = error instanceof WebError;
    return reply
      .code(isOurs ? error.status : 500)
      .send({ error: { code: isOurs ? error.code : 'internal', message: (error as Error).message } });
  });
  registerFleet(api, ports);
  await api.ready();
  return api;
}

test('a page that is served from the lake alone says that there is no fleet', async () => {
  const api = await serve({ ports: {} as TestFleet['ports'] });
  const answer = await api.inject('/fleet');
  expect(answer.statusCode).toBe(404);
  expect(answer.json().error).toMatchObject({ code: 'no-fleet', message: expect.stringContaining('lake') });
});

describe.skipIf(server === undefined)('the fleet', () => {
  let prefix: string;
  let fleet: TestFleet;
  let api: FastifyInstance;

  beforeEach(async () => {
    prefix = server!.newPrefix();
    fleet = await openTestFleet({ redisUrl: server!.url, prefix });
    api = await serve(fleet);
  });
  afterEach(async () => {
    await api.close();
    await fleet[Symbol.asyncDispose]();
  });

  const ask = async (): Promise<FleetAnswer> => {
    const answer = await api.inject('/fleet');
    expect(answer.statusCode, answer.body).toBe(200);
    return answer.json();
  };
  /** Asks until it is so. */
  const askUntil = async (isSo: (answer: FleetAnswer) => boolean, interval = 50): Promise<FleetAnswer> => {
    let last: FleetAnswer | undefined;
    await expect
      .poll(
        async () => {
          last = await ask();
          return isSo(last) || last;
        },
        { interval },
      )
      .toBe(true);
    return last!;
  };

  test('without processes it says what is missing, and how to start it', async () => {
    const answer = await ask();
    expect(answer).toMatchObject({
      hold: null,
      running: [],
      processes: [],
      backfills: [],
      lookBacks: [],
      limits: { concurrency: { now: 4, setting: 4, inFlight: 0 }, pace: null, holdUntilMs: null },
      planned: [{ job: 'measurements', hasSchedule: true, missing: null, failed: null }],
    });
    expect(answer.queue).toEqual([
      { kind: 'nightly', waiting: 0, delayed: 0, failed: 0 },
      { kind: 'reconcile', waiting: 0, delayed: 0, failed: 0 },
      { kind: 'backfill', waiting: 0, delayed: 0, failed: 0 },
    ]);
    expect(answer.notes).toEqual([
      "No worker is connected: start one with 'vessel-export worker'.",
      "No scheduler is connected, so that nothing is planned: start one with 'vessel-export schedule'.",
    ]);
    expect(answer.requests).toHaveLength(144);
    expect(answer.requests[143]!.fromMs - answer.requests[0]!.fromMs).toBe(143 * 600_000);
  });

  test('a vessel-day at work is seen with rows rising to those that the source knows, and then is gone', async () => {
    fleet.holdAfter(2);
    await fleet.startWorker();
    await fleet.fleet.queue.add([DAY]);
    // Between two requests none is in flight: the one that is not answered yet is, for as long as it takes.
    const first = await askUntil(
      ({ running, limits }) => (running[0]?.rows ?? 0) > 0 && (limits.concurrency.inFlight ?? 0) > 0,
    );
    const [one] = first.running;
    expect(one).toMatchObject({ ...DAY, step: 'fetching', host: 'north', pid: 7 });
    expect(one!.rowsKnown).toBeGreaterThan(one!.rows!);
    expect(one!.startedMs).toBeLessThanOrEqual(first.readAtMs);
    expect(first.processes).toEqual([
      {
        ...{ role: 'worker', host: 'north', pid: 7, version: fleet.ports.version, leads: null },
        ...{ active: 1, atOnce: 2, startedMs: expect.any(Number), seenMs: expect.any(Number) },
      },
    ]);
    const second = await askUntil(({ running }) => {
      fleet.holdAfter(1);
      return (running[0]?.rows ?? 0) > one!.rows!;
    }, 500);
    expect(second.running[0]!.rowsKnown).toBe(one!.rowsKnown);
    fleet.release();
    const last = await askUntil(({ running }) => running.length === 0);
    // Of those for a token nobody counts.
    const asked = fleet.service.requests.filter(({ family }) => family !== 'token').length;
    const told = ({ requests }: FleetAnswer) => requests.reduce((sum, each) => sum + each.requests, 0);
    expect(told(await askUntil((answer) => told(answer) >= asked))).toBe(asked);
    const receipt = await fleet.ports.store.get(`_ledger/measurements/date=${DATE}/vessel=${VESSEL}.json`);
    expect(JSON.parse(String(receipt && Buffer.from(receipt.bytes))).rows).toBe(one!.rowsKnown);
    expect(last.notes.join()).toContain('No scheduler');
  });

  test('a process that stops is gone at once, and a hold is told with its reason', async () => {
    const { stop } = await fleet.startWorker();
    await askUntil(({ processes }) => processes.length === 1);
    await stop();
    await askUntil(({ processes }) => processes.length === 0);
    const hold = fleet.fleet.queue.hold;
    const fault = {
      code: 'credentials-refused',
      message: 'refused by the service',
      host: 'north',
      sinceMs: 5,
    };
    await hold.place(fault);
    expect((await askUntil((answer) => answer.hold !== null)).hold).toEqual(fault);
    await hold.lift();
    await askUntil((answer) => answer.hold === null);
    await fleet.fleet.queue.bull.pause();
    const paused = await askUntil((answer) => answer.hold !== null);
    expect(paused.hold).toMatchObject({ code: 'paused', host: null, sinceMs: null });
  });

  test('what the scheduler that plans learned is told by any other process', async () => {
    await using scheduler = await fleet.startTelling('scheduler');
    const { news } = scheduler;
    await defineBackfill(fleet.ports.store, BACKFILL);
    news.onEvent({ kind: 'lead', leads: true });
    news.onEvent(learned.missing(12, '2026-01-03'));
    news.onEvent(learned.failed(2, 1));
    news.onEvent(learned.lookedBack({ changed: 3, unchanged: 11 }, '2026-01-01', '2026-01-15'));
    news.onEvent({
      kind: 'backfill',
      id: 'b-1',
      progress: {
        due: 31,
        done: 9,
        failed: 2,
        queued: 5,
        left: 15,
        finished: false,
        troubles: [],
      },
    });
    const answer = await askUntil(({ backfills }) => backfills[0]?.done === 9);
    expect(answer.processes).toMatchObject([{ role: 'scheduler', leads: true, active: null, atOnce: null }]);
    expect(answer.planned).toEqual([
      {
        ...{ job: 'measurements', hasSchedule: true, missing: 12, oldestMissing: '2026-01-03' },
        ...{ failed: 2, refused: 1, lookedMs: expect.any(Number) },
      },
    ]);
    expect(answer.lookBacks).toMatchObject([
      { job: 'measurements', from: '2026-01-01', found: { changed: 3 } },
    ]);
    const told = { id: 'b-1', due: 31, done: 9, failed: 2, queued: 5, paused: false };
    expect(answer.backfills).toMatchObject([{ ...told, vesselDaysPerHour: null, secondsLeft: null }]);
    await defineBackfill(fleet.ports.store, { ...BACKFILL, paused: true });
    const paused = await askUntil(({ backfills }) => backfills[0]?.paused === true);
    expect(paused.backfills).toMatchObject([{ id: 'b-1', done: 9, queued: null, vesselDaysPerHour: null }]);
  });

  test('a backfill that cannot be read is told, and the others are', async () => {
    await defineBackfill(fleet.ports.store, BACKFILL);
    await fleet.ports.store.put(backfillKey('b-2'), Buffer.from('{"backfillVersion":2}'));
    const answer = await ask();
    expect(answer.backfills.map(({ id }) => id)).toEqual(['b-1']);
    expect(answer.notes[0]).toMatch(/^A backfill cannot be read.*b-2/);
  });

  test('the queue is counted by kind, and no further than a bound, whatever stands in it', async () => {
    const { queue } = fleet.fleet;
    const days = (kind: 'nightly' | 'reconcile' | 'backfill', count: number, year: number) =>
      Array.from({ length: count }, (_, n) => ({
        ...DAY,
        kind,
        date: new Date(Date.UTC(year, 0, 1 + n)).toISOString().slice(0, 10),
      }));
    await queue.add([
      ...days('nightly', 3, 2020),
      ...days('reconcile', 2, 2021),
      ...days('backfill', 5, 2022),
    ]);
    const { bull } = queue;
    const delayed = days('backfill', KINDS_COUNTED_AT_MOST + 7, 2010);
    await bull.addBulk(delayed.map((data) => ({ name: data.kind, data, opts: { delay: 3_600_000 } })));
    const raw = fleet.fleet.connection.client;
    await raw.zadd(bull.toKey('failed'), 1, 'gone', 2, hostileNames.all, 3, 'of-another-type', 4, 'long');
    await raw.set(bull.toKey('of-another-type'), 'x');
    await raw.hset(bull.toKey('long'), 'name', longName);
    const answer = await ask();
    expect(answer.queue).toEqual([
      { kind: 'nightly', waiting: 3, delayed: 0, failed: 0 },
      { kind: 'reconcile', waiting: 2, delayed: 0, failed: 0 },
      { kind: 'backfill', waiting: 5, delayed: KINDS_COUNTED_AT_MOST, failed: 0 },
      { kind: 'other', waiting: 0, delayed: 7, failed: 4 },
    ]);
    expect(answer.notes.join()).toContain(`The kinds of ${KINDS_COUNTED_AT_MOST} delayed`);
  });

  test('whatever stands in the keys of the fleet, the answer is whole, and shows none of it', async () => {
    const raw = fleet.fleet.connection.client;
    const evil = `<script>alert(1)</script>${hostileNames.all}`;
    await defineBackfill(fleet.ports.store, BACKFILL);
    const report = {
      ...{ role: 'worker', host: evil, pid: 1, version: evil, upMs: 1, active: 1, atOnce: 1, leads: null },
      running: [{ ...DAY, forMs: 1, rows: 1, rowsKnown: 1, rowsPerSecond: 1, step: evil }],
    };
    const [seconds] = await raw.time();
    await raw.zadd(`${prefix}:fleet:seen`, Number(seconds) * 1_000, 'a', Number(seconds) * 1_000, 'b');
    await raw.hset(`${prefix}:fleet:reports`, {
      a: JSON.stringify(report),
      b: JSON.stringify({ ...report, running: [] }),
    });
    await raw.hset(`${prefix}:fleet:facts`, {
      'planned/measurements': `1 ${JSON.stringify({ missing: evil })}`,
      'look-back/measurements': `1 ${JSON.stringify({ endedMs: 1, from: DATE, to: DATE, found: { [evil]: 1 } })}`,
      'backfill/b-1': `1 ${longName}`,
    });
    await raw.set(`${prefix}:fleet:requests`, longName);
    const forged = JSON.stringify({ code: evil, message: evil });
    await raw.hset(fleet.fleet.queue.bull.toKey('meta'), { paused: 1, 'vessel-export:hold': forged });
    const { body } = await api.inject('/fleet');
    const answer = JSON.parse(body) as FleetAnswer;
    expect(answer.hold).toMatchObject({ code: 'unknown', message: 'its reason cannot be read' });
    expect(answer.running).toEqual([]);
    // A host may be called so; who shows it sets it as text.
    expect(answer.processes).toHaveLength(1);
    expect(unseenIn(JSON.parse(JSON.stringify(answer.processes[0]!.host)))).toEqual([]);
    expect(answer.lookBacks).toEqual([]);
    expect(answer.planned[0]).toMatchObject({ missing: null });
    expect(answer.backfills[0]).toMatchObject({ done: null });
    expect(answer.requests.every(({ requests }) => requests === 0)).toBe(true);
    expect(body.length).toBeLessThan(30_000);
    const { clientId, clientSecret } = fleet.service;
    for (const secret of [clientId, clientSecret, server!.url]) expect(body).not.toContain(secret);
  });

  test('many who ask at once are one look', async () => {
    const { connection } = fleet.fleet;
    let looks = 0;
    const run: typeof connection.run = (...call) => {
      looks++;
      return connection.run(...call);
    };
    const counted = await serve({
      ports: {
        ...fleet.ports,
        clock: systemClock,
        fleet: { ...fleet.fleet, connection: { ...connection, run } },
      },
    });
    const answers = await Promise.all(Array.from({ length: 50 }, () => counted.inject('/fleet')));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(looks);
    // One, and another where asking fifty times takes more than a second.
    expect(looks).toBeLessThan(10);
    await counted.close();
  });
});

/** What commands are called with, and how they are stopped. */
function commandContext({ env }: TestFleet) {
  const stop = new AbortController();
  const screen = { write: () => true } as unknown as NodeJS.WriteStream;
  return { stop, context: { env, stdout: screen, stderr: screen, signal: stop.signal } };
}

test.skipIf(server === undefined)('the commands schedule and worker tell what they do', async () => {
  const today = new Date().toISOString().slice(0, 10);
  const everyMinute = { cron: '* * * * *', timezone: 'UTC' };
  const job = {
    ...{
      dataset: 'measurements',
      vessels: [VESSEL],
      select: ['flat/{vessel}/S*'],
      since: addDays(today, -2),
    },
    ...{ schedule: { ...everyMinute, settle: '1m' }, reconcile: { ...everyMinute, lookback: '2d' } },
  };
  const options = { redisUrl: server!.url, prefix: server!.newPrefix(), jobs: { measurements: job } };
  await using fleet = await openTestFleet({ ...options, env: { HTTP_PORT: '0' } });
  const api = await serve(fleet);
  const until = async (isSo: (answer: FleetAnswer) => boolean) => {
    const look = async () => {
      const answer: FleetAnswer = (await api.inject('/fleet')).json();
      return isSo(answer) || { ...answer, requests: [] };
    };
    // The scheduler looks at each minute.
    await expect.poll(look, { interval: 100 }).toBe(true);
  };
  await defineBackfill(fleet.ports.store, { ...BACKFILL, from: '2026-01-05', to: '2026-01-07' });
  fleet.holdAfter(0);
  const { stop, context } = commandContext(fleet);
  const commands = [
    scheduleCommand(context, {}, FLEET_OVERRIDES, 300),
    workerCommand(context, FLEET_OVERRIDES),
  ];
  try {
    await until(({ processes, running, planned, backfills }) => {
      const [scheduler, worker] = processes;
      return (
        scheduler?.leads === true &&
        worker?.role === 'worker' &&
        worker.active === 2 &&
        running.some(({ step }) => step === 'fetching') &&
        (planned[0]!.missing ?? 0) > 0 &&
        planned[0]!.failed === 0 &&
        backfills[0]?.due === 2
      );
    });
    fleet.release();
    await until(
      ({ planned, backfills, running, lookBacks, requests }) =>
        // The scheduler looks once a minute at what has become of a night: its backfill is looked at each time.
        planned[0]!.lookedMs !== null &&
        backfills.length === 0 &&
        running.length === 0 &&
        lookBacks[0]?.job === 'measurements' &&
        requests.some((step) => step.requests > 0),
    );
  } finally {
    stop.abort();
    expect(await Promise.all(commands)).toEqual([0, 0]);
  }
  await until(({ processes }) => processes.length === 0);
  await api.close();
});

test.skipIf(server === undefined)(
  'a run, and a reconcile that exports, tells what it does while it lasts, and a backfill that is followed how far it is',
  async () => {
    const options = { redisUrl: server!.url, prefix: server!.newPrefix() };
    await using fleet = await openTestFleet({ ...options, env: { WORKER_CONCURRENCY: '1' } });
    const api = await serve(fleet);
    const seen = async () => (await api.inject('/fleet')).json() as FleetAnswer;
    const { stop, context } = commandContext(fleet);
    const range = { from: '2026-01-05', to: '2026-01-07' };
    const look = { interval: 100 };
    try {
      fleet.holdAfter(1);
      const running = runCommand(context, [], { ...range, vessel: [VESSEL] }, FLEET_OVERRIDES);
      await expect.poll(async () => (await seen()).running[0]?.rows ?? 0, look).toBeGreaterThan(0);
      const { running: days, processes } = await seen();
      expect(days).toMatchObject([{ vessel: VESSEL, kind: 'run', step: 'fetching', pid: process.pid }]);
      expect(processes).toMatchObject([{ role: 'run', active: 1, atOnce: 1, leads: null }]);
      fleet.release();
      expect(await running).toBe(0);
      // One look is shared for a second.
      await expect.poll(async () => (await seen()).processes, look).toEqual([]);
      const after = await seen();
      expect(after.running).toEqual([]);
      expect(after.requests.reduce((sum, { requests }) => sum + requests, 0)).toBeGreaterThan(0);

      fleet.holdAfter(1);
      const fix = { from: '2026-01-07', to: '2026-01-08', vessel: [VESSEL], run: true };
      const reconciling = reconcileCommand(context, [], fix, FLEET_OVERRIDES);
      await expect.poll(async () => (await seen()).running[0]?.rows ?? 0, look).toBeGreaterThan(0);
      const fixing = await seen();
      expect(fixing.running).toMatchObject([{ date: '2026-01-07', kind: 'reconcile', pid: process.pid }]);
      expect(fixing.processes).toMatchObject([{ role: 'run', active: 1 }]);
      fleet.release();
      expect(await reconciling).toBe(0);
      await expect.poll(async () => (await seen()).processes, look).toEqual([]);

      // Nobody works: what is due of it stays in the queue.
      const wider = { from: '2026-01-05', to: '2026-01-09', vessel: [VESSEL] };
      const following = backfillCommand(context, 'measurements', wider, FLEET_OVERRIDES, 300);
      await expect.poll(async () => (await seen()).backfills[0]?.due, look).toBe(4);
      const followed = await seen();
      expect(followed.backfills).toMatchObject([{ due: 4, done: 3, failed: 0, queued: 1 }]);
      expect(followed.processes).toMatchObject([{ role: 'backfill', active: null, atOnce: null }]);
      stop.abort();
      await expect(following).rejects.toThrow('interrupted');
      await expect.poll(async () => (await seen()).processes, look).toEqual([]);
    } finally {
      await api.close();
    }
  },
);

describe.skipIf(!isOwnPossible)('a Redis that is not there', () => {
  test('is said within two seconds, frozen or killed, and fixed by its return', async () => {
    await using redis = await startOwnRedis();
    const fleet = await openTestFleet({ redisUrl: redis.url, prefix: 'away' });
    const clock = createManualClock();
    const api = await serve({ ports: { ...fleet.ports, clock } });
    const status = async () => (await api.inject('/fleet')).statusCode;
    const away = async () => {
      const asking = api.inject('/fleet').then((answer) => answer);
      // It may also be known at once that it is away.
      const patience = clock.untilSleeping((delayMs) => delayMs === 2_000).then(() => clock.advance(2_000));
      await Promise.race([asking, patience]);
      const answer = await asking;
      expect(answer.statusCode).toBe(503);
      expect(answer.json().error.code).toBe('redis-away');
      expect(answer.json().error.message).toContain('nothing is lost');
    };
    try {
      expect(await status()).toBe(200);
      redis.freeze();
      // What everybody was told a moment ago is still told.
      expect(await status()).toBe(200);
      await clock.advance(1_000);
      await away();
      await away();
      redis.thaw();
      await expect.poll(status).toBe(200);
      await redis.kill();
      await clock.advance(1_000);
      await away();
      await away();
      await redis.start();
      await expect.poll(status).toBe(200);
    } finally {
      await api.close();
      await fleet[Symbol.asyncDispose]();
    }
  });
});
