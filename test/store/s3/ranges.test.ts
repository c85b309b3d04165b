/** Ranges: bytes count where the answer says that they are those. */
import { expect, test } from 'vitest';
import { place } from '../answering-s3.ts';

const WHOLE = Buffer.from('0123456789');

test('a range is as far as the object reaches', async () => {
  const { store } = await place((response, _request, { headers }) => {
    const [, from, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range!)!.map(Number);
    const bytes = WHOLE.subarray(from!, last! + 1);
    const range = `bytes ${from}-${from! + bytes.length - 1}/${WHOLE.length}`;
    response.writeHead(206, { 'content-range': range, etag: '"e"' }).end(bytes);
  });
  expect(Buffer.from((await store.getRange('key', 2, 5))!).toString()).toBe('234');
  expect(Buffer.from((await store.getRange('key', 8, 20))!).toString()).toBe('89');
});

test('who does not know ranges gives the whole object, where that ends no later', async () => {
  const { store } = await place((response) => void response.writeHead(200, { etag: '"e"' }).end(WHOLE));
  expect(Buffer.from((await store.getRange('key', 2, 10))!).toString()).toBe('23456789');
  expect(await store.getRange('key', 10, 12)).toEqual(new Uint8Array(0));
});

test.each([
  ['the whole object', 200, undefined, WHOLE],
  ['another range', 206, 'bytes 0-2/10', WHOLE.subarray(0, 3)],
  ['more than was asked for', 206, 'bytes 2-9/10', WHOLE.subarray(2)],
  ['fewer bytes than it says', 206, 'bytes 2-4/10', WHOLE.subarray(2, 4)],
])('%s is not the range', async (_, status, range, bytes) => {
  const { store } = await place((response) => {
    const length = { 'content-length': bytes.length };
    response
      .writeHead(status, { ...length, ...(range && { 'content-range': range }), etag: '"e"' })
      .end(bytes);
  });
  await expect(store.getRange('key', 2, 5)).rejects.toMatchObject({
    code: 's3-unavailable',
    message: expect.stringContaining('expected bytes 2-4'),
  });
});
