import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Checkpoint, TimeRange } from '../../src/core/model/index.ts';
import { LAYOUTS } from '../../src/core/model/index.ts';
import { receiptKey } from '../../src/lake/keys.ts';
import { readClaims } from '../helpers/claims.ts';
import { isLong } from '../helpers/tiers.ts';
import type { CrashBench, CrashLake } from './crash-lake.ts';
import { DAY, leftovers, openCrashBench, publishedBytes, receiptOf, stateOf } from './crash-lake.ts';

/** Small sizes, so that the day has many parts. */
const SIZES = { rowGroupRows: 1_000, partBytes: 30_000, sliceTargetRows: 4_000 };
let bench: CrashBench;
let undisturbed: Uint8Array;

beforeAll(async () => {
  bench = await openCrashBench(20_000, SIZES);
  const lake = await bench.localLake();
  const end = await bench.run(lake);
  expect(end.output).toContain('1 published');
  undisturbed = (await publishedBytes(lake))!;
  expect((await receiptOf(lake))!.object!.parts.length).toBeGreaterThan(3);
});
afterAll(() => bench[Symbol.asyncDispose]());

/** The range of the first request for readings after so many requests. */
function firstReadingsRange(requestsBefore: number): TimeRange | undefined {
  return bench.service.requests.slice(requestsBefore).find(({ family }) => family === 'measurements')?.range;
}

async function checkpointOf(lake: CrashLake): Promise<Checkpoint> {
  return (await readClaims(lake.store, DAY))[0]!.checkpoint!;
}

/** In the middle of the upload, and on either side of the publication; each step: test/export/export-vessel-day.test.ts. */
const STEPS = [
  ['plain', 'checkpoint', 3],
  ['plain', 'sealed', 1],
  ['delta', 'completed', 1],
  ...(isLong
    ? ([
        ['plain', 'published', 1],
        ['delta', 'published', 1],
      ] as const)
    : []),
] as const;

describe('kill -9 after a step of the crash table', () => {
  test.for(STEPS)('%s: %s, the %i. time', async ([layout, step, nth]) => {
    const lake = await bench.localLake(layout);
    const killed = await bench.run(lake, { step, nth });
    expect(killed.signal).toBe('SIGKILL');
    const visible = await publishedBytes(lake);
    const isPublished = step === 'published';
    expect(visible !== undefined).toBe(isPublished);
    if (visible !== undefined) expect(Buffer.compare(visible, undisturbed)).toBe(0);
    expect(await receiptOf(lake)).toBeUndefined();

    const requestsBefore = bench.service.requests.length;
    const cursor = (await readClaims(lake.store, DAY))[0]?.checkpoint?.cursorMicros;
    const again = await bench.run(lake);
    expect(again.code, again.output).toBe(0);
    expect(Buffer.compare((await publishedBytes(lake))!, undisturbed)).toBe(0);
    expect(await leftovers(lake)).toEqual([]);
    expect((await receiptOf(lake))?.proof).toBe('exact');
    const asked = firstReadingsRange(requestsBefore);
    expect(asked?.fromMicros).toBe(step === 'checkpoint' ? cursor! : undefined);
  });
});

test.for(isLong ? LAYOUTS : [])(
  'killed at random moments until it is done, the day has the same bytes: %s',
  async (layout) => {
    const lake = await bench.localLake(layout);
    let seed = 20_260_105;
    for (let kills = 0; ; kills++) {
      const running = bench.start(lake);
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      // Where it strikes is left to chance on purpose; whatever the moment, the outcome must hold.
      // The last one is left alone, however long it takes.
      const timer =
        kills < 12 ? setTimeout(() => running.process.kill('SIGKILL'), 250 + (seed % 900)) : undefined;
      const end = await running.ended;
      clearTimeout(timer);
      const visible = await publishedBytes(lake);
      if (visible !== undefined) expect(Buffer.compare(visible, undisturbed)).toBe(0);
      if (end.code === 0) break;
      expect(end.signal, end.output).toBe('SIGKILL');
    }
    expect(Buffer.compare((await publishedBytes(lake))!, undisturbed)).toBe(0);
    await bench.run(lake);
    expect(await leftovers(lake)).toEqual([]);
  },
);

test.for(isLong ? LAYOUTS.slice(0, 1) : [])('at most one part is fetched twice: %s', async () => {
  const [with3, with2] = [await bench.localLake(), await bench.localLake()];
  await bench.run(with3, { step: 'checkpoint', nth: 3 });
  await bench.run(with2, { step: 'part-uploaded', nth: 3 });
  const [after3, after2] = [await checkpointOf(with3), await checkpointOf(with2)];
  expect([after3.parts.length, after2.parts.length]).toEqual([3, 2]);
  expect(after3.parts.slice(0, 2).map(({ sha256 }) => sha256)).toEqual(
    after2.parts.map(({ sha256 }) => sha256),
  );
  const requestsBefore = bench.service.requests.length;
  const again = await bench.run(with2);
  expect(again.output).toContain('resuming');
  expect(firstReadingsRange(requestsBefore)?.fromMicros).toBe(after2.cursorMicros);
});

test.for(isLong ? LAYOUTS : LAYOUTS.slice(0, 1))(
  'of two processes on one vessel-day one publishes and the other stops: %s',
  async (layout) => {
    const lake = await bench.localLake(layout);
    const ends = await Promise.all([bench.run(lake), bench.run(lake)]);
    expect(ends.map(({ code }) => code).sort()).toEqual(
      ends.some(({ output }) => output.includes('running elsewhere')) ? [0, 1] : [0, 0],
    );
    expect(ends.filter(({ output }) => output.includes('1 published'))).toHaveLength(1);
    expect(Buffer.compare((await publishedBytes(lake))!, undisturbed)).toBe(0);
    expect(await leftovers(lake)).toEqual([]);
  },
);

describe('a process that is stopped past its takeover and then continued', () => {
  test.for([
    ['plain', 'sealed'],
    ['delta', 'completed'],
  ] as const)('in a %s lake, at %s, writes nothing', async ([layout, step]) => {
    const lake = await bench.localLake(layout);
    const stopped = bench.start(lake, { step, how: 'stop' });
    await expect.poll(() => stateOf(stopped.process.pid!)).toBe('T');
    const successor = await bench.run(lake, { takeover: true });
    expect(successor.code, successor.output).toBe(0);
    const receipt = Buffer.from((await lake.store.get(receiptKey(DAY)))!.bytes).toString();
    stopped.process.kill('SIGCONT');
    const end = await stopped.ended;
    expect(end.code, end.output).toBe(1);
    expect(end.output).toContain('attempt 1 stops');
    expect(Buffer.compare((await publishedBytes(lake))!, undisturbed)).toBe(0);
    expect(Buffer.from((await lake.store.get(receiptKey(DAY)))!.bytes).toString()).toBe(receipt);
    expect(await leftovers(lake)).toEqual([]);
  });
});
