/** The short way of writing: what it sends, what a server may say to it, and when the SDK is asked all the same. */
import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import type { Place } from '../answering-s3.ts';
import { place, refuse } from '../answering-s3.ts';

const KEY = "a folder/it's (ä) & more.json";
const BYTES = Buffer.from('some bytes');
const ETAG = '"0123456789abcdef0123456789abcdef"';
const UPLOAD = { key: KEY, uploadId: 'an-upload', nonce: 'a-nonce' };
const CREATED =
  '<?xml version="1.0"?><InitiateMultipartUploadResult><UploadId>an-upload</UploadId></InitiateMultipartUploadResult>';
const DELETED = '<?xml version="1.0"?><DeleteResult></DeleteResult>';

/** Does whatever it is asked to do. */
function agree(response: ServerResponse, _request: number, { method, url }: Place['asked'][number]): void {
  if (method === 'PUT') return void response.writeHead(200, { etag: ETAG }).end();
  if (method === 'DELETE') return void response.writeHead(204).end();
  response.end(url.includes('uploads') ? CREATED : DELETED);
}

const CALLS: Readonly<Record<string, (place: Place) => Promise<unknown>>> = {
  put: ({ store }) => store.put(KEY, BYTES),
  'put where there is none': ({ store }) => store.putIf(KEY, BYTES, null),
  'an upload': ({ store }) => store.createUpload(KEY, 'a-nonce'),
  'a part': ({ store }) => store.uploadPart(UPLOAD, 3, BYTES),
  'a removal': ({ store }) => store.remove(KEY),
  'removals of several': ({ store }) => store.removeAll(['a/b=c.json', 'd'], ['e']),
};

test.each(Object.keys(CALLS))('%s: one request, as the SDK would send it', async (name) => {
  const short = await place(agree);
  const found = await CALLS[name]!(short);
  const long = await place(agree, { maxAttempts: 1 });
  expect(found).toEqual(await CALLS[name]!(long));
  expect(short.asked).toHaveLength(1);
  expect(long.asked).toHaveLength(1);
  expect(long.asked[0]!.headers['amz-sdk-request']).toBeDefined();
  expect(short.asked[0]!.headers['amz-sdk-request']).toBeUndefined();
  expect(meaningOf(short.asked[0]!)).toEqual(meaningOf(long.asked[0]!));
});

test('a version that is expected is named', async () => {
  const abilities: string[] = [];
  // A server that obeys If-Match on an object whose version is ETAG.
  const { store, asked } = await place((response, request, one) => {
    const { 'if-match': match, 'if-none-match': noneMatch } = one.headers;
    if (match !== undefined) abilities.push(match);
    const isRefused = (match !== undefined && match !== ETAG) || (noneMatch && one.method === 'POST');
    if (isRefused) return refuse(response, 412, 'PreconditionFailed');
    agree(response, request, one);
  });
  expect(await store.putIf(KEY, BYTES, ETAG)).toBe(ETAG);
  expect(asked.at(-1)!.headers['if-match']).toBe(ETAG);
  expect(asked.at(-1)!.headers['amz-sdk-request']).toBeUndefined();
});

test('other answers are for the SDK: what they mean, and trying again', async () => {
  const gone = await place((response) => refuse(response, 404, 'NoSuchBucket'));
  await expect(gone.store.put(KEY, BYTES)).rejects.toThrow(FatalError);
  const forbidden = await place((response) => refuse(response, 403, 'AccessDenied'));
  for (const call of Object.values(CALLS))
    await expect(call(forbidden)).rejects.toMatchObject({ code: 'no-permission' });
  const late = await place((response) => refuse(response, 404, 'NoSuchUpload'));
  await expect(late.store.uploadPart(UPLOAD, 1, BYTES)).rejects.toMatchObject({ code: 'upload-gone' });
  const busy = await place((response, request, one) =>
    request < 3 ? refuse(response, 503, 'SlowDown') : agree(response, request, one),
  );
  await busy.store.put(KEY, BYTES);
  expect(busy.asked).toHaveLength(3);
});

test('a write whose answer is lost is known again', async () => {
  let written: string | undefined;
  const { store } = await place((response, request, one) => {
    if (one.method === 'GET') return void response.writeHead(200, { etag: ETAG }).end(written);
    if (written !== undefined) return refuse(response, 412, 'PreconditionFailed');
    written = one.body;
    expect(request).toBe(1);
    response.destroy();
  });
  expect(await store.putIf(KEY, BYTES, null)).toBe(ETAG);
  expect(await store.putIf(KEY, Buffer.from('other bytes'), null)).toBeUndefined();
});

const NOT_REMOVED = '<Key>lake/b</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>';

test.each([
  ['', `<?xml version="1.0"?><DeleteResult><Error>${NOT_REMOVED}`],
  [', also in another spelling', `<DeleteResult><Error kind="b">${NOT_REMOVED}`],
  [', also before the answer breaks off', '<DeleteResult><Err'],
])('what is not removed is said%s', async (_, answer) => {
  // Without a length, so that the end of the connection is that of the answer.
  const { store, asked } = await place(
    (response) => void response.socket!.end(`HTTP/1.0 200 OK\r\n\r\n${answer}`),
  );
  const name = answer.includes('AccessDenied') ? 'FatalError' : 'RetriableError';
  await expect(store.removeAll(['a', 'b'])).rejects.toMatchObject({ name });
  expect(asked.length).toBeGreaterThan(1);
});

test.each([
  '<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>',
  '<?xml version="1.0" encoding="UTF-8"?>\n<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">\n</DeleteResult>\n',
  '<DeleteResult><Deleted><Key>lake/a</Key></Deleted><Deleted><Key>lake/b</Key></Deleted></DeleteResult>',
])('what is removed is, in one request: %s', async (answer) => {
  const { store, asked } = await place((response) => void response.end(answer));
  await store.removeAll(['a', 'b']);
  expect(asked).toHaveLength(1);
});

test('names that XML has to escape are left to the SDK', async () => {
  const { store, asked } = await place(agree);
  await store.removeAll([KEY, 'b']);
  expect(asked.map(({ headers }) => headers['amz-sdk-request'] !== undefined)).toEqual([true]);
});

test('where answers have no ETag each write is one request, after the first, and one that reads it back', async () => {
  const etag = `"${hash('md5', BYTES)}"`;
  const { store, asked } = await place((response, _request, { method }) =>
    method === 'GET' ? void response.writeHead(200, { etag }).end(BYTES) : void response.writeHead(200).end(),
  );
  for (let n = 0; n < 3; n++) await store.put(KEY, BYTES);
  expect(asked.map(({ method }) => method).join(' ')).toBe('PUT PUT GET PUT GET PUT GET');
});

test.each([1, 2])('an upload without an id is none (tries: %i)', async (maxAttempts) => {
  const { store } = await place((response) => void response.end('<html></html>'), { maxAttempts });
  await expect(store.createUpload(KEY, 'a-nonce')).rejects.toMatchObject({ code: 's3-unavailable' });
});

/** All that a store may go by. */
function meaningOf({ method, url, headers, body }: Place['asked'][number]) {
  const { pathname, searchParams } = new URL(url, 'http://any');
  searchParams.delete('x-id');
  const kept = Object.entries(headers).filter(([name]) =>
    /^(content-(?!md5)|if-|x-amz-(meta|content|server|acl|tag|storage))/.test(name),
  );
  return {
    ...{ method, pathname, body, headers: Object.fromEntries(kept) },
    query: Object.fromEntries(searchParams),
  };
}
