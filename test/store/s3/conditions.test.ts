/** What a store finds out about its server, and what it makes of it. */

import { expect, onTestFinished, test } from 'vitest';
import { CommitFailedError } from '../../../src/core/errors.ts';
import { createS3Store } from '../../../src/store/s3/s3.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { startConditionalS3 } from '../../helpers/conditional-s3.ts';
import type { HeedlessS3, Heeds } from '../../helpers/heedless-s3.ts';
import { startHeedlessS3 } from '../../helpers/heedless-s3.ts';
import { s3ForTests } from '../../helpers/s3.ts';
import { startFaultProxy } from '../fault-proxy.ts';
import { bytes, expectFault, keysOf, textOf } from '../store-suite.ts';

const s3 = await s3ForTests();

async function withStore(endpoint: string, act: (store: ObjectStore) => Promise<void>): Promise<void> {
  const { region, accessKeyId, secretAccessKey } = s3!;
  const { bucket, drop } = await s3!.newBucket();
  const credentials = { accessKeyId, secretAccessKey };
  const store = createS3Store({ bucket, prefix: 'lake', endpoint, region, credentials });
  try {
    await act(store);
  } finally {
    await store.close();
    await drop();
  }
}

test.skipIf(s3 === undefined)('a server is probed once, and nothing is left of it', async () => {
  await using proxy = await startFaultProxy(s3!.endpoint);
  await withStore(proxy.endpoint, async (store) => {
    expect((await store.capabilities()).conditionalReplace).toBe(true);
    const probes = proxy.seen.length;
    expect(probes).toBeLessThanOrEqual(10);
    const version = (await store.putIf('a', bytes('one'), null))!;
    await store.putIf('a', bytes('two'), version);
    await store.capabilities();
    expect(proxy.seen.length).toBe(probes + 2);
    expect(await keysOf(store, '')).toEqual(['a']);
  });
});

test.skipIf(s3 === undefined)('an upload is completed conditionally where the server can', async () => {
  await using proxy = await startConditionalS3(s3!);
  await withStore(proxy.endpoint, async (store) => {
    expect(await store.capabilities()).toEqual({
      ...{ conditionalPut: true, conditionalReplace: true, conditionalComplete: true },
    });
    const upload = async (text: string) => {
      const created = await store.begin('day', `nonce-${text}`);
      return { created, parts: [await store.append(created, 1, bytes(text))] };
    };
    const first = await upload('first');
    const second = await upload('second');
    await store.publish(first.created, first.parts, null);
    const { version } = (await store.head('day'))!;
    proxy.seen.length = 0;
    const changed = () => store.publish(second.created, second.parts, null);
    await expectFault(changed, CommitFailedError, 'object-changed');
    expect(proxy.seen.map(({ method, headers }) => [method, headers['if-none-match']])).toEqual([
      ['POST', '*'],
    ]);
    await store.publish(second.created, second.parts, version);
    expect(await textOf(store, 'day')).toBe('second');
  });
});

test('where a server ignores conditions, a look before and after stands in for them', async () => {
  await using server = await startHeedlessS3();
  const { endpoint, objects } = server;
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
  const store = createS3Store({ bucket: 'b', prefix: 'lake', endpoint, region: 'us-east-1', credentials });
  try {
    expect(await store.capabilities()).toEqual({
      ...{ conditionalPut: false, conditionalReplace: false, conditionalComplete: false },
    });
    expect([...objects.keys()]).toEqual([]);
    await store.put('a', bytes('one'));
    const { version } = (await store.head('a'))!;
    const second = await store.putIf('a', bytes('two'), version);
    expect(second).toBe((await store.head('a'))!.version);
    expect(await store.putIf('a', bytes('late'), version)).toBeUndefined();
    expect(await store.putIf('a', bytes('two'), version)).toBe(second);
    // What a predecessor has left there stays: of one writer after the other nothing is lost.
    expect(await store.putIfAbsent('a', bytes('new'))).toBe(false);
    expect(await store.putIfAbsent('b', bytes('new'))).toBe(true);
    expect(await store.putIf('none', bytes('late'), version)).toBeUndefined();
    expect(await textOf(store, 'a')).toBe('two');
    expect(await store.removeIf('a', version)).toBe(false);
    expect(await store.removeIf('a', second!)).toBe(true);
  } finally {
    await store.close();
  }
});

/** A store on a server in memory; both end with the test. */
async function onHeedless(heeds: Heeds): Promise<{ store: ObjectStore; server: HeedlessS3 }> {
  const server = await startHeedlessS3(heeds);
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
  const { endpoint } = server;
  const store = createS3Store({ bucket: 'b', prefix: 'lake', endpoint, region: 'us-east-1', credentials });
  onTestFinished(async () => {
    await store.close();
    await server[Symbol.asyncDispose]();
  });
  return { store, server };
}

test('a server that completes over another version is looked at first, though it obeys If-None-Match (moto 5.2)', async () => {
  const { store, server } = await onHeedless({ put: true, completeIfAbsent: true });
  expect(await store.capabilities()).toEqual({
    ...{ conditionalPut: true, conditionalReplace: true, conditionalComplete: false },
  });
  expect([...server.objects.keys()]).toEqual([]);
  await store.put('day', bytes('one'));
  const { version } = (await store.head('day'))!;
  await store.put('day', bytes('two'));
  const upload = await store.begin('day', 'late');
  const parts = [await store.append(upload, 1, bytes('late'))];
  const late = () => store.publish(upload, parts, version);
  await expectFault(late, CommitFailedError, 'object-changed');
  expect(await textOf(store, 'day')).toBe('two');
});

test.each([
  ['any', false],
  ['last', true],
] as const)(
  'an upload of which %s part of a number can be completed is taken over: %s (SeaweedFS 4 takes any)',
  async (parts, isAdopted) => {
    const { store, server } = await onHeedless({ parts });
    const upload = await store.begin('day', 'first');
    const known = [await store.append(upload, 1, bytes('known'))];
    expect(await store.adopt(upload, known, 'second')).toEqual(isAdopted ? upload : undefined);
    const probes = server.asked.length;
    await store.adopt(upload, known, 'third');
    // It is tried once, and nothing is left of that.
    expect(server.asked.length - probes).toBeLessThanOrEqual(1);
    expect([...server.objects.keys()]).toEqual([]);
  },
);
