import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CommitUnknownError, FatalError, RetriableError } from '../../../src/core/errors.ts';
import type { S3StoreOptions } from '../../../src/store/s3/client.ts';
import { createS3Store } from '../../../src/store/s3/s3.ts';
import type { ObjectStore, PartRef, UploadRef } from '../../../src/store/store.ts';
import { s3ForTests, type TestBucket } from '../../helpers/s3.ts';
import { type FaultProxy, type SeenRequest, startFaultProxy } from '../fault-proxy.ts';
import { bytes, collect, expectFault, keysOf, textOf } from '../store-suite.ts';

const s3 = await s3ForTests();
const PREFIX = 'lake';
const SLOW_DOWN = { kind: 'answer', status: 503, body: '<Error><Code>SlowDown</Code></Error>' } as const;
const INTERNAL_ERROR =
  '<?xml version="1.0"?><Error><Code>InternalError</Code><Message>We failed</Message></Error>';

const isPut = (request: SeenRequest) => request.method === 'PUT';
const isGet = (request: SeenRequest) => request.method === 'GET';
const isComplete = (request: SeenRequest) => request.method === 'POST' && request.url.includes('uploadId=');

describe.skipIf(s3 === undefined)('an S3 store on a bad line', () => {
  let bucket: TestBucket;
  let proxy: FaultProxy;
  const opened: ObjectStore[] = [];
  let options: S3StoreOptions;
  let store: ObjectStore;
  /** The same place without the proxy. */
  let direct: ObjectStore;

  const open = (more: Partial<S3StoreOptions> = {}): ObjectStore => {
    const another = createS3Store({ ...options, ...more });
    opened.push(another);
    return another;
  };

  beforeAll(async () => {
    bucket = await s3!.newBucket();
  });
  afterAll(() => bucket?.drop());
  beforeEach(async () => {
    proxy = await startFaultProxy(s3!.endpoint);
    const { region, accessKeyId, secretAccessKey } = s3!;
    const credentials = { accessKeyId, secretAccessKey };
    options = { bucket: bucket.bucket, prefix: PREFIX, endpoint: proxy.endpoint, region, credentials };
    store = open();
    direct = open({ endpoint: s3!.endpoint });
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()));
    await proxy[Symbol.asyncDispose]();
  });

  async function sentUpload(key: string): Promise<{ upload: UploadRef; parts: PartRef[] }> {
    const upload = await store.begin(key, randomUUID());
    return { upload, parts: [await store.append(upload, 1, bytes('the day'))] };
  }

  describe('completing', () => {
    test('is unknown when the answer is lost, and the object tells that it worked', async () => {
      const { upload, parts } = await sentUpload('lost');
      proxy.script(isComplete, { kind: 'lose-answer' });
      await expectFault(() => store.publish(upload, parts), CommitUnknownError, 'complete-unknown');
      expect(proxy.seen.filter(isComplete)).toHaveLength(1);
      expect(await store.publishedBy(upload, parts)).toBe(true);
      expect(await textOf(direct, 'lost')).toBe('the day');
    });

    test.each([
      ['an error', { kind: 'answer', status: 500, body: INTERNAL_ERROR }],
      ['an error after status 200', { kind: 'answer', status: 200, body: INTERNAL_ERROR }],
      [
        'an error after status 200 with a line end',
        { kind: 'answer', status: 200, body: `${INTERNAL_ERROR}\n` },
      ],
      ['nothing after status 200', { kind: 'answer', status: 200, body: '' }],
      ['that it is busy', SLOW_DOWN],
    ] as const)('is unknown when the answer is %s, and can be done again', async (name, fault) => {
      const key = `again/${name}`;
      const { upload, parts } = await sentUpload(key);
      proxy.script(isComplete, fault);
      await expectFault(() => store.publish(upload, parts), CommitUnknownError, 'complete-unknown');
      expect(await store.publishedBy(upload, parts)).toBe(false);
      await store.publish(upload, parts);
      expect(await store.publishedBy(upload, parts)).toBe(true);
    });

    test('is unknown when no answer comes', async () => {
      const { upload, parts } = await sentUpload('hangs');
      proxy.script(isComplete, { kind: 'hang' });
      const impatient = open({ answerTimeoutMs: 300 });
      await expectFault(() => impatient.publish(upload, parts), CommitUnknownError, 'complete-unknown');
      await store.publish(upload, parts);
    });

    test('is unknown when it cannot be confirmed', async () => {
      const { upload, parts } = await sentUpload('unconfirmed');
      proxy.script(
        (request) => isComplete(request) || request.method === 'HEAD',
        {
          kind: 'replace-answer',
          status: 200,
          body: '<CompleteMultipartUploadResult><ETag></ETag></CompleteMultipartUploadResult>',
        },
        { kind: 'answer', status: 403, body: '' },
      );
      await expectFault(() => store.publish(upload, parts), CommitUnknownError, 'complete-unknown');
      expect(await store.publishedBy(upload, parts)).toBe(true);
    });
  });

  describe('knowing a published object again', () => {
    test('reads it where the ETag does not tell, and compares every part', async () => {
      const { upload, parts } = await sentUpload('encrypted');
      await store.publish(upload, parts);
      // With KMS encryption part tags are no MD5s: the object's ETag cannot be told from them.
      const opaque = parts.map((part) => ({ ...part, tag: randomBytes(16).toString('hex') }));
      expect(await store.publishedBy(upload, opaque)).toBe(true);
      const otherBytes = opaque.map((part) => ({
        ...part,
        sha256: createHash('sha256').update('x').digest('hex'),
      }));
      expect(await store.publishedBy(upload, otherBytes)).toBe(false);
    });
  });

  describe('put if absent', () => {
    // What the store can do is asked once, before.
    beforeEach(() => store.capabilities());

    test('knows its own object when the answer was lost', async () => {
      const asked = proxy.seen.filter(isPut).length;
      proxy.script(isPut, { kind: 'lose-answer' });
      expect(await store.putIfAbsent('claim', bytes('mine'))).toBe(true);
      expect(proxy.seen.filter(isPut)).toHaveLength(asked + 2);
      expect(await store.putIfAbsent('claim', bytes('theirs'))).toBe(false);
    });

    test('tries again when another writer came and went', async () => {
      const conflict = {
        kind: 'answer',
        status: 409,
        body: '<Error><Code>ConditionalRequestConflict</Code></Error>',
      } as const;
      proxy.script(isPut, conflict, conflict);
      expect(await store.putIfAbsent('contested', bytes('mine'))).toBe(true);
      expect(await textOf(direct, 'contested')).toBe('mine');
    });

    test('says so where the store cannot do it', async () => {
      const body = '<Error><Code>NotImplemented</Code></Error>';
      proxy.always = (request) => (isPut(request) ? { kind: 'answer', status: 501, body } : undefined);
      await expectFault(
        () => store.putIfAbsent('unsupported', bytes('mine')),
        FatalError,
        'unsupported-store',
      );
    });
  });

  describe('calls that can be repeated', () => {
    test('are, when the store is busy or answers nothing', async () => {
      proxy.script(() => true, SLOW_DOWN, { kind: 'answer', status: 500, body: '' });
      await store.put('busy', bytes('x'));
      // The real server may have to wait for a processor.
      const impatient = open({ answerTimeoutMs: 2_000 });
      proxy.script(isGet, { kind: 'hang' }, { kind: 'lose-answer' });
      expect(await textOf(impatient, 'busy')).toBe('x');
    });

    test('are not, when the body came through damaged: it is sent again', async () => {
      proxy.script(isPut, { kind: 'damage' });
      await store.put('damaged', bytes('a whole object'));
      expect(await textOf(direct, 'damaged')).toBe('a whole object');

      const upload = await store.begin('damaged-part', randomUUID());
      proxy.script(isPut, { kind: 'damage' });
      const part = await store.append(upload, 1, bytes('a whole part'));
      await store.publish(upload, [part]);
      expect(await textOf(direct, 'damaged-part')).toBe('a whole part');
    });

    test('read a body again that breaks off', async () => {
      await direct.put('long', Buffer.alloc(1 << 20, 'x'));
      proxy.script(isGet, { kind: 'cut-answer' });
      expect((await textOf(store, 'long')).length).toBe(1 << 20);
      proxy.script(isGet, { kind: 'cut-answer' });
      expect(await store.getRange('long', 10, 5010)).toHaveLength(5000);
    });

    test('fail as retriable when the store stays busy, silent or away', async () => {
      const twice = open({ maxAttempts: 2 });
      proxy.script(() => true, SLOW_DOWN, SLOW_DOWN);
      await expectFault(() => twice.put('k', bytes('x')), RetriableError, 's3-overloaded');
      const hasty = open({ maxAttempts: 2, answerTimeoutMs: 300 });
      proxy.script(() => true, { kind: 'hang' }, { kind: 'hang' });
      await expectFault(() => hasty.get('k'), RetriableError, 's3-unavailable');
      const nobody = open({ endpoint: 'http://127.0.0.1:1', maxAttempts: 2 });
      const fault = await expectFault(() => collect(nobody.list('')), RetriableError, 's3-unavailable');
      expect(fault.message).toContain('http://127.0.0.1:1');
    });
  });

  describe('requests', () => {
    test('send whole bodies with their length and SHA-256', async () => {
      const part = bytes('the content of a part');
      const upload = await store.begin('plain', randomUUID());
      await store.append(upload, 1, part);
      const request = proxy.seen.find(isPut)!;
      expect(request.headers).toMatchObject({
        'content-length': String(part.length),
        'x-amz-content-sha256': createHash('sha256').update(part).digest('hex'),
      });
      expect(request.headers).not.toHaveProperty('transfer-encoding');
      expect(request.headers).not.toHaveProperty('expect');
      await store.abandon(upload);
    });

    test('share a bounded number of sockets, large bodies too', async () => {
      const few = open({ maxSockets: 3 });
      const body = Buffer.alloc(3 << 20, 'x');
      await Promise.all(Array.from({ length: 12 }, (_, i) => few.put(`many/${i}`, body)));
      expect(proxy.maxConnections).toBeLessThanOrEqual(3);
    });

    test('page through lists', async () => {
      const paging = open({ pageSize: 2 });
      for (const name of ['a', 'b', 'c', 'd', 'e']) await store.put(`pages/${name}`, bytes(name));
      expect(await keysOf(paging, 'pages/')).toEqual(
        ['a', 'b', 'c', 'd', 'e'].map((name) => `pages/${name}`),
      );
      expect(proxy.seen.filter((request) => request.url.includes('list-type=2'))).toHaveLength(3);

      const uploads: UploadRef[] = [];
      for (let i = 0; i < 5; i++) uploads.push(await store.begin(`open/${i % 2}`, randomUUID()));
      const found = (await collect(paging.listUploads('open/'))).map(({ uploadId }) => uploadId);
      expect(found.sort()).toEqual(uploads.map(({ uploadId }) => uploadId).sort());

      const parts: PartRef[] = [];
      for (let i = 1; i <= 5; i++) parts.push(await store.append(uploads[0]!, i, bytes(`part ${i}`)));
      expect(await paging.adopt(uploads[0]!, parts, randomUUID())).toEqual(uploads[0]);
      for (const upload of uploads) await store.abandon(upload);
    });
  });

  describe('refusals', () => {
    /** What no message may hold. */
    const expectNoSecrets = (fault: Error, ...more: string[]) => {
      const shown = `${fault.message} ${fault.stack} ${JSON.stringify(fault)}`;
      for (const secret of [s3!.secretAccessKey, ...more]) expect(shown).not.toContain(secret);
    };

    test('a bucket that does not exist', async () => {
      const elsewhere = open({ bucket: 'no-such-bucket-here' });
      for (const call of [
        () => elsewhere.put('k', bytes('x')),
        () => elsewhere.get('k'),
        () => collect(elsewhere.list('')),
      ]) {
        const fault = await expectFault(call, FatalError, 'no-bucket');
        expect(fault.message).toContain('s3://no-such-bucket-here');
        expect(fault.message).toContain('LAKE_URL');
        expectNoSecrets(fault);
      }
    });

    test('wrong credentials', async () => {
      const { accessKeyId } = s3!;
      const wrongSecret = 'wrong-secret-0123456789';
      const wrongs = [
        { accessKeyId, secretAccessKey: wrongSecret },
        { accessKeyId: 'NOSUCHKEY0123456789', secretAccessKey: wrongSecret },
      ];
      for (const credentials of wrongs) {
        const stranger = open({ credentials });
        const fault = await expectFault(() => stranger.put('k', bytes('x')), FatalError, 'bad-credentials');
        expect(fault.message).toContain('AWS_SECRET_ACCESS_KEY');
        expectNoSecrets(fault, wrongSecret);
        const { upload, parts } = await sentUpload('guarded');
        await expectFault(() => stranger.publish(upload, parts), FatalError, 'bad-credentials');
        await expectFault(() => stranger.head('k'), FatalError, 'no-permission');
        await store.abandon(upload);
      }
    });
  });
});
