/** What a store finds out about its server, and what it makes of it. */

import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { CommitFailedError } from '../../src/errors.ts';
import { createS3Store } from '../../src/store/s3.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { startConditionalS3 } from '../helpers/conditional-s3.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { bytes, expectFault, keysOf, textOf } from './store-suite.ts';

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
    expect(probes).toBeLessThanOrEqual(9);
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
    expect(await store.capabilities()).toEqual({ conditionalReplace: true, conditionalComplete: true });
    const upload = async (text: string) => {
      const created = await store.createUpload('day', `nonce-${text}`);
      return { created, parts: [await store.uploadPart(created, 1, bytes(text))] };
    };
    const first = await upload('first');
    const second = await upload('second');
    await store.completeUpload(first.created, first.parts, null);
    const { version } = (await store.head('day'))!;
    proxy.seen.length = 0;
    const changed = () => store.completeUpload(second.created, second.parts, null);
    await expectFault(changed, CommitFailedError, 'object-changed');
    expect(proxy.seen.map(({ method, headers }) => [method, headers['if-none-match']])).toEqual([
      ['POST', '*'],
    ]);
    await store.completeUpload(second.created, second.parts, version);
    expect(await textOf(store, 'day')).toBe('second');
  });
});

/** A server of objects in memory that takes every write, whatever condition it names. */
async function startHeedlessServer(): Promise<{
  server: Server;
  endpoint: string;
  objects: Map<string, Buffer>;
}> {
  const objects = new Map<string, Buffer>();
  const server = createServer(async (request, response) => {
    const { method, url = '' } = request;
    const key = new URL(url, 'http://s3').pathname;
    const body = Buffer.concat(await request.toArray());
    if (method === 'PUT') objects.set(key, body);
    if (method === 'DELETE') objects.delete(key);
    const found = objects.get(key);
    if (found === undefined)
      return void response
        .writeHead(method === 'DELETE' ? 204 : 404)
        .end('<Error><Code>NoSuchKey</Code></Error>');
    response.setHeader('etag', `"${hash('md5', found)}"`);
    response.end(method === 'PUT' ? undefined : found);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, objects, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('where a server ignores conditions, a look before and after stands in for them', async () => {
  const { server, endpoint, objects } = await startHeedlessServer();
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
  const store = createS3Store({ bucket: 'b', prefix: 'lake', endpoint, region: 'us-east-1', credentials });
  try {
    expect(await store.capabilities()).toEqual({ conditionalReplace: false, conditionalComplete: false });
    expect([...objects.keys()]).toEqual([]);
    await store.put('a', bytes('one'));
    const { version } = (await store.head('a'))!;
    const second = await store.putIf('a', bytes('two'), version);
    expect(second).toBe((await store.head('a'))!.version);
    expect(await store.putIf('a', bytes('late'), version)).toBeUndefined();
    expect(await store.putIf('a', bytes('two'), version)).toBe(second);
    expect(await store.putIf('none', bytes('late'), version)).toBeUndefined();
    expect(await textOf(store, 'a')).toBe('two');
    expect(await store.removeIf('a', version)).toBe(false);
    expect(await store.removeIf('a', second!)).toBe(true);
  } finally {
    await store.close();
    server.close();
    server.closeAllConnections();
  }
});
