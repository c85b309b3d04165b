import { expect, test } from 'vitest';
import { type Place, place, refuse } from '../answering-s3.ts';

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
  await store.completeUpload({ key: 'day', uploadId: 'u', nonce: 'n' }, [part]);
  expect(asked).toHaveLength(4);
});
