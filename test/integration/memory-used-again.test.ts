/**
 * Vessel-days that are at work at the same time, break off, are tried again and are stopped share memory: that of row
 * groups and of parts. Whatever becomes of them, each object is, byte for byte, what a process makes of the day that is at
 * work alone. What is given back is made useless at once here, and the store takes its time.
 */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { VesselDay } from '../../src/core/model/index.ts';
import { addDays } from '../../src/core/model/index.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { readObject } from '../helpers/lake.ts';
import type { RunExportOptions, TestLake, TestService } from '../helpers/run.ts';
import {
  DATE,
  mustExport,
  newLake,
  OTHER_VESSEL,
  runExport,
  startTestService,
  VESSEL,
} from '../helpers/run.ts';

const SIZES = { rowGroupRows: 90, partBytes: 3_000 };
const DATES = [DATE, addDays(DATE, 1)];
const DAYS: readonly VesselDay[] = [VESSEL, OTHER_VESSEL].flatMap((vessel) =>
  DATES.map((date) => ({ job: 'measurements', vessel, date })),
);
const JOBS = {
  measurements: { dataset: 'measurements', vessels: [VESSEL, OTHER_VESSEL], select: ['flat/{vessel}/S*'] },
};

/** Of other readings each. */
const services: TestService[] = [];
const expected: string[][] = [];

/** Digests of the objects of DAYS. */
function digests(lake: TestLake): Promise<string[]> {
  return Promise.all(DAYS.map(async (day) => hash('sha256', (await readObject(lake.dir, day))!)));
}

function optionsOf(service: TestService, lake: TestLake): RunExportOptions {
  return {
    ...{ service, lakeUrl: lake.url, jobs: JOBS, env: { WORKER_CONCURRENCY: '4' } },
    args: { from: DATE, to: addDays(DATE, 2) },
    overrides: { sizes: SIZES },
  };
}

beforeAll(async () => {
  for (const seed of [1, 2]) {
    const service = await startTestService({ seed, vessels: 2, readingsPerDay: 6_000 });
    services.push(service);
    await using lake = await newLake();
    const env = { WORKER_CONCURRENCY: '1' };
    await mustExport({ ...optionsOf(service, lake), env });
    expected.push(await digests(lake));
  }
  expect(new Set(expected.flat()).size).toBe(8);
});

afterAll(async () => {
  for (const service of services) await service.close();
});

/** What a store is given, and whether it was still the same when the store was done with it. */
class SlowStore {
  readonly changed: string[] = [];
  parts = 0;
  #calls = 0;
  readonly #delays: readonly number[];
  readonly #onPart: (parts: number) => void;

  constructor(delays: readonly number[], onPart: (parts: number) => void = () => {}) {
    this.#delays = delays;
    this.#onPart = onPart;
  }

  readonly wrap = (store: ObjectStore): ObjectStore => ({
    ...store,
    put: (key, bytes) => this.#during(key, bytes, () => store.put(key, bytes)),
    putIf: (key, bytes, version) => this.#during(key, bytes, () => store.putIf(key, bytes, version)),
    putIfAbsent: (key, bytes) => this.#during(key, bytes, () => store.putIfAbsent(key, bytes)),
    append: async (upload, number, bytes) => {
      this.#onPart(++this.parts);
      const part = await this.#during(upload.key, bytes, () => store.append(upload, number, bytes));
      // It is stored: nobody reads that again.
      bytes.fill(0xee);
      return part;
    },
  });

  async #during<T>(key: string, bytes: Uint8Array, call: () => Promise<T>): Promise<T> {
    const before = hash('sha256', bytes);
    await sleep(this.#delays[this.#calls++ % this.#delays.length]);
    const result = await call();
    if (hash('sha256', bytes) !== before) this.changed.push(key);
    return result;
  }
}

const trouble = fc.record({
  /** How many bytes of a body come, of every third one; and what the rest of it is instead. */
  cuts: fc.array(fc.nat(60_000), { minLength: 4, maxLength: 12 }),
  delays: fc.array(fc.nat(6), { minLength: 1, maxLength: 5 }),
  /** The second export is stopped when it sends this part; then it is taken up again. */
  stopAtPart: fc.integer({ min: 1, max: 20 }),
  encoderThreads: fc.constantFrom(0, 0, 1),
});

test('objects are those of days that are at work alone', async () => {
  let stopped = 0;
  await fc.assert(
    fc.asyncProperty(trouble, async ({ cuts, delays, stopAtPart, encoderThreads }) => {
      await using first = await newLake();
      await using second = await newLake();
      const left = [...cuts];
      const fault = ({ n }: { n: number }) => {
        const afterBytes = n % 3 === 0 ? left.pop() : undefined;
        return afterBytes === undefined ? undefined : ({ kind: 'cut', afterBytes } as const);
      };
      for (const service of services) service.faults = fault;
      const stop = new AbortController();
      const slow = new SlowStore(delays);
      const slowToo = new SlowStore(delays, (parts) => {
        if (parts === stopAtPart) stop.abort(new Error('stopped by the test'));
      });
      const overrides = { sizes: SIZES, encoderThreads };
      const [, ran] = await Promise.all([
        mustExport({ ...optionsOf(services[0]!, first), overrides: { ...overrides, wrapStore: slow.wrap } }),
        runExport({
          ...optionsOf(services[1]!, second),
          overrides: { ...overrides, wrapStore: slowToo.wrap },
          signal: stop.signal,
        }),
      ]);
      if (ran.code !== 0) stopped++;
      await mustExport({ ...optionsOf(services[1]!, second), overrides });
      for (const service of services) service.faults = undefined;
      expect([...slow.changed, ...slowToo.changed]).toEqual([]);
      expect([await digests(first), await digests(second)]).toEqual(expected);
    }),
    { numRuns: 4 },
  );
  expect(stopped).toBeGreaterThan(0);
});
