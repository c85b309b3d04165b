/** How a lake is read: first use, lakes from before, and how long a look at a plain one is believed. */
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Layout, silentLog } from '../../src/core/model/index.ts';
import { claimKey, LAKE_KEY, receiptKey } from '../../src/lake/keys.ts';
import { readLayout } from '../../src/lake/lake-file.ts';
import { createLakeLayout, LOOK_MS } from '../../src/lake/layout.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { newMemoryFolder, type TempFolder } from '../helpers/temp.ts';

const JOB = 'measurements';
const DAY = { job: JOB, vessel: 'IMO9321483', date: '2026-01-05' };
const CONVERTING = '{"lakeVersion":1,"layout":"plain","converting":{"to":"delta","by":"x"}}';
let folder: TempFolder;
let store: ObjectStore;
let looks = 0;

beforeEach(async () => {
  folder = await newMemoryFolder();
  const local = createLocalStore(folder.path);
  looks = 0;
  store = {
    ...local,
    get: (key) => {
      if (key === LAKE_KEY) looks++;
      return local.get(key);
    },
  };
});
afterEach(async () => {
  await store.close();
  await folder.remove();
});

function open(wanted?: Layout) {
  const clock = createManualClock();
  const options = { store, clock, log: silentLog, wanted, source: { url: 'https://here/acme' } };
  return { clock, layout: createLakeLayout({ ...options, isShared: false }) };
}

const say = (text: string) => store.put(LAKE_KEY, Buffer.from(text));

test.each([
  [undefined, 'plain'],
  ['plain', 'plain'],
  ['delta', 'delta'],
] as const)('a new lake, with LAKE_LAYOUT %s, is %s', async (wanted, expected) => {
  expect(await open(wanted).layout.settle()).toBe(expected);
  expect(await readLayout(store)).toBe(expected);
  const { bytes } = (await store.get(LAKE_KEY))!;
  expect(JSON.parse(Buffer.from(bytes).toString())).toEqual({ lakeVersion: 1, layout: expected });
});

test('vessel-days that begin together look once, at the first use and at each look after it', async () => {
  const { clock, layout } = open();
  const begin = () => Promise.all([1, 2, 3, 4].map(() => layout.settle(JOB)));
  await begin();
  expect(looks).toBe(1);
  await clock.advance(LOOK_MS);
  await begin();
  expect(looks).toBe(2);
});

test('of processes that race for a new lake all find the same, or are refused', async () => {
  const found = await Promise.allSettled(
    (['plain', 'delta', 'plain', 'delta', undefined] as const).map((wanted) => open(wanted).layout.settle()),
  );
  const layout = await readLayout(store);
  for (const one of found)
    if (one.status === 'fulfilled') expect(one.value).toBe(layout);
    else expect(one.reason).toMatchObject({ code: 'lake-layout' });
  expect(found.filter(({ status }) => status === 'rejected')).toHaveLength(2);
});

test('a lake with receipts and without the file is plain, unless it has tables', async () => {
  await writeReceipt(store, makeReceipt(DAY));
  await expect(open('delta').layout.settle()).rejects.toMatchObject({ code: 'lake-layout' });
  expect(await readLayout(store)).toBe('plain');
  await store.put('measurements/_delta_log/00000000000000000000.json', Buffer.from('{}\n'));
  await expect(open().layout.settle()).rejects.toMatchObject({ code: 'damaged-lake-file' });
  expect(await store.get(LAKE_KEY)).toBeUndefined();
});

test.each([
  ['a file in the place of the folder of claims', dirname(claimKey(DAY, 1)), 'poison'],
  ['a note of somebody', '_ledger/README', 'ours'],
  ['a claim that is none', claimKey(DAY, 1), 'poison'],
  ['a receipt that is none', receiptKey(DAY), '{"receiptVersion":1,"rows":"many"}'],
])('%s makes no old lake of a new one', async (_, key, text) => {
  await store.put(key, Buffer.from(text));
  expect(await open('delta').layout.settle()).toBe('delta');
});

test('a claim makes an old lake', async () => {
  await store.put(claimKey(DAY, 1), Buffer.from('{"claimVersion":1,"epoch":1}'));
  await expect(open('delta').layout.settle()).rejects.toMatchObject({ code: 'lake-layout' });
});

test.each([[claimKey(DAY, 1)], ['measurements/_delta_log/00000000000000000000.json']])(
  'a process whose first look at a new lake another one outruns, down to %s, goes by what that one wrote',
  async (written) => {
    const { list } = store;
    store = {
      ...store,
      list(prefix) {
        store = { ...store, list };
        return (async function* () {
          await open('delta').layout.settle();
          await store.put(claimKey(DAY, 1), Buffer.from('{"claimVersion":1,"epoch":1}'));
          await store.put(written, Buffer.from('{"claimVersion":1,"epoch":1}'));
          yield* store.list(prefix);
        })();
      },
    };
    expect(await open('delta').layout.settle()).toBe('delta');
  },
);

test.each([
  ['{', 'damaged-lake-file'],
  ['{"lakeVersion":1,"layout":"iceberg"}', 'damaged-lake-file'],
  ['{"lakeVersion":1}', 'damaged-lake-file'],
  ['{"lakeVersion":2,"layout":"plain"}', 'unknown-lake-version'],
  [CONVERTING, 'lake-converting'],
])('%s is no lake to export into', async (text, code) => {
  await say(text);
  await expect(open().layout.settle()).rejects.toMatchObject({ code });
});

test('a lake is looked at again when the look is old by either clock', async () => {
  const { clock, layout } = open();
  await layout.settle(JOB);
  looks = 0;
  await clock.advance(LOOK_MS - 1);
  await layout.confirm('plain', JOB);
  expect(looks).toBe(0);
  await clock.advance(1);
  await layout.confirm('plain', JOB);
  expect(looks).toBe(1);
  await say(CONVERTING);
  await clock.advance(LOOK_MS);
  await expect(layout.confirm('plain', JOB)).rejects.toMatchObject({ code: 'lake-converting' });
  await say('{"lakeVersion":1,"layout":"delta"}');
  await expect(layout.confirm('plain', JOB)).rejects.toMatchObject({ code: 'lake-converting' });
  expect(await layout.settle()).toBe('delta');
});

test('check says what cannot go well, and writes nothing', async () => {
  await open('delta').layout.check([JOB]);
  expect(await store.get(LAKE_KEY)).toBeUndefined();
  await open('plain').layout.settle();
  await expect(open('delta').layout.check([JOB])).rejects.toMatchObject({ code: 'lake-layout' });
  await say(CONVERTING);
  await expect(open('plain').layout.check([JOB])).rejects.toMatchObject({ code: 'lake-converting' });
});
