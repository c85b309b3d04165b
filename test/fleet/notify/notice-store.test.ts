/** What was told outlives a lake that takes nothing or cannot be read, with a real Redis beside it. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RetriableError } from '../../../src/core/errors.ts';
import { createSharedText, withOtherPlace } from '../../../src/fleet/notify/notice-store.ts';
import { NOTICES_KEY as KEY } from '../../../src/lake/keys.ts';
import { openRedis } from '../../../src/redis/connection.ts';
import { createLocalStore } from '../../../src/store/local/local.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { redisForTests } from '../../helpers/redis.ts';
import { newLake, type TestLake } from '../../helpers/run.ts';

const server = await redisForTests();
const connection = server && (await openRedis(server.url));
const AWAY = new RetriableError('store-unreachable', 'the lake is out of reach');

describe.skipIf(server === undefined)('what was told', () => {
  let lake: TestLake;
  let store: ObjectStore;
  let key: string;
  /** What the lake refuses. */
  let closed: { get?: boolean; putIf?: boolean };
  let isRedisAway: boolean;

  beforeEach(async () => {
    lake = await newLake();
    store = createLocalStore(lake.dir);
    key = `${server!.newPrefix()}:notices:told`;
    closed = {};
    isRedisAway = false;
  });
  afterEach(() => lake[Symbol.asyncDispose]());
  afterAll(async () => {
    await connection!.close();
    await server!.stop();
  });

  /** As a process opens it. */
  function open() {
    const lakeOf: Pick<ObjectStore, 'get' | 'putIf'> = {
      get: async (...call) => (closed.get ? Promise.reject(AWAY) : store.get(...call)),
      putIf: async (...call) => (closed.putIf ? Promise.reject(AWAY) : store.putIf(...call)),
    };
    const shared = createSharedText(connection!.run, key);
    return withOtherPlace(lakeOf, {
      read: async () => (isRedisAway ? Promise.reject(AWAY) : shared.read()),
      replace: async (...call) => (isRedisAway ? Promise.reject(AWAY) : shared.replace(...call)),
    });
  }
  const textIn = async (opened: Pick<ObjectStore, 'get'>) => {
    const object = await opened.get(KEY);
    return object && { text: Buffer.from(object.bytes).toString(), version: object.version };
  };
  const put = (opened: Pick<ObjectStore, 'putIf'>, text: string, version: string | null) =>
    opened.putIf(KEY, Buffer.from(text), version);

  test('stands in the lake, and nowhere else is looked while that can be read', async () => {
    const one = open();
    expect(await one.get(KEY)).toBeUndefined();
    expect(await put(one, 'told', null)).toBeDefined();
    expect(await textIn(store)).toMatchObject({ text: 'told' });
    // Somebody else's, who has lost Redis.
    isRedisAway = true;
    const other = open();
    expect(await put(other, 'more', (await textIn(other))!.version)).toBeDefined();
    isRedisAway = false;
    expect(await textIn(open())).toMatchObject({ text: 'more' });
    // Of two who have read the same one writes.
    const { version } = (await textIn(one))!;
    expect(await put(open(), 'mine', version)).toBeDefined();
    expect(await put(one, 'his', version)).toBeUndefined();
  });

  test('is known to the next process while the lake takes nothing, and stands there once it does', async () => {
    const one = open();
    await one.get(KEY);
    closed = { putIf: true };
    const first = await put(one, 'begun', null);
    expect(first).toBeDefined();
    expect(await put(one, 'told', first!)).toBeDefined();
    closed = { get: true, putIf: true };
    const other = open();
    const read = (await textIn(other))!;
    expect(read.text).toBe('told');
    // Who has read before that does not replace it.
    expect(await put(one, 'old', first!)).toBeUndefined();
    closed = {};
    expect(await put(other, 'over', read.version)).toBeDefined();
    expect(await textIn(store)).toMatchObject({ text: 'over' });
    closed = { get: true };
    expect(await textIn(open())).toMatchObject({ text: 'over' });
  });

  test('is not made up: without the lake and Redis nothing is known, and nothing is written', async () => {
    const one = open();
    await put(one, 'told', null);
    [closed, isRedisAway] = [{ get: true, putIf: true }, true];
    await expect(open().get(KEY)).rejects.toBe(AWAY);
    await expect(put(open(), 'x', null)).rejects.toBe(AWAY);
  });

  test('of a lake that was never read is nothing: better told twice than not at all', async () => {
    closed = { get: true, putIf: true };
    const one = open();
    expect(await one.get(KEY)).toBeUndefined();
    expect(await put(one, 'told', null)).toBeDefined();
    expect(await textIn(open())).toMatchObject({ text: 'told' });
  });
});
