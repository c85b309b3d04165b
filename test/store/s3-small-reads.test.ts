/** The short way of reading: what a server may say to it, and when the SDK is asked all the same. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { FatalError } from '../../src/errors.ts';
import { createS3Store } from '../../src/store/s3.ts';
import type { ObjectStore } from '../../src/store/store.ts';

const KEY = "a folder/it's (ä) & more.json";
const md5 = (text: string) => createHash('md5').update(text).digest('hex');
const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

interface Place {
  readonly store: ObjectStore;
  /** Paths, in order. */
  readonly asked: string[];
}

async function place(answer: (response: ServerResponse, request: number) => void, more = {}): Promise<Place> {
  const asked: string[] = [];
  const server = createServer((request, response) => answer(response, asked.push(request.url ?? '')));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = { bucket: 'bucket', prefix: 'lake', endpoint, region: 'us-east-1', credentials };
  const store = createS3Store({ ...options, maxAttempts: 2, ...more });
  opened.push({
    async [Symbol.asyncDispose]() {
      await store.close();
      server.closeAllConnections();
      server.close();
    },
  });
  return { store, asked };
}

const give = (response: ServerResponse, text: string, etag: string) =>
  void response.writeHead(200, { etag, 'content-length': Buffer.byteLength(text) }).end(text);
const refuse = (response: ServerResponse, status: number, code: string) => {
  const text = `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`;
  response.writeHead(status, { 'content-length': text.length }).end(text);
};
const textOf = async ({ store }: Place) => Buffer.from((await store.get(KEY))?.bytes ?? []).toString();

test('an object is one request, at the address that the SDK would ask', async () => {
  const etag = `"${md5('whole')}"`;
  const short = await place((response) => give(response, 'whole', etag));
  expect((await short.store.get(KEY))?.version).toBe(etag);
  expect(await textOf(short)).toBe('whole');
  const long = await place((response) => give(response, 'whole', etag), { maxAttempts: 1 });
  expect(await textOf(long)).toBe('whole');
  expect(long.asked.map((url) => url.split('?')[0])).toEqual(short.asked.slice(1));
});

test('none is one request too', async () => {
  const missing = await place((response) => refuse(response, 404, 'NoSuchKey'));
  expect(await missing.store.get(KEY)).toBeUndefined();
  expect(missing.asked).toHaveLength(1);
});

test('other answers are for the SDK: what they mean, and trying again', async () => {
  const gone = await place((response) => refuse(response, 404, 'NoSuchBucket'));
  await expect(gone.store.get(KEY)).rejects.toThrow(FatalError);
  const forbidden = await place((response) => refuse(response, 403, 'AccessDenied'));
  await expect(forbidden.store.get(KEY)).rejects.toMatchObject({ code: 'no-permission' });
  const busy = await place((response, request) =>
    request < 3 ? refuse(response, 503, 'SlowDown') : give(response, 'whole', `"${md5('whole')}"`),
  );
  expect(await textOf(busy)).toBe('whole');
  expect(busy.asked).toHaveLength(3);
});

test('bytes that are not those of the ETag, or too few, are read again', async () => {
  const damaged = await place((response, request) =>
    give(response, request === 1 ? 'whols' : 'whole', `"${md5('whole')}"`),
  );
  expect(await textOf(damaged)).toBe('whole');
  const cut = await place((response, request) => {
    if (request > 1) return give(response, 'whole', `"${md5('whole')}"`);
    response.writeHead(200, { etag: `"${md5('whole')}"`, 'content-length': 5 });
    response.write('who', () => response.destroy());
  });
  expect(await textOf(cut)).toBe('whole');
});

test('where ETags are no digests it is not tried again', async () => {
  const encrypted = await place((response) => give(response, 'whole', `"${md5('something else')}"`));
  expect(await textOf(encrypted)).toBe('whole');
  expect(await textOf(encrypted)).toBe('whole');
  expect(encrypted.asked).toHaveLength(3);
});
