/** Which service a job of a lake is from: written down once, kept by whoever writes the file, and refused to others. */
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../src/core/model/index.ts';
import { LAKE_KEY } from '../../src/lake/keys.ts';
import { acceptSource, type LakeSource, readLakeFile } from '../../src/lake/lake-file.ts';
import { createLakeLayout, LOOK_MS } from '../../src/lake/layout.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';

const HERE = 'https://api.example.com/acme';
const OTHER = { code: 'other-source' };
let store: ObjectStore;
beforeEach(() => {
  store = createMemoryStore();
});

function open(source: LakeSource | string) {
  const clock = createManualClock();
  const from = typeof source === 'string' ? { url: source } : source;
  const options = { store, clock, log: silentLog, wanted: undefined, source: from, isShared: false };
  return { clock, layout: createLakeLayout(options) };
}
const settle = (source: LakeSource | string, job = 'a') => open(source).layout.settle(job);
const say = (file: object) => store.put(LAKE_KEY, Buffer.from(JSON.stringify(file)));
const fileNow = async () => (await readLakeFile(store))?.file;

test('the first export of each job says where it is from, also in a lake that has known nothing of it', async () => {
  await settle(HERE);
  expect(await fileNow()).toEqual({ lakeVersion: 1, layout: 'plain', sources: { a: HERE } });
  await say({ lakeVersion: 1, layout: 'delta', ofANewerRelease: [1] });
  await settle(HERE, 'b');
  await settle('https://other.example.com', 'a');
  expect(await fileNow()).toEqual({
    ...{ lakeVersion: 1, layout: 'delta', ofANewerRelease: [1] },
    sources: { b: HERE, a: 'https://other.example.com' },
  });
});

test('a lake from before says it with its first write', async () => {
  await writeReceipt(store, makeReceipt({ job: 'a', vessel: 'IMO9321483', date: '2026-01-05' }));
  await open(HERE).layout.check(['a']);
  expect(await fileNow()).toBeUndefined();
  await settle(HERE);
  expect(await fileNow()).toEqual({ lakeVersion: 1, layout: 'plain', sources: { a: HERE } });
});

test.each([
  ['http://api.example.com/acme', 'taken'],
  ['https://API.example.com:443/acme/', 'taken'],
  ['https://api.example.com/other', 'refused'],
  ['https://api.example.com:8443/acme', 'refused'],
  ['https://api2.example.com/acme', 'refused'],
] as const)('a job from HERE, and %s as the source: %s', async (url, outcome) => {
  await settle(HERE);
  const before = await fileNow();
  const { layout } = open(url);
  for (const asked of [
    () => layout.settle('a'),
    () => layout.check(['b', 'a']),
    () => layout.checkSource(['a']),
  ])
    if (outcome === 'taken') await asked();
    else await expect(asked()).rejects.toMatchObject(OTHER);
  expect(await fileNow()).toEqual(before);
  // Another job may be from elsewhere.
  await layout.settle('b');
});

test('the refusal names both, and what to do where it is meant; accepted, it is over', async () => {
  await settle(HERE);
  const moved = { url: 'https://moved.example.com/acme' };
  const { clock, layout } = open(HERE);
  await layout.settle('a');
  const refused = settle(moved);
  await expect(refused).rejects.toThrow(HERE);
  await expect(refused).rejects.toThrow(moved.url);
  await expect(refused).rejects.toThrow("'vessel-export accept a --source'");
  expect(await acceptSource(store, moved, 'a')).toEqual({ state: 'accepted', before: HERE });
  expect(await acceptSource(store, moved, 'a')).toEqual({ state: 'accepted-before' });
  await settle(moved);
  // Whoever goes on with the old one finds out.
  await layout.settle('a');
  await clock.advance(LOOK_MS);
  await expect(layout.confirm('plain', 'a')).rejects.toMatchObject(OTHER);
});

test('nothing is to be accepted where no lake is, or nothing is known of the job', async () => {
  expect(await acceptSource(store, { url: HERE }, 'a')).toEqual({ state: 'nothing-to-accept' });
  await settle(HERE);
  expect(await acceptSource(store, { url: HERE }, 'b')).toEqual({ state: 'nothing-to-accept' });
  await say({
    lakeVersion: 1,
    layout: 'plain',
    converting: { to: 'delta', by: 'x' },
    sources: { a: 'http://x' },
  });
  await expect(acceptSource(store, { url: HERE }, 'a')).rejects.toMatchObject({ code: 'lake-converting' });
});

test('made-up readings and those of a service do not meet, unless somebody says so', async () => {
  const madeUp = { url: 'made-up:demo', isMadeUp: true };
  await settle(madeUp);
  await settle(madeUp, 'b');
  expect(await fileNow()).toMatchObject({ madeUp: true, sources: { a: 'made-up:demo' } });
  for (const job of ['a', 'c']) {
    await expect(settle(HERE, job)).rejects.toMatchObject(OTHER);
    await expect(settle(HERE, job)).rejects.toThrow('made up');
  }
  await acceptSource(store, { url: HERE }, 'c');
  await settle(HERE, 'c');
  await expect(settle(madeUp, 'c')).rejects.toMatchObject(OTHER);
  await say({ lakeVersion: 1, layout: 'plain' });
  await expect(settle(madeUp)).rejects.toMatchObject(OTHER);
  await store.remove(LAKE_KEY);
  await writeReceipt(store, makeReceipt({ job: 'x', vessel: 'IMO9321483', date: '2026-01-05' }));
  await expect(settle(madeUp)).rejects.toMatchObject(OTHER);
  expect(await fileNow()).toBeUndefined();
});

test('processes that race, for the first use or to add their jobs, lose none of them', async () => {
  const job = fc.constantFrom('a', 'b', 'c', 'd');
  const process = fc.record({ job, source: fc.constantFrom(HERE, 'https://other.example.com') });
  await fc.assert(
    fc.asyncProperty(
      fc.array(process, { minLength: 2, maxLength: 6 }),
      fc.boolean(),
      async (racers, isThere) => {
        await store.remove(LAKE_KEY);
        if (isThere) await say({ lakeVersion: 1, layout: 'plain' });
        const ended = await Promise.allSettled(racers.map(({ job, source }) => settle(source, job)));
        const sources = (await fileNow())!.sources!;
        expect(Object.keys(sources).sort()).toEqual([...new Set(racers.map(({ job }) => job))].sort());
        for (const [at, { job, source }] of racers.entries())
          expect(ended[at]!.status).toBe(sources[job] === source ? 'fulfilled' : 'rejected');
      },
    ),
    { numRuns: 30 },
  );
});
