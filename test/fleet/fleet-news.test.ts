/** What a process tells of itself, and when. */
import { expect, test } from 'vitest';
import { silentLog } from '../../src/core/model/index.ts';
import { createFleetNews, type FleetNews } from '../../src/fleet/fleet-news.ts';
import { BACKFILL_RATE, createRate } from '../../src/fleet/rate.ts';
import { DayMap } from '../../src/lake/ledger/day-map.ts';
import type { FleetReport } from '../../src/redis/fleet-facts.ts';
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts';

const DAY = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' } as const;
const ASKED = { kind: 'request', retry: 0, ms: 1 } as const;
const SELF = { role: 'worker', host: 'north', pid: 7, version: '1.2.3', atOnce: 4 } as const;

interface Bench {
  readonly clock: ManualClock;
  readonly news: FleetNews;
  readonly sent: FleetReport[];
  /** Reports fail as long as it is set. */
  away: boolean;
  stop(): Promise<void>;
}

function start(): Bench {
  const clock = createManualClock();
  const sent: FleetReport[] = [];
  const stopped = new AbortController();
  const bench = { clock, sent, away: false } as Omit<Bench, 'news' | 'stop'> as Bench;
  const send = async (report: FleetReport) => {
    sent.push(structuredClone(report));
    if (bench.away) throw new Error('Redis is away');
  };
  const news = createFleetNews({ reporter: { send }, clock, log: silentLog, self: SELF, active: () => 1 });
  const ended = news.run(stopped.signal);
  const stop = async () => {
    stopped.abort();
    await ended;
  };
  return Object.assign(bench, { news, stop });
}

test('a process with nothing to do says every ten seconds that it is there, and takes its leave', async () => {
  const { clock, sent, stop } = start();
  await clock.advance(60_000);
  expect(sent).toHaveLength(7);
  expect(sent[6]).toMatchObject({ process: { ...SELF, upMs: 60_000, active: 1, running: [] }, facts: [] });
  await stop();
  expect(sent.at(-1)).toMatchObject({ isLeaving: true });
});

test('while a vessel-day runs its rows, rate and step are told every two seconds', async () => {
  const { clock, news, sent, stop } = start();
  const day = { ...DAY };
  const stepDone = (step: string) => news.onEvent({ kind: 'day-step', day, step });
  news.onEvent({ kind: 'day-begun', day, origin: 'nightly' });
  const last = () => sent.at(-1)!.process.running[0];
  await clock.advance(2_000);
  const begun = { ...DAY, kind: 'nightly', rows: null, rowsKnown: null, rowsPerSecond: null };
  expect(last()).toEqual({ ...begun, forMs: 2_000, step: 'claiming' });
  stepDone('claimed');
  await clock.advance(2_000);
  expect(last()).toMatchObject({ step: 'counting' });
  stepDone('counted');
  for (let rows = 100; rows <= 1_000; rows += 100) {
    news.onEvent({ kind: 'day-rows', day, rows, rowsKnown: 1_000 });
    await clock.advance(2_000);
  }
  expect(last()).toMatchObject({ rows: 1_000, rowsKnown: 1_000, rowsPerSecond: 50, step: 'fetching' });
  stepDone('part-uploaded');
  stepDone('fetched');
  await clock.advance(2_000);
  expect(last()).toMatchObject({ step: 'proving', rowsPerSecond: null });
  stepDone('completed');
  await clock.advance(2_000);
  expect(last()).toMatchObject({ step: 'committing' });
  const before = sent.length;
  news.onEvent({ kind: 'day-ended', day });
  await clock.advance(2_000);
  expect(last()).toBeUndefined();
  await clock.advance(7_000);
  expect(sent.length).toBe(before + 1);
  await stop();
});

test('requests that could not be told are told once Redis is back, with the same counts first', async () => {
  const bench = start();
  const { clock, news, sent, stop } = bench;
  await clock.advance(2_000);
  bench.away = true;
  for (const status of [200, 429, 503, undefined])
    news.onEvent({ ...ASKED, ...(status !== undefined && { status }), retry: status === 503 ? 1 : 0 });
  await clock.advance(10_000);
  const counts = { requests: 4, limited: 1, retries: 1, errors: 2 };
  expect(sent.at(-1)!.counts).toEqual(counts);
  news.onEvent({ ...ASKED, status: 200 });
  bench.away = false;
  await clock.advance(2_000);
  // The report that failed may have come: what is new goes with the next.
  expect(sent.at(-1)!.counts).toEqual(counts);
  await clock.advance(10_000);
  expect(sent.at(-1)!.counts).toEqual({ requests: 1, limited: 0, retries: 0, errors: 0 });
  await clock.advance(10_000);
  expect(sent.at(-1)!.counts).toBeUndefined();
  await stop();
});

test('what the scheduler that plans learned is told at once and again and again, and by another no more', async () => {
  const bench = start();
  const { clock, news, sent, stop } = bench;
  news.onEvent({ kind: 'lead', leads: true });
  news.onEvent({ kind: 'job-planned', job: 'measurements' });
  news.onEvent({
    kind: 'missing',
    job: 'measurements',
    missing: 3,
    oldest: '2026-01-05',
    unpublished: () => [],
  });
  news.onEvent({
    kind: 'failed',
    job: 'measurements',
    failed: 4,
    refused: 1,
    letters: [],
    notes: new DayMap(),
  });
  news.onEvent({
    kind: 'looked-back',
    job: 'measurements',
    found: { changed: 2 },
    from: '2026-01-01',
    to: '2026-01-06',
    uncompared: [],
  });
  const progress = { due: 10, done: 0, failed: 0, queued: 5, left: 5, finished: false, troubles: [] };
  news.onEvent({ kind: 'backfill', id: 'b-1', progress });
  await clock.advance(2_000);
  const lookedMs = clock.nowMs() - 2_000;
  const planned = { lookedMs, missing: 3, oldestMissing: '2026-01-05', failed: 4, refused: 1 };
  expect(sent.at(-1)!.process.leads).toBe(true);
  expect(sent.at(-1)!.facts.map(({ kind, of, value }) => [kind, of, value])).toEqual([
    ['planned', 'measurements', planned],
    [
      'look-back',
      'measurements',
      { endedMs: lookedMs, from: '2026-01-01', to: '2026-01-06', found: { changed: 2 } },
    ],
    [
      'backfill',
      'b-1',
      { due: 10, done: 0, failed: 0, queued: 5, vesselDaysPerHour: null, secondsLeft: null },
    ],
  ]);
  const before = sent.length;
  await clock.advance(30_000);
  expect(sent.slice(before).map(({ facts }) => facts.length)).toEqual([3, 3, 3]);
  news.onEvent({ kind: 'backfill-ended', id: 'b-1' });
  bench.away = true;
  await clock.advance(4_000);
  bench.away = false;
  await clock.advance(2_000);
  expect(sent.at(-1)!.facts).toContainEqual({ kind: 'backfill', of: 'b-1', value: null });
  await clock.advance(10_000);
  expect(sent.at(-1)!.facts).toHaveLength(2);
  news.onEvent({ kind: 'lead', leads: false });
  await clock.advance(60_000);
  expect(sent.at(-1)).toMatchObject({ facts: [], process: { leads: false } });
  await stop();
});

test('a process that stops does not wait for a Redis that does not answer', async () => {
  const clock = createManualClock();
  const send = () => new Promise<void>(() => {});
  const stopped = AbortSignal.abort();
  const news = createFleetNews({ reporter: { send }, clock, log: silentLog, self: SELF, active: () => 0 });
  const ended = news.run(stopped);
  await clock.advance(500);
  await ended;
});

test('nor for an answer to what it was telling when it was stopped', async () => {
  const clock = createManualClock();
  const sent: FleetReport[] = [];
  const send = (report: FleetReport) => {
    sent.push(report);
    return new Promise<void>(() => {});
  };
  const stopped = new AbortController();
  const news = createFleetNews({ reporter: { send }, clock, log: silentLog, self: SELF });
  let hasEnded = false;
  const ended = news.run(stopped.signal).finally(() => {
    hasEnded = true;
  });
  await clock.advance(1_000);
  stopped.abort();
  await clock.advance(499);
  expect(hasEnded).toBe(false);
  await clock.advance(1);
  await ended;
  // A farewell would wait for the same Redis.
  expect(sent).toHaveLength(1);
});

test('the rate of a backfill is that of the last hour, and begins anew after a pause', () => {
  const rate = createRate(BACKFILL_RATE);
  const perHour = () => rate.perSecond && rate.perSecond * 3_600;
  const minute = 60_000;
  rate.add(0, 100);
  expect(perHour()).toBeUndefined();
  rate.add(minute / 2, 150);
  expect(perHour()).toBeUndefined();
  rate.add(minute, 200);
  expect(perHour()).toBe(6_000);
  for (let at = 2; at <= 120; at++) rate.add(at * minute, 200 + at);
  expect(perHour()).toBeCloseTo(60, 0);
  rate.add(200 * minute, 900);
  expect(perHour()).toBeUndefined();
  rate.add(202 * minute, 902);
  expect(perHour()).toBe(60);
  // Receipts went.
  rate.add(203 * minute, 10);
  expect(perHour()).toBeUndefined();
});
