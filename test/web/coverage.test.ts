/** The map of a job's vessel-days: what it says is what `status` says, whoever asks and however often. */
import { UnrecoverableError, Worker } from 'bullmq';
import fastify from 'fastify';
import type { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { readJobStatus } from '../../src/audit/status/job-status.ts';
import { codeOf, messageOf } from '../../src/core/errors.ts';
import { addDays, datesBetween, type Job, silentLog } from '../../src/core/model/index.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { QUEUE_NAME } from '../../src/fleet/queue/queued-day.ts';
import { openVesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { indexKey, receiptKey } from '../../src/lake/keys.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { CELL_LETTERS, type CellState, type CoverageAnswer } from '../../src/web/answers.ts';
import { registerCoverage } from '../../src/web/coverage.ts';
import type { WebPorts } from '../../src/web/ports.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import type { MadeUpLedger, MadeUpOptions } from '../helpers/made-up-ledger.ts';
import { MADE_UP_JOB, MADE_UP_JOB_FILE, writeMadeUpFolder } from '../helpers/made-up-ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { canStartOwnRedis, startOwnRedis } from '../helpers/redis.ts';
import { newMemoryFolder } from '../helpers/temp.ts';
import { watchedStore } from '../helpers/watched-store.ts';

const MINUTE_MS = 60_000;

interface Asked {
  readonly status: number;
  readonly body: CoverageAnswer & { readonly code: string; readonly message: string };
}

/** The route on a server of its own; errors as code and message. */
async function serve(store: ObjectStore, nowMs: number, more: Partial<WebPorts> = {}) {
  const clock = createManualClock(nowMs);
  const ports: WebPorts = {
    ...{ store, clock, jobs: [MADE_UP_JOB], log: silentLog, self: thisProcess() },
    ...{ apiVersion: '2026-09-10', version: '0.0.0', ...more },
  };
  const server = fastify();
  server.setErrorHandler(async (error, _request, reply) => {
    const status = (error as { readonly status?: number }).status ?? 400;
    return reply.code(status).send({ code: codeOf(error), message: messageOf(error) });
  });
  await server.register(async (api) => registerCoverage(api, ports));
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as { port: number };
  return {
    ports,
    clock,
    async ask(path = '/jobs/measurements/coverage'): Promise<Asked> {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: answer.status, body: (await answer.json()) as Asked['body'] };
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}

async function madeUpFolder(options: MadeUpOptions) {
  const folder = await newMemoryFolder();
  const made = await writeMadeUpFolder(folder.path, options);
  return { made, store: createLocalStore(folder.path), [Symbol.asyncDispose]: folder.remove };
}

/** The map by vessel and date. */
function cellsOf({ vessels, cells, from, to }: CoverageAnswer): Record<string, CellState> {
  const states = Object.fromEntries(Object.entries(CELL_LETTERS).map(([state, letter]) => [letter, state]));
  const dates = datesBetween(from, to);
  expect(cells).toHaveLength(vessels.length * dates.length);
  return Object.fromEntries(
    vessels.flatMap((vessel, at) =>
      dates.map((date, day) => [`${vessel} ${date}`, states[cells[at * dates.length + day]!] as CellState]),
    ),
  );
}

/** What `status` says of the same vessel-days, in the map's words. */
async function statusCells(ports: WebPorts, job: Job, { from, to }: Pick<CoverageAnswer, 'from' | 'to'>) {
  const vessels = 'discover' in job.vessels ? undefined : job.vessels;
  const status = await readJobStatus(ports, job, { from, to, vessels });
  const cells: Record<string, CellState> = {};
  for (const { day, state } of status.cells) cells[`${day.vessel} ${day.date}`] = state;
  for (const { day } of status.warnings) {
    const name = `${day.vessel} ${day.date}`;
    if (cells[name] === 'published') cells[name] = 'warned';
  }
  return cells;
}

function expectMadeUp(body: CoverageAnswer, made: MadeUpLedger): void {
  const dates = datesBetween(body.from, body.to);
  const expected = body.vessels.flatMap((vessel) =>
    dates.map((date) => [`${vessel} ${date}`, made.stateOf(vessel, date)]),
  );
  expect(cellsOf(body)).toEqual(Object.fromEntries(expected));
}

describe('what a map says', () => {
  test.for([
    { vessels: 12, days: 45 },
    { vessels: 7, days: 31, today: '2024-03-01' },
    { vessels: 120, days: 9, today: '2026-01-04' },
  ])('is what status says of each vessel-day: $vessels vessels, $days days', async (options) => {
    await using lake = await madeUpFolder(options);
    const { made, store } = lake;
    await using map = await serve(store, made.nowMs);
    const { body } = await map.ask();
    expect(body).toMatchObject({ from: made.from, to: made.to, firstDate: expect.any(String) });
    expectMadeUp(body, made);
    expect(cellsOf(body)).toEqual(await statusCells(map.ports, made.job, body));
    expect(body.totals).toEqual(made.totals);
    // Any part of it says the same.
    const [from, to] = [addDays(made.from, Math.floor(options.days / 3)), made.to];
    const part = await map.ask(`/jobs/measurements/coverage?from=${from}&to=${to}`);
    expect(cellsOf(part.body)).toEqual(await statusCells(map.ports, made.job, { from, to }));
  });

  test('sums, troubles and warnings are of these vessel-days', async () => {
    await using lake = await madeUpFolder({ vessels: 60, days: 50 });
    const { made, store } = lake;
    await using map = await serve(store, made.nowMs);
    const { body } = await map.ask();
    const cells = Object.entries(cellsOf(body));
    const named = (states: readonly CellState[]) =>
      cells.filter(([, state]) => states.includes(state)).map(([name]) => name);
    const nameOf = ({ vessel, date }: { vessel: string; date: string }) => `${vessel} ${date}`;
    expect(body.troubles.map(nameOf).sort()).toEqual(named(['failed', 'refused', 'waiting']).sort());
    expect(body.troubles.map(({ date }) => date)).toEqual(body.troubles.map(({ date }) => date).sort());
    expect(body.troubleCount).toBe(body.troubles.length);
    expect(body.troubles.map(({ code }) => code)).toContain('damaged-receipt');
    expect(body.warnings.map(nameOf).sort()).toEqual(named(['warned']).sort());
    expect(body.warnings[0]?.message).toContain('3 of the 183 series');
    expect(body.oldestGap?.date).toBe(
      named(['missing', 'failed', 'waiting'])
        .map((name) => name.split(' ')[1]!)
        .sort()[0],
    );
    expect(body.lastPublished).toMatchObject({ date: addDays(made.to, -2) });
    // Those that are published anew and have failed since, too.
    expect(body.rows % 1_234_567).toBe(0);
    expect(body.rows).toBeGreaterThanOrEqual((made.totals.published + made.totals.stale) * 1_234_567);
    expect(body.isQueueKnown).toBeNull();
  });

  test.for(['statistics', 'metadata'] as const)('is of a job of %s too', async (dataset) => {
    await using folder = await newMemoryFolder();
    const store = createLocalStore(folder.path);
    const job: Job = { ...MADE_UP_JOB, name: dataset, dataset, vessels: ['IMO9000002', 'IMO9000001'] };
    const receipt = makeReceipt({ job: dataset, vessel: 'IMO9000001', date: '2026-06-28' }, { dataset });
    await writeReceipt(store, receipt);
    await using map = await serve(store, Date.UTC(2026, 5, 30, 12), { jobs: [job] });
    const { body } = await map.ask(`/jobs/${dataset}/coverage`);
    expect(body).toMatchObject({ dataset, from: '2026-06-28', to: '2026-07-01' });
    expect(body.vessels).toEqual(['IMO9000001', 'IMO9000002']);
    expect(cellsOf(body)).toEqual(await statusCells(map.ports, job, body));
    // A snapshot is due on its own day, and never afterwards; one that was taken is there.
    expect(body.cells).toBe(dataset === 'metadata' ? 'p....m' : 'sm.mm.');
  });

  test('without dates: the last year, or as long as there is a ledger', async () => {
    await using folder = await newMemoryFolder();
    const store = createLocalStore(folder.path);
    await using map = await serve(store, Date.UTC(2026, 5, 30, 12));
    const { body: nothing } = await map.ask();
    expect(nothing).toMatchObject({ from: '2026-06-17', to: '2026-07-01', vessels: [], cells: '' });
    expect(nothing).toMatchObject({ firstDate: null, oldestGap: null, lastPublished: null, rows: 0 });
    const day = { job: 'measurements', vessel: 'IMO9000001' };
    await writeReceipt(store, makeReceipt({ ...day, date: '2026-03-01' }));
    await map.clock.advance(MINUTE_MS);
    expect((await map.ask()).body).toMatchObject({ from: '2026-03-01', firstDate: '2026-03-01' });
    await writeReceipt(store, makeReceipt({ ...day, date: '2020-03-01' }));
    await map.clock.advance(MINUTE_MS);
    expect((await map.ask()).body).toMatchObject({ from: '2025-07-01', firstDate: '2020-03-01' });
  });
});

describe('many who look', () => {
  test('at once ask the lake once, and those who come soon after not at all', async () => {
    await using lake = await madeUpFolder({ vessels: 20, days: 40 });
    const { asked, store: watching } = watchedStore(lake.store);
    await using map = await serve(watching, lake.made.nowMs);
    const answers = await Promise.all(Array.from({ length: 8 }, () => map.ask()));
    const lists = asked.filter((one) => one.startsWith('list')).length;
    expect(lists).toBeLessThan(2 * 40);
    for (const { body } of answers) expect(body).toEqual(answers[0]!.body);
    expect((await map.ask()).body).toEqual(answers[0]!.body);
    expect(asked.filter((one) => one.startsWith('list'))).toHaveLength(lists);
  });

  test('what is listed as it was is not read again', async () => {
    await using lake = await madeUpFolder({ vessels: 90, days: 40 });
    const { made, store } = lake;
    const { asked, store: watching } = watchedStore(store);
    await using map = await serve(watching, made.nowMs);
    const first = await map.ask();
    const day = { job: 'measurements', vessel: made.vessels[3]!, date: addDays(made.to, -2) };
    expect(cellsOf(first.body)[`${day.vessel} ${day.date}`]).toBe('published');
    await writeReceipt(store, makeReceipt(day, { rows: 0, settingsHash: 'another' }));
    await map.clock.advance(MINUTE_MS);
    asked.length = 0;
    const again = await map.ask();
    expect(again.body.readAtMs).toBe(first.body.readAtMs + MINUTE_MS);
    expect(cellsOf(again.body)).toEqual({ ...cellsOf(first.body), [`${day.vessel} ${day.date}`]: 'stale' });
    const got = asked.flatMap((one) => one.match(/^get (.*)/)?.[1] ?? []).sort();
    const below = (folder: string) => got.filter((key) => key.startsWith(folder));
    const unread = first.body.troubles
      .filter(({ code }) => code === 'damaged-receipt')
      .map(({ vessel, date }) => ({ job: 'measurements', vessel, date }));
    const months = new Set([day, ...unread].map(({ date }) => date.slice(0, 7)));
    expect(below('_notes/')).toEqual([]);
    expect(below('_index/')).toEqual([...months].map((month) => indexKey('measurements', month)).sort());
    expect(below('_ledger/')).toEqual([day, ...unread].map(receiptKey).sort());
  });

  test('costs nothing while nobody looks, and forgets', async () => {
    await using lake = await madeUpFolder({ vessels: 70, days: 31 });
    const { asked, store: watching } = watchedStore(lake.store);
    await using map = await serve(watching, lake.made.nowMs);
    const first = await map.ask();
    asked.length = 0;
    await map.clock.advance(120 * MINUTE_MS);
    expect(asked).toEqual([]);
    expect(map.clock.sleeping()).toEqual([]);
    const again = await map.ask();
    expect(again.body.readAtMs).toBe(first.body.readAtMs + 120 * MINUTE_MS);
  });

  test('an index that others left in pieces is put together', async () => {
    await using folder = await newMemoryFolder();
    const made = await writeMadeUpFolder(folder.path, { vessels: 70, days: 30, index: 'pieces' });
    const store = createLocalStore(folder.path);
    await using map = await serve(store, made.nowMs);
    expectMadeUp((await map.ask()).body, made);
    expect(await store.head(indexKey('measurements', '2026-06'))).toBeDefined();
  });

  test('a lake that was out of reach is asked again', async () => {
    await using lake = await madeUpFolder({ vessels: 2, days: 5 });
    let isAway = true;
    const store: ObjectStore = {
      ...lake.store,
      list: (prefix) => {
        if (isAway) throw Object.assign(new Error('the lake is away'), { status: 503 });
        return lake.store.list(prefix);
      },
    };
    await using map = await serve(store, lake.made.nowMs);
    expect(await map.ask()).toMatchObject({ status: 503, body: { message: 'the lake is away' } });
    isAway = false;
    expect(await map.ask()).toMatchObject({ status: 200 });
  });
});

describe('what is refused', () => {
  test.for([
    [
      'an unknown job',
      '/jobs/%3Cb%3E%1b[2J/coverage',
      400,
      /^no job '[^\u001b]*' here; there are: measurements$/,
    ],
    ['no date', '?from=yesterday', 400, /^from: got yesterday, expected a UTC date YYYY-MM-DD$/],
    ['a date that does not exist', '?to=2026-02-30', 400, /^to: got 2026-02-30, expected a UTC date/],
    ['a date twice', '?from=2026-01-01&from=2026-01-02', 400, /^from: got it more than once/],
    ['nothing', '?from=2026-01-02&to=2026-01-02', 400, /got 2026-01-02 to 2026-01-02, expected a later/],
    ['too many days', '?from=2000-01-01&to=2026-01-01', 400, /got 9497 days, expected at most 4018$/],
  ] as const)('%s', async ([, path, status, message]) => {
    await using lake = await madeUpFolder({ vessels: 2, days: 3 });
    await using map = await serve(lake.store, lake.made.nowMs);
    const answer = await map.ask(path.startsWith('?') ? `/jobs/measurements/coverage${path}` : path);
    expect(answer).toMatchObject({ status, body: { message: expect.stringMatching(message) } });
  });

  test('too many vessel-days, before they are all read', async () => {
    await using folder = await newMemoryFolder();
    const made = await writeMadeUpFolder(folder.path, { vessels: 600, days: 3 });
    const { asked, store: watching } = watchedStore(createLocalStore(folder.path));
    await using map = await serve(watching, made.nowMs);
    const { status, body } = await map.ask('/jobs/measurements/coverage?from=2016-06-30');
    expect(status).toBe(400);
    expect(body.code).toBe('too-many-vessel-days');
    expect(body.message).toMatch(
      /on 3653 days, which is 2,0\d\d,\d{3} vessel-days, expected at most 2,000,000/,
    );
    expect(asked.filter((one) => one.startsWith('put'))).toEqual([]);
    const few = await map.ask('/jobs/measurements/coverage?from=2025-06-30');
    expect(few.body.cells).toHaveLength(600 * 366);
  });

  test('more questions than can wait', async () => {
    await using lake = await madeUpFolder({ vessels: 2, days: 40 });
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const store: ObjectStore = {
      ...lake.store,
      async *list(prefix) {
        await gate;
        yield* lake.store.list(prefix);
      },
    };
    await using map = await serve(store, lake.made.nowMs);
    const { promise: refused, resolve } = Promise.withResolvers<void>();
    const statuses: number[] = [];
    const asking = Array.from({ length: 24 }, async (_, n) => {
      const { status } = await map.ask(`/jobs/measurements/coverage?from=${addDays(lake.made.from, n)}`);
      if (statuses.push(status) === 8) resolve();
    });
    // While the first is being read, fifteen wait.
    await refused;
    expect(statuses).toEqual(Array.from({ length: 8 }, () => 503));
    open();
    await Promise.all(asking);
    expect(statuses.slice(8)).toEqual(Array.from({ length: 16 }, () => 200));
    expect((await map.ask()).status).toBe(200);
  });
});

describe.skipIf(!canStartOwnRedis())('with a fleet', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });

  async function openQueue() {
    const server = await startOwnRedis();
    const connection = await openRedis(server.url);
    closing.push(server.stop, () => connection.close());
    const redis = connection.openForQueue() as Redis;
    const queue = openVesselDayQueue({ redis, prefix: 'test' });
    closing.push(() => queue.close());
    return { server, redis, queue, fleet: { queue } as unknown as NonNullable<WebPorts['fleet']> };
  }

  test('days that are to be exported are queued, or have failed in the queue', async () => {
    await using lake = await madeUpFolder({ vessels: 60, days: 50 });
    const { made, store } = lake;
    const { redis, queue, fleet } = await openQueue();
    const named = (state: CellState) =>
      made.vessels.flatMap((vessel) =>
        datesBetween(made.from, made.to)
          .filter((date) => made.stateOf(vessel, date) === state)
          .map((date) => ({ job: 'measurements', vessel, date })),
      );
    const [missing, stale] = [named('missing'), named('stale')];
    // One that fails in the queue and leaves no note; then those that wait: a day that is published among them.
    await queue.add([{ ...missing[0]!, kind: 'backfill' }]);
    const fail = () => Promise.reject(new UnrecoverableError('its worker was killed'));
    const worker = new Worker(QUEUE_NAME, fail, { connection: redis, prefix: 'test' });
    await new Promise((resolve) => worker.once('failed', resolve));
    await worker.close();
    await queue.add([
      { ...missing[1]!, kind: 'nightly' },
      { ...stale[0]!, kind: 'backfill' },
      { ...named('published')[0]!, kind: 'reconcile' },
      { ...named('failed')[0]!, kind: 'nightly' },
    ]);
    await using map = await serve(store, made.nowMs, { fleet });
    const { body } = await map.ask();
    expect(body.isQueueKnown).toBe(true);
    const expected = await statusCells(map.ports, made.job, body);
    const nameOf = ({ vessel, date }: { vessel: string; date: string }) => `${vessel} ${date}`;
    expected[nameOf(missing[0]!)] = 'failed';
    expected[nameOf(missing[1]!)] = 'queued';
    expected[nameOf(stale[0]!)] = 'queued';
    expect(cellsOf(body)).toEqual(expected);
    expect(body.totals).toMatchObject({ queued: 2, failed: made.totals.failed + 1 });
    expect(body.troubles).toContainEqual(
      expect.objectContaining({
        ...{ vessel: missing[0]!.vessel, date: missing[0]!.date, state: 'failed' },
        code: 'failed-in-queue',
      }),
    );
  });

  test('a queue that does not answer takes nothing from the map but what it knows', async () => {
    await using lake = await madeUpFolder({ vessels: 20, days: 30 });
    const { made, store } = lake;
    const { server, fleet } = await openQueue();
    await using map = await serve(store, made.nowMs, { fleet });
    server.freeze();
    const asking = map.ask();
    await map.clock.untilSleeping((delayMs) => delayMs === 2_000);
    await map.clock.advance(2_000);
    const { status, body } = await asking;
    expect(status).toBe(200);
    expect(body.isQueueKnown).toBe(false);
    expectMadeUp(body, made);
    server.thaw();
    await map.clock.advance(10 * MINUTE_MS);
    expect((await map.ask()).body.isQueueKnown).toBe(true);
  });
});

test('the file of the made-up job says what the job is', async () => {
  const { parse } = await import('yaml');
  const { name: _name, transport: _transport, verify: _verify, ...said } = MADE_UP_JOB;
  expect(parse(MADE_UP_JOB_FILE)).toEqual(said);
  expect(receiptKey({ job: 'measurements', vessel: 'IMO9000000', date: '2026-01-01' })).toContain('_ledger');
});
