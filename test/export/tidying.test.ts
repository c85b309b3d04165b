/** What an attempt leaves behind once the day is published, by it or by another: nothing that calls it failed. */
import { expect, test } from 'vitest';
import { FatalError, RetriableError } from '../../src/core/errors.ts';
import { removeFinishedClaims } from '../../src/lake/claims/claims.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { type Asked, DAY, type OpenLake, openMemoryLake, seriesOf } from '../helpers/memory-lake.ts';

const AWAY = new RetriableError('s3-unavailable', 'the store is away');
const FORBIDDEN = new FatalError('no-permission', 'may not remove');
const takeOver = ({ run }: OpenLake, asked: Asked = {}) => run({ takeover: true, ...asked });

/** A store whose first removal of claims fails. */
function failingOnce(store: ObjectStore, error: Error): ObjectStore {
  let left = 1;
  const removeAll: typeof store.removeAll = async (keys, mayReturn = []) => {
    if ([...keys, ...mayReturn].some((key) => key.startsWith('_checkpoints/')) && left-- > 0) throw error;
    return await store.removeAll(keys, mayReturn);
  };
  return { ...store, removeAll };
}

/** The code of the note, if there is one, and how many claims there are. */
const left = async ({ note, unfinished }: OpenLake) => [(await note())?.code, (await unfinished()).length];

test.for(['plain', 'delta'] as const)(
  'a store in trouble after the receipt makes no failure of a published day: %s',
  async (layout) => {
    const lake = openMemoryLake([seriesOf('A')], layout);
    const over = { store: failingOnce(lake.store, AWAY) };
    expect(await takeOver(lake, { over })).toMatchObject({ code: 'published' });
    expect(await left(lake)).toEqual([undefined, 1]);
    expect(await removeFinishedClaims(lake.store, DAY.job)).toBe(1);
    expect(await left(lake)).toEqual([undefined, 0]);
  },
);

test('what will not pass by itself is said, and no longer once it has passed', async () => {
  const lake = openMemoryLake([seriesOf('A')]);
  const over = { store: failingOnce(lake.store, FORBIDDEN) };
  expect(await takeOver(lake, { over })).toMatchObject({ message: 'may not remove' });
  expect(await lake.receipt()).toBeDefined();
  expect(await left(lake)).toEqual(['no-permission', 1]);
  expect(await takeOver(lake)).toMatchObject({ code: 'done' });
  expect(await left(lake)).toEqual([undefined, 0]);
});

test('an attempt that fails once another has published the day does not call it failed', async () => {
  const lake = openMemoryLake([seriesOf('A')]);
  const { client } = lake.source;
  const exchange: typeof client.exchange = async () => {
    expect(await takeOver(lake)).toMatchObject({ code: 'published' });
    throw new FatalError('forbidden', 'nothing for you');
  };
  expect(await takeOver(lake, { over: { client: { ...client, exchange } } })).not.toHaveProperty('receipt');
  expect(await left(lake)).toEqual([undefined, 0]);
});

test('an attempt that fails by itself says so, also where the answer to its last removal was lost', async () => {
  const lake = openMemoryLake([]);
  const { store } = lake;
  const removeIf: typeof store.removeIf = async (...asked) => (await store.removeIf(...asked)) && false;
  for (const over of [{}, { store: { ...store, removeIf } }]) {
    expect(await takeOver(lake, { over })).toMatchObject({ code: 'no-series' });
    expect(await left(lake)).toEqual(['no-series', 0]);
    await store.removeAll(['_notes/m/date=2026-01-05/vessel=IMO9321483.json']);
  }
});
