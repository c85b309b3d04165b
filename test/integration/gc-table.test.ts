/** gc on a delta lake: files that no version within the retention names go, and nothing that anybody may yet commit. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { VesselDay } from '../../src/core/model/index.ts';
import { silentLog, systemClock } from '../../src/core/model/index.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { claimKey, LAKE_KEY, objectKey, tableFileKey } from '../../src/lake/keys.ts';
import type { Action } from '../../src/lake/table/actions.ts';
import { openTable } from '../../src/lake/table/table.ts';
import { findGarbage } from '../../src/lake/upkeep/garbage.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import { s3ForTests } from '../helpers/s3.ts';
import type { StorePlace } from '../helpers/store-places.ts';
import { storePlaces } from '../helpers/store-places.ts';
import { append, MEASUREMENTS, newTable, placeOf } from '../lake/table/fixtures.ts';
import { collect, keysOf } from '../store/store-suite.ts';

const s3 = await s3ForTests();
const DAY_MS = 86_400_000;
/** Files are written now; gc looks at them in two days. */
const NOW_MS = Date.now() + 2 * DAY_MS;
const clock = { ...systemClock, nowMs: () => NOW_MS };
const dayOf = (date: string): VesselDay => ({ job: 'measurements', vessel: 'IMO9321483', date });

describe.each(storePlaces(s3))('%s', (_, open) => {
  let place: StorePlace;
  let store: ObjectStore;
  beforeEach(async () => {
    place = await open();
    ({ store } = place);
    await store.put(LAKE_KEY, Buffer.from('{"lakeVersion":1,"layout":"delta"}'));
  });
  afterEach(async () => {
    await store.close();
    await place.drop();
  });

  /** An object of a day; its key. */
  async function putFile(date: string, unique: string): Promise<string> {
    const key = tableFileKey(dayOf(date), unique);
    await store.put(key, Buffer.from(unique));
    return key;
  }
  const pathOf = (key: string) => key.slice('measurements/'.length);
  function add(key: string, date: string): Action {
    const partitionValues = { vessel: 'IMO9321483', date };
    return { add: { path: pathOf(key), partitionValues, size: 1, modificationTime: 1, dataChange: true } };
  }
  function remove(key: string, daysAgo: number): Action {
    return {
      remove: { path: pathOf(key), deletionTimestamp: Date.now() - daysAgo * DAY_MS, dataChange: true },
    };
  }
  async function gc(yes: boolean, at = clock): Promise<string[]> {
    const said: string[] = [];
    for await (const item of findGarbage({ store, clock: at, self: thisProcess() })) {
      const state = item.keep ? 'kept' : yes ? ((await item.remove()) ? 'removed' : 'in use') : 'found';
      said.push(`${state} ${item.kind} ${item.key}`);
    }
    return said;
  }
  const claim = (epoch: number, heartbeatMs: number) =>
    Buffer.from(
      JSON.stringify({
        ...{ claimVersion: 1, epoch, attempt: 'a', settingsHash: 'h', checkpoint: null, sealed: null },
        ...{ owner: { host: 'elsewhere', pid: 1 }, heartbeatMs },
      }),
    );

  test('what left the table long ago and what was never in it goes; everything else stays', async () => {
    const table = await newTable(placeOf(store));
    const live = await putFile('2026-01-05', 'live');
    const recent = await putFile('2026-01-05', 'replaced four days ago');
    const old = await putFile('2026-01-05', 'replaced eight days ago');
    const never = await putFile('2026-01-06', 'never committed');
    const converted = objectKey(dayOf('2026-01-07'));
    await store.put(converted, Buffer.from('converted'));
    const claimed = await putFile('2026-01-08', 'claimed');
    await store.put(claimKey(dayOf('2026-01-08'), 1), claim(1, NOW_MS));
    const received = await putFile('2026-01-09', 'its receipt names it');
    const named = makeReceipt(dayOf('2026-01-09'));
    await writeReceipt(store, { ...named, object: { ...named.object!, key: received } });
    await store.put('measurements/notes.txt', Buffer.from('of somebody'));
    await append(table, add(old, '2026-01-05'), add(converted, '2026-01-07'));
    await append(table, remove(old, 8), add(recent, '2026-01-05'));
    await append(table, remove(recent, 4), add(live, '2026-01-05'));

    const before = await keysOf(store, '');
    expect(await gc(true, { ...systemClock, nowMs: () => Date.now() + DAY_MS / 2 })).toEqual([
      `kept claim ${claimKey(dayOf('2026-01-08'), 1)}`,
    ]);
    const found = [never, old].sort((a, b) => (a < b ? -1 : 1));
    const files = (state: string) => [...found.map((key) => `${state} file ${key}`), `kept file ${claimed}`];
    const inOrder = (all: string[]) => all.filter((text) => text.includes(' file ')).sort();
    expect(inOrder(await gc(false))).toEqual(files('found').sort());
    expect(await keysOf(store, '')).toEqual(before);
    expect(inOrder(await gc(true))).toEqual(files('removed').sort());
    const left = await keysOf(store, '');
    expect(before.filter((key) => !left.includes(key)).sort()).toEqual(found.sort());
    expect(inOrder(await gc(true))).toEqual([`kept file ${claimed}`]);
  });

  /** A table with a file that was replaced so many days ago; its key. */
  async function replaced(daysAgo: number, configuration: Record<string, string> = {}): Promise<string> {
    const table = await newTable(placeOf(store));
    const [old, live] = [await putFile('2026-01-05', 'old'), await putFile('2026-01-05', 'live')];
    const { configuration: own } = table.metadata!;
    await append(table, { metaData: { ...table.metadata!, configuration: { ...own, ...configuration } } });
    await append(table, add(old, '2026-01-05'));
    await append(table, remove(old, daysAgo), add(live, '2026-01-05'));
    return old;
  }

  test('by a clock that is ahead nothing goes that readers may still want', async () => {
    const old = await replaced(1);
    const ahead = { ...clock, nowMs: () => Date.now() + 30 * DAY_MS };
    expect(await gc(true, ahead)).toEqual([`in use file ${old}`]);
    expect(await store.head(old)).toBeDefined();
  });

  test("what left the table stays as long as the table's own configuration says", async () => {
    const name = 'delta.deletedFileRetentionDuration';
    const old = await replaced(12, { [name]: 'interval 14 days' });
    expect(await gc(true, { ...clock, nowMs: () => Date.now() + DAY_MS })).toEqual([]);
    const table = await openTable(placeOf(store));
    const say = (text: string) =>
      append(table, { metaData: { ...table.metadata!, configuration: { [name]: text } } });
    await say('two weeks');
    expect(await gc(true)).toEqual(['kept file measurements/_delta_log/']);
    await say('interval 2 days');
    expect(await gc(true)).toEqual([`removed file ${old}`]);
  });

  test('an attempt that was stopped before its commit cannot commit what was removed', async () => {
    await newTable(placeOf(store));
    const stopped = await openTable(placeOf(store));
    const file = await putFile('2026-01-05', 'uploaded, and then the machine slept');
    const day = dayOf('2026-01-05');
    await store.put(claimKey(day, 1), claim(1, NOW_MS - 3 * DAY_MS));
    // It has seen version 0 and its claim, and is about to put version 1.
    expect(
      (await gc(true, { ...clock, nowMs: () => NOW_MS + DAY_MS })).map((text) => text.split(' ')[0]),
    ).toEqual(['removed', 'removed']);
    expect(await store.head(file)).toBeUndefined();
    expect(await stopped.commit(0, 'WRITE', [add(file, '2026-01-05')])).toBe(false);
  });

  test('an attempt that commits between look and removal keeps its file', async () => {
    await newTable(placeOf(store));
    const file = await putFile('2026-01-05', 'slow');
    const items = await collect(findGarbage({ store, clock, self: thisProcess() }));
    expect(items.map(({ key, keep }) => ({ key, keep }))).toEqual([{ key: file, keep: false }]);
    await append(await openTable(placeOf(store)), add(file, '2026-01-05'));
    expect(await items[0]!.remove()).toBe(false);
    expect(await store.head(file)).toBeDefined();
  });

  test('nothing is removed where the log is missing or damaged', async () => {
    const file = await putFile('2026-01-05', 'a');
    expect(await gc(true)).toEqual(['kept file measurements/_delta_log/']);
    await store.put(`measurements/_delta_log/${'0'.repeat(20)}.json`, Buffer.from('{"add":'));
    expect(await gc(true)).toEqual(['kept file measurements/_delta_log/']);
    expect(await store.head(file)).toBeDefined();
  });

  test('in a plain lake no such file is touched', async () => {
    await store.put(LAKE_KEY, Buffer.from('{"lakeVersion":1,"layout":"plain"}'));
    const file = await putFile('2026-01-05', 'a');
    expect(await gc(true)).toEqual([]);
    expect(await store.head(file)).toBeDefined();
  });

  test('a checkpoint that was being written goes after a day', async () => {
    await newTable(placeOf(store));
    const key = `measurements/_delta_log/${'0'.repeat(20)}.checkpoint.parquet`;
    await store.begin(key, 'nonce');
    expect(await gc(true)).toEqual([`removed upload ${key}`]);
    const ports = { store, clock, log: silentLog, prefix: 'measurements/' };
    expect((await openTable(ports)).preparation(MEASUREMENTS)).toEqual([]);
  });
});
