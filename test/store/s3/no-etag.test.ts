/** Answers 200 without an ETag: by the page of somebody in between, or by a store that names none. */
import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { type Place, place, refuse } from '../answering-s3.ts';

const BYTES = Buffer.from('{"some":"bytes"}');
const UPLOAD = { key: 'day', uploadId: 'an-upload', nonce: 'a-nonce' };
const PART = { partNumber: 1, sizeBytes: BYTES.length, sha256: hash('sha256', BYTES), tag: 'e' };
const CREATED =
  '<?xml version="1.0"?><InitiateMultipartUploadResult><UploadId>an-upload</UploadId></InitiateMultipartUploadResult>';
const LOGIN =
  '<!doctype html><html><head><title>Log in</title></head><body>Please <b>log in</b></body></html>';

const logIn = (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'text/html' }).end(LOGIN);
const CALLS: Readonly<Record<string, (place: Place) => Promise<unknown>>> = {
  put: ({ store }) => store.put('a', BYTES),
  'a put where there is none': ({ store }) => store.putIf('a', BYTES, null),
  'a put in the place of a version': ({ store }) => store.putIf('a', BYTES, '"0"'),
  'a part': ({ store }) => store.append(UPLOAD, 3, BYTES),
  'an upload': ({ store }) => store.begin('a', 'a-nonce'),
  'whether the store knows conditions': ({ store }) => store.capabilities(),
  'a get': ({ store }) => store.get('a'),
  'a get of a range': ({ store }) => store.getRange('a', 0, 10),
  'a get of no bytes': ({ store }) => store.getRange('a', 0, 0),
  'a head': ({ store }) => store.head('a'),
  'a list': async ({ store }) => {
    for await (const _ of store.list('a/')) void _;
  },
  'a list of uploads': async ({ store }) => {
    for await (const _ of store.listUploads('a/')) void _;
  },
  'asking whether an upload was published': ({ store }) => store.publishedBy(UPLOAD, [PART]),
  'removing a version': ({ store }) => store.removeIf('a', '"0"'),
};

test.each(Object.keys(CALLS))('the page of a proxy is no answer to %s', async (name) => {
  const found = await place(logIn);
  await expect(CALLS[name]!(found)).rejects.toMatchObject({ name: 'RetriableError' });
});

test('the message says what is missing, and where to look', async () => {
  const { store } = await place(logIn);
  await expect(store.put('a', BYTES)).rejects.toThrow(
    'the answer names no version (ETag): check proxies between this machine and the store',
  );
  await expect(store.head('a')).rejects.toThrow('cannot read s3://bucket/lake/a at http');
  await expect(store.append(UPLOAD, 3, BYTES)).rejects.toThrow(
    'the answer names no version (ETag) of the part: check proxies between this machine and the store',
  );
});

test('nor one to completing an upload: then nobody knows', async () => {
  const { store } = await place(logIn);
  await expect(store.publish(UPLOAD, [PART])).rejects.toMatchObject({ code: 'complete-unknown' });
});

test('what a store that does not name the version that it wrote has written is read back', async () => {
  const { store } = await place(keepObjects({ namesVersions: true }));
  await store.put('a', BYTES);
  expect(await store.putIf('a', Buffer.from('others'), null)).toBeUndefined();
  expect(await store.putIf('b', BYTES, null)).toBe(etagOf(BYTES));
  expect(await store.putIf('b', Buffer.from('others'), etagOf(BYTES))).toBe(etagOf('others'));
  expect(await store.putIf('b', BYTES, etagOf(BYTES))).toBeUndefined();
  expect(await store.capabilities()).toEqual({
    ...{ conditionalPut: true, conditionalReplace: true, conditionalComplete: true },
  });
});

test('a store that never names a version is none to write to', async () => {
  const { store } = await place(keepObjects({ namesVersions: false }));
  await expect(store.putIf('a', BYTES, null)).rejects.toThrow('the answer names no version (ETag)');
  await expect(store.capabilities()).rejects.toThrow('no version (ETag)');
});

const etagOf = (bytes: string | Uint8Array) => `"${hash('md5', bytes)}"`;

/** A store of objects that obeys conditions, and whose answers to PUT have no ETag but those to parts. */
function keepObjects({ namesVersions }: { namesVersions: boolean }): Parameters<typeof place>[0] {
  const objects = new Map<string, string>();
  return (response, _request, { method, url, headers, body }) => {
    const { pathname: name, searchParams: query } = new URL(url, 'http://any');
    const found = objects.get(name);
    const etag = found === undefined ? '' : etagOf(found);
    const { 'if-match': match = etag, 'if-none-match': noneMatch } = headers;
    if (method === 'POST' && query.has('uploads')) return void response.end(CREATED);
    if (query.has('partNumber')) return void response.writeHead(200, { etag: '"part"' }).end();
    if (method === 'DELETE') return void response.writeHead(204).end();
    if (match !== etag || (noneMatch && found !== undefined))
      return refuse(response, 412, 'PreconditionFailed');
    if (method === 'PUT') return void response.end(void objects.set(name, body));
    if (found === undefined) return refuse(response, 404, 'NoSuchKey');
    response.writeHead(200, namesVersions ? { etag } : {}).end(method === 'HEAD' ? undefined : found);
  };
}
