/** Answers to single calls: ranges that are those asked for, removals refused together, a clock that is wrong. */
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import { type Place, place, refuse } from '../answering-s3.ts';
import { expectFault } from '../store-suite.ts';

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

const KEYS = ['a', 'b', 'c'];
const singles = ({ asked }: Place) =>
  asked.filter(({ method }) => method === 'DELETE').map(({ url }) => new URL(url, 'http://x').pathname);
const together = ({ asked }: Place) => asked.filter(({ method }) => method === 'POST').length;

test.each([
  [403, 'AccessDenied'],
  [501, 'NotImplemented'],
  [405, 'MethodNotAllowed'],
])(
  'refused together (%i %s), each is removed by itself, and nothing is asked together again',
  async (...how) => {
    const one = await place((response, _request, { method }) =>
      method === 'POST' ? refuse(response, ...how) : void response.writeHead(204).end(),
    );
    await one.store.removeAll(KEYS);
    expect(singles(one).sort()).toEqual(KEYS.map((key) => `/bucket/lake/${key}`));
    const asked = together(one);
    await one.store.removeAll(KEYS);
    expect(together(one)).toBe(asked);
    expect(singles(one)).toHaveLength(6);
  },
);

test('who may remove nothing is told so, and is asked together again', async () => {
  const one = await place((response) => refuse(response, 403, 'AccessDenied'));
  await expectFault(() => one.store.removeAll(KEYS), FatalError, 'no-permission');
  const asked = together(one);
  await expectFault(() => one.store.removeAll(KEYS), FatalError, 'no-permission');
  expect(together(one)).toBeGreaterThan(asked);
});

test('one object that may not be removed is named, and no other is tried again', async () => {
  const answer = (response: ServerResponse) => {
    const error = '<Error><Key>lake/b</Key><Code>AccessDenied</Code><Message>no</Message></Error>';
    response.end(`<?xml version="1.0"?><DeleteResult>${error}</DeleteResult>`);
  };
  const one = await place(answer);
  const fault = await expectFault(() => one.store.removeAll(KEYS), FatalError, 'no-permission');
  expect(fault.message).toContain('lake/b');
  expect(singles(one)).toEqual([]);
});

const written = { etag: '"0123456789abcdef0123456789abcdef"' };
const signedMs = ({ headers }: Place['asked'][number]) =>
  Date.parse(String(headers['x-amz-date']).replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z'));

test('a clock that is wrong is known to all calls after the first one', async () => {
  const aheadMs = 3_600_000;
  const { store, asked } = await place((response, _request, one) => {
    response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString());
    if (Math.abs(Date.now() + aheadMs - signedMs(one)) > 900_000)
      return refuse(response, 403, 'RequestTimeTooSkewed');
    if (one.method === 'PUT') return void response.writeHead(200, written).end();
    response.end('<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>');
  });
  await store.put('first', Buffer.from('some bytes'));
  expect(asked).toHaveLength(2);
  await store.put('second', Buffer.from('some bytes'));
  expect(asked).toHaveLength(3);
  // It is sent once, and a refusal would be the day's.
  const part = { partNumber: 1, sizeBytes: 1, sha256: '', tag: '' };
  await store.publish({ key: 'day', uploadId: 'u', nonce: 'n' }, [part]);
  expect(asked).toHaveLength(4);
});
