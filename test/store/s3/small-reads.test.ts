/** The short way of reading: what a server may say to it, and when the SDK is asked all the same. */
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import type { Place } from '../answering-s3.ts';
import { place, refuse } from '../answering-s3.ts';

const KEY = "a folder/it's (ä) & more.json";
const md5 = (text: string) => createHash('md5').update(text).digest('hex');

const give = (response: ServerResponse, text: string, etag: string) =>
  void response.writeHead(200, { etag, 'content-length': Buffer.byteLength(text) }).end(text);
const pathOf = ({ url }: { readonly url: string }) => url.split('?')[0];
const textOf = async ({ store }: Place) => Buffer.from((await store.get(KEY))?.bytes ?? []).toString();

test('an object is one request, at the address that the SDK would ask', async () => {
  const etag = `"${md5('whole')}"`;
  const short = await place((response) => give(response, 'whole', etag));
  expect((await short.store.get(KEY))?.version).toBe(etag);
  expect(await textOf(short)).toBe('whole');
  const long = await place((response) => give(response, 'whole', etag), { maxAttempts: 1 });
  expect(await textOf(long)).toBe('whole');
  expect(long.asked.map(pathOf)).toEqual(short.asked.slice(1).map(pathOf));
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
