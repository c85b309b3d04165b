/** Answers share the event loop, stop with their client, and hold their place until then. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Clock, MICROS_PER_DAY } from '../../src/core/model/index.ts';
import type { DataSource, ReadingsSlice } from '../../src/service/data/source.ts';
import type { ServedRequest } from '../../src/service/hooks.ts';
import type { ServiceOptions } from '../../src/service/options.ts';
import { createTurns, FREE_LOOKS } from '../../src/service/turns.ts';
import { openHookedService, testClock, VESSEL } from './running-service.ts';
import { createTestLake } from './test-lake.ts';

const DAY = 'from=2026-01-05&to=2026-01-06';
const YEAR = 'from=2025-01-01&to=2026-01-01';
const AGGREGATIONS = 'aggregations=mean,min,max,count,last_val';
/** Each way to read a range of one vessel. */
const ANSWERS = {
  json: (range: string) => `/measurements/flat/${VESSEL}/*?${range}`,
  ndjson: (range: string) => `/measurements/flat/${VESSEL}/*?${range}&format=ndjson`,
  parquet: (range: string) => `/measurements/flat/${VESSEL}/*?${range}&format=parquet`,
  statistics: (range: string) => `/statistics/flat/${VESSEL}/*?${range}&window=none&${AGGREGATIONS}`,
} as const;
const FORMATS = Object.keys(ANSWERS) as (keyof typeof ANSWERS)[];

/** A clock on which each look takes a millisecond, so that a turn is as many looks on any machine. */
function lookingClock(): Clock & { looks: number; mostInARound: number; stop(): void } {
  let inThisRound = 0;
  let stopped = false;
  const clock = {
    ...testClock(),
    looks: 0,
    mostInARound: 0,
    monotonicMs: () => {
      clock.mostInARound = Math.max(clock.mostInARound, ++inThisRound);
      return clock.looks++;
    },
    stop: () => {
      stopped = true;
    },
  };
  const nextRound = () => {
    inThisRound = 0;
    if (!stopped) setImmediate(nextRound);
  };
  nextRound();
  return clock;
}

const NEW = { 'x-api-version': '2026-09-10' };
const open = (options: Partial<ServiceOptions>) =>
  openHookedService({
    data: { seed: 7, vessels: 1, readingsPerDay: 60_000 },
    clock: { ...testClock(), monotonicMs: () => performance.now() },
    ...options,
  });

describe('turns', () => {
  test('go round, one work in each round of the event loop', async () => {
    let nowMs = 0;
    const turns = createTurns({ monotonicMs: () => nowMs });
    const order: string[] = [];
    const work = async (name: string) => {
      const own = turns.begin();
      for (let look = 0; look < FREE_LOOKS; look++) expect(own.isDue()).toBe(false);
      for (let step = 0; step < 9; step++) {
        // Three steps of two milliseconds are a turn.
        while (own.isDue()) await own.pause();
        order.push(name);
        nowMs += 2;
      }
    };
    await Promise.all([work('a'), work('b'), work('c')]);
    // The first has its turn; it is also the first of those that wait then.
    expect(order.join('')).toBe('aaa aaabbbccc aaabbbccc bbbccc'.replaceAll(' ', ''));
  });

  test('an aborted work is due at once, and its pause throws', async () => {
    const turns = createTurns({ monotonicMs: () => 0 });
    const work = turns.begin();
    expect(work.isDue()).toBe(false);
    const pausing = work.pause();
    work.close();
    await expect(pausing).rejects.toThrow('nobody waits');
    expect(work.isDue()).toBe(true);
    await expect(work.pause()).rejects.toThrow('nobody waits');
    await work.ended;
    expect(turns.underWay).toBe(0);
  });

  test('close waits for the pieces that are being made', async () => {
    const turns = createTurns({ monotonicMs: () => 0 });
    const work = turns.begin();
    const { promise: mayEnd, resolve } = Promise.withResolvers<void>();
    const pieces = work.making(
      (async function* () {
        yield 1;
        await mayEnd;
      })(),
    );
    await pieces.next();
    const last = pieces.next();
    let closed = false;
    const closing = turns.close().then(() => {
      closed = true;
    });
    for (let round = 0; round < 3; round++) await new Promise(setImmediate);
    expect([work.signal.aborted, closed]).toEqual([true, false]);
    resolve();
    await last;
    await closing;
    expect(turns.underWay).toBe(0);
  });
});

describe.each(['a made-up fleet', 'a lake'])('the event loop while %s is read', (kind) => {
  const dir = mkdtempSync(join(tmpdir(), 'service-turns-'));
  const READINGS = 24_000;
  let data: ServiceOptions['data'] = { seed: 7, vessels: 1, readingsPerDay: READINGS };

  beforeAll(async () => {
    if (kind !== 'a lake') return;
    const lake = await createTestLake(dir);
    const id = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
    const day = { vessel: VESSEL, date: '2026-01-05' };
    await lake.writeMetadata(
      { ...day, job: 'metadata' },
      [0, 1, 2].map(
        (n) => `{"id":"x","timeSeriesId":"${id(n)}","domains":{"flat":{"id":"${VESSEL}/Tag ${n}"}}}`,
      ),
    );
    const readings = Array.from({ length: READINGS }, (_, n) => ({
      timeSeriesId: id(n % 3),
      timestamp: new Date(Date.UTC(2026, 0, 5) + n * 2_000).toISOString(),
      valueText: n % 3 === 2 ? `{"n":${n}}` : n % 3 === 1 ? `${n}` : `${n}.5`,
    }));
    await lake.writeMeasurements({ ...day, job: 'measurements' }, readings);
    lake.close();
    data = { dataDir: dir };
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test('is let go every few thousand readings, whatever is asked', async () => {
    const clock = lookingClock();
    try {
      await using s = await open({ data, clock });
      await Promise.all(FORMATS.map((format) => s.text(ANSWERS[format](DAY), NEW)));
    } finally {
      clock.stop();
    }
    // Looked at every 2,048 readings at least; and with four at work, told to stop after a few looks.
    expect(clock.looks).toBeGreaterThan((FORMATS.length * READINGS) / 2_048);
    expect(clock.mostInARound).toBeLessThan(30);
  });
});

/** A service whose readings are watched: told of each slice, and when reading ended. */
async function watched(options: Partial<ServiceOptions> = {}) {
  const requests: ServedRequest[] = [];
  const slices: number[] = [];
  const first = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  /** What a slice waits for, besides the source. */
  const gate = { open: Promise.resolve() };
  const watchData = (source: DataSource): DataSource => ({
    series: source.series,
    async *read(...asked): AsyncGenerator<ReadingsSlice, void, void> {
      try {
        for await (const slice of source.read(...asked)) {
          slices.push(slice.toMicros);
          first.resolve();
          await gate.open;
          yield slice;
        }
      } finally {
        ended.resolve();
      }
    },
  });
  const hooks = { observe: (request: ServedRequest) => requests.push(request), watchData };
  const { service, get: ask } = await open({ ...options, hooks });
  const get = (path: string, signal?: AbortSignal) => ask(path, NEW, signal);
  return { service, get, requests, slices, first, ended, gate };
}

/** Resolves when the service has seen that the client of its last request is gone. */
async function untilGone(requests: readonly ServedRequest[]): Promise<void> {
  const last = requests.at(-1)!;
  while (last.status === undefined) await new Promise(setImmediate);
}

describe.each(FORMATS)('%s', (format) => {
  test('stops soon after its client has gone', async () => {
    const { service, get, requests, slices, first, ended } = await watched();
    const client = new AbortController();
    const asking = get(ANSWERS[format](YEAR), client.signal).then((response) => response.arrayBuffer());
    await first.promise;
    client.abort();
    await expect(asking).rejects.toThrow();
    await untilGone(requests);
    const seen = slices.length;
    await ended.promise;
    // The slice that was being made, and no other.
    expect(slices.length - seen).toBeLessThanOrEqual(1);
    expect(slices.at(-1)!).toBeLessThan(Date.UTC(2026, 0, 1) * 1_000 - MICROS_PER_DAY);
    await service.close();
  });

  test('holds its place until the work has ended, though its client is gone', async () => {
    const { service, get, requests, first, ended, gate } = await watched({ maxConcurrency: 1 });
    const held = Promise.withResolvers<void>();
    gate.open = held.promise;
    const client = new AbortController();
    const asking = get(ANSWERS[format](YEAR), client.signal).then((response) => response.arrayBuffer());
    await first.promise;
    client.abort();
    await expect(asking).rejects.toThrow();
    await untilGone(requests);
    expect((await get(`/metadata/flat/${VESSEL}/Roll`)).status).toBe(429);
    held.resolve();
    await ended.promise;
    expect((await get(`/metadata/flat/${VESSEL}/Roll`)).status).toBe(200);
    await service.close();
  });

  test('stops when the service closes', async () => {
    const { service, get, first, ended } = await watched();
    const asking = get(ANSWERS[format](YEAR)).then((response) => response.arrayBuffer());
    await first.promise;
    await Promise.all([service.close(), expect(asking).rejects.toThrow()]);
    await ended.promise;
  });
});

test('nothing is made for a client that does not read', async () => {
  const { service, get, slices, first } = await watched({
    data: { seed: 7, vessels: 1, readingsPerDay: 2_000_000 },
  });
  const client = new AbortController();
  const response = await get(ANSWERS.ndjson(YEAR), client.signal);
  await first.promise;
  // Whole small answers go by meanwhile: the large one has had its turns, had it anywhere to write.
  let before = -1;
  while (slices.length > before) {
    before = slices.length;
    for (let n = 0; n < 5; n++) await (await get(`/metadata/flat/${VESSEL}/Roll`)).arrayBuffer();
  }
  expect(before).toBeLessThan(100);
  client.abort();
  await expect(response.arrayBuffer()).rejects.toThrow();
  await service.close();
});
