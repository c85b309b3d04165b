/** S3_SSE: everything that is written names it, what a store answers to that is looked at, and a whole lake is encrypted. */
import type { ServerResponse } from 'node:http';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, test } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { type NewObjects, s3SettingsFromEnv } from '../../../src/store/s3/settings.ts';
import { mustExport, startTestService } from '../../helpers/run.ts';
import { s3ForTests } from '../../helpers/s3.ts';
import { awsEnv, plainClient } from '../../helpers/s3-client.ts';
import { type Place, place, refuse } from '../answering-s3.ts';
import { collect, expectFault } from '../store-suite.ts';

const s3 = await s3ForTests();
const KMS: NewObjects = { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'a-key' };
const CREATED =
  '<?xml version="1.0"?><InitiateMultipartUploadResult><UploadId>an-upload</UploadId></InitiateMultipartUploadResult>';

/** Does what it is asked to do, and says so of encryption where `isHonest`. */
function answering(sse: string | undefined) {
  return (response: ServerResponse, _request: number, { method, url }: Place['asked'][number]): void => {
    if (sse !== undefined) response.setHeader('x-amz-server-side-encryption', sse);
    response.setHeader('etag', '"0123456789abcdef0123456789abcdef"');
    response.end(method === 'POST' && url.includes('uploads') ? CREATED : '');
  };
}

const WRITES: Readonly<Record<string, (place: Place) => Promise<unknown>>> = {
  put: ({ store }) => store.put('a', Buffer.from('x')),
  'put where there is none': ({ store }) => store.putIfAbsent('a', Buffer.from('x')),
  'an upload': ({ store }) => store.begin('a', 'a-nonce'),
};

const writesOf = ({ asked }: Place) => asked.filter(({ method }) => method === 'PUT' || method === 'POST');

describe.each(Object.keys(WRITES))('%s', (name) => {
  test('names the encryption and its key', async () => {
    const kms = await place(answering('aws:kms'), { newObjects: KMS });
    await WRITES[name]!(kms);
    const headers = {
      'x-amz-server-side-encryption': 'aws:kms',
      'x-amz-server-side-encryption-aws-kms-key-id': 'a-key',
    };
    for (const asked of writesOf(kms)) expect(asked.headers).toMatchObject(headers);
    const own = await place(answering('AES256'), { newObjects: { ServerSideEncryption: 'AES256' } });
    await WRITES[name]!(own);
    for (const { headers } of writesOf(own))
      expect([
        headers['x-amz-server-side-encryption'],
        headers['x-amz-server-side-encryption-aws-kms-key-id'],
      ]).toEqual(['AES256', undefined]);
  });

  test.each([undefined, 'AES256'])('is refused where the store answers %s for aws:kms', async (answered) => {
    const careless = await place(answering(answered), { newObjects: KMS });
    const fault = await expectFault(() => WRITES[name]!(careless), FatalError, 'not-encrypted');
    expect(fault.message).toContain('S3_SSE is aws:kms');
  });
});

test('a store that does not encrypt is named, and not taken for one where somebody else was first', async () => {
  const there = new Set<string>();
  const careless = await place(
    (response, _request, { method, url, headers }) => {
      const name = url.split('?', 1)[0]!;
      const isRefused =
        headers['if-none-match'] === '*' ? there.has(name) : headers['if-match'] !== undefined;
      if (method === 'PUT' && isRefused) return refuse(response, 412, 'PreconditionFailed');
      if (method === 'PUT') there.add(name);
      answering(undefined)(response, 0, { method, url, headers, body: '' });
    },
    { newObjects: KMS },
  );
  await expectFault(() => careless.store.putIfAbsent('a', Buffer.from('x')), FatalError, 'not-encrypted');
});

test('the settings name it', () => {
  expect(s3SettingsFromEnv({ S3_SSE: 'AES256' }).newObjects).toEqual({ ServerSideEncryption: 'AES256' });
  const kms = { S3_SSE: 'aws:kms', S3_SSE_KMS_KEY_ID: 'alias/lake' };
  expect(s3SettingsFromEnv(kms).newObjects).toEqual({
    ServerSideEncryption: 'aws:kms',
    SSEKMSKeyId: 'alias/lake',
  });
  expect(s3SettingsFromEnv({ S3_SSE: '' })).toEqual({});
});

test.skipIf(s3?.kmsKeyId === undefined)(
  'every object of a lake is encrypted, plain and as tables',
  async () => {
    const { bucket, drop } = await s3!.newBucket();
    const service = await startTestService();
    const client = plainClient(s3!);
    for (const layout of ['plain', 'delta']) {
      const lakeUrl = `s3://${bucket}/${layout}`;
      const env = {
        ...{ ...awsEnv(s3!), LAKE_LAYOUT: layout },
        ...{ S3_SSE: 'aws:kms', S3_SSE_KMS_KEY_ID: s3!.kmsKeyId! },
      };
      await mustExport({ service, lakeUrl, env });
      const store = await openStore(lakeUrl, awsEnv(s3!));
      const listed = await collect(store.list(''));
      expect(listed.length).toBeGreaterThan(2);
      for (const { key } of listed) {
        const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: `${layout}/${key}` }));
        expect([key, head.ServerSideEncryption, head.SSEKMSKeyId]).toEqual([key, 'aws:kms', s3!.kmsKeyId]);
      }
      await store.close();
    }
    client.destroy();
    await service.close();
    await drop();
  },
);
