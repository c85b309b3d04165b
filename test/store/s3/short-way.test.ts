/** The short way is the SDK's in all that is not about one request: clocks, credentials, and a store that is busy. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Place } from '../answering-s3.ts';
import { place, refuse } from '../answering-s3.ts';

const BYTES = Buffer.from('some bytes');
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
  await store.put('first', BYTES);
  expect(asked).toHaveLength(3);
  await store.put('second', BYTES);
  expect(asked).toHaveLength(4);
  // It is sent once, and a refusal would be the day's.
  const part = { partNumber: 1, sizeBytes: 1, sha256: '', tag: '' };
  await store.completeUpload({ key: 'day', uploadId: 'u', nonce: 'n' }, [part]);
  expect(asked).toHaveLength(5);
});

test('credentials that end are asked for anew', async () => {
  let given = 0;
  const source = createServer((_, response) => {
    given++;
    const [AccessKeyId, SecretAccessKey, Token] = ['id', 'secret', `token-${given}`];
    // So soon that they have to be asked for again each time.
    const Expiration = new Date(Date.now() + 1_000).toISOString();
    response.end(JSON.stringify({ AccessKeyId, SecretAccessKey, Token, Expiration }));
  });
  await once(source.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    vi.unstubAllEnvs();
    source.close();
  });
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  const { port } = source.address() as AddressInfo;
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `http://127.0.0.1:${port}/`);
  const { store, asked } = await place((response) => void response.writeHead(200, written).end(), {
    credentials: undefined as never,
  });
  for (let n = 0; n < 3; n++) await store.put('day', BYTES);
  const tokens = asked.map(({ headers }) => headers['x-amz-security-token']);
  // The SDK may use them once more while it asks.
  expect(tokens[2]).not.toBe(tokens[0]);
  expect(asked.map(({ headers }) => headers['amz-sdk-request'])).toEqual([undefined, undefined, undefined]);
});

test('a store that is busy is left to the SDK for a while, which waits between its tries', async () => {
  const { store, asked } = await place((response) => refuse(response, 503, 'SlowDown'));
  const put = () => expect(store.put('day', BYTES)).rejects.toMatchObject({ code: 's3-overloaded' });
  await put();
  expect(asked).toHaveLength(3);
  await put();
  expect(asked).toHaveLength(5);
});
