/** The source is asked while a vessel-day is being claimed; what it said then counts only as long as it may. */
import { expect, test } from 'vitest';
import type { ObjectStore } from '../../src/store/store.ts';
import { type OpenLake, openMemoryLake, seriesOf } from '../helpers/memory-lake.ts';

const DAY_ASKED = ['metadata', 'statistics', 'measurements'];

/** A store that does something before the first claim is put, or once it is put and listed, before anything more is read. */
function during(
  { store }: OpenLake,
  moment: 'before the claim' | 'once it is alone',
  work: () => Promise<void>,
): ObjectStore {
  let state: 'unclaimed' | 'claimed' | 'listed' | 'over' = 'unclaimed';
  const workOnce = async () => {
    state = 'over';
    await work();
  };
  return {
    ...store,
    async putIf(key, bytes, expected) {
      const isClaim = key.startsWith('_checkpoints/') && expected === null;
      if (isClaim && state === 'unclaimed' && moment === 'before the claim') await workOnce();
      if (isClaim && state === 'unclaimed') state = 'claimed';
      return store.putIf(key, bytes, expected);
    },
    async *list(prefix) {
      yield* store.list(prefix);
      if (prefix.startsWith('_checkpoints/') && state === 'claimed') state = 'listed';
    },
    async get(key) {
      if (state === 'listed') await workOnce();
      return store.get(key);
    },
  };
}

const asked = ({ source }: OpenLake, from = 0) => source.requests.slice(from).map(({ family }) => family);

test('series and counts have been asked before the lake is looked at again, once, and readings not', async () => {
  const lake = openMemoryLake([seriesOf('A')]);
  let before: string[] = [];
  const store = during(lake, 'once it is alone', async () => {
    while (!asked(lake).includes('statistics')) await new Promise((resolve) => setImmediate(resolve));
    before = asked(lake);
  });
  expect(await lake.run({ over: { store } })).toMatchObject({ code: 'published' });
  expect(before).toEqual(['metadata', 'statistics']);
  expect(asked(lake)).toEqual(DAY_ASKED);
  expect(await lake.run()).toMatchObject({ code: 'done' });
  expect(asked(lake)).toEqual(DAY_ASKED);
});

test('counts from before somebody else published are asked anew, and refuse nothing', async () => {
  const lake = openMemoryLake([seriesOf('A')]);
  const store = during(lake, 'before the claim', async () => {
    // A receipt that nobody has read yet, with the epoch that is being claimed.
    lake.source.series = [seriesOf('A', 4)];
    expect(await lake.run()).toMatchObject({ code: 'published', receipt: { rows: 4 } });
  });
  const ran = await lake.run({ force: true, over: { store } });
  expect(ran).toMatchObject({ code: 'published', receipt: { rows: 4, epoch: 2 } });
  expect(asked(lake).slice(-3)).toEqual(DAY_ASKED);
});

test('a day that somebody else works on asks nothing', async () => {
  const lake = openMemoryLake([seriesOf('A')]);
  const store = during(lake, 'once it is alone', async () => {
    expect(await lake.run()).toMatchObject({ code: 'running-elsewhere' });
  });
  expect(await lake.run({ over: { store } })).toMatchObject({ code: 'published' });
  expect(asked(lake)).toEqual(DAY_ASKED);
});
