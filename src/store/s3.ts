import { hash } from 'node:crypto';
import type { GetObjectCommandInput } from '@aws-sdk/client-s3';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { RetriableError } from '../errors.ts';
import { checkPrefix, faultOfKey } from './key.ts';
import type { S3Bucket, S3StoreOptions } from './s3-client.ts';
import { openBucket, withBodyHash } from './s3-client.ts';
import { faultOf, isMissing } from './s3-errors.ts';
import {
  abortUpload,
  adoptUpload,
  completeUpload,
  createUpload,
  publishedBy,
  uploadPart,
} from './s3-uploads.ts';
import type { ListedObject, ObjectStore, UploadRef } from './store.ts';

const BODY_ATTEMPTS = 3;
const CONFLICT_ATTEMPTS = 10;

/**
 * Objects in an S3 bucket, Amazon's or another's. Needs of it: atomic `If-None-Match: *` on PUT, multipart
 * uploads with user metadata, and read-after-write consistency of all calls.
 */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const s3 = openBucket(options);
  const range = (key: string, fromByte: number, toByte: number) => readRange(s3, key, fromByte, toByte);
  return {
    url: s3.url,
    get: (key) => readObject(s3, key),
    getRange: range,
    head: (key) => headObject(s3, key),
    put: (key, bytes) => s3.call('write', key, () => putObject(s3, key, bytes)),
    putIfAbsent: (key, bytes) => s3.call('write', key, () => putIfAbsent(s3, key, bytes)),
    remove: (key) => removeObject(s3, key),
    list: (prefix) => listObjects(s3, prefix),
    createUpload: (key, nonce) => createUpload(s3, key, nonce),
    uploadPart: (upload, partNumber, bytes) => uploadPart(s3, upload, partNumber, bytes),
    adoptUpload: (upload, parts) => adoptUpload(s3, upload, parts),
    completeUpload: (upload, parts) => completeUpload(s3, upload, parts),
    publishedBy: (upload, parts) => publishedBy(s3, upload, parts, range),
    abortUpload: (upload) => abortUpload(s3, upload),
    listUploads: (prefix) => listUploads(s3, prefix),
    close: async () => {
      s3.client.destroy();
      s3.onceClient.destroy();
    },
  };
}

async function putObject(
  s3: S3Bucket,
  key: string,
  bytes: Uint8Array,
  condition: { IfNoneMatch?: '*' } = {},
): Promise<void> {
  const command = new PutObjectCommand({ Bucket: s3.bucket, Key: s3.nameOf(key), Body: bytes, ...condition });
  await s3.client.send(withBodyHash(command, hash('sha256', bytes)));
}

async function putIfAbsent(s3: S3Bucket, key: string, bytes: Uint8Array): Promise<boolean> {
  for (let attempt = 1; attempt <= CONFLICT_ATTEMPTS; attempt++) {
    try {
      await putObject(s3, key, bytes, { IfNoneMatch: '*' });
      return true;
    } catch (error) {
      // 412: there is an object. 409: one came or went at the same moment.
      const { status } = faultOf(error);
      if (status !== 412 && status !== 409) throw error;
    }
    // The SDK may have sent the request twice, so the object that is there may be ours.
    const found = await readObject(s3, key);
    if (found !== undefined) return Buffer.compare(found.bytes, bytes) === 0;
  }
  throw new RetriableError(
    's3-conflict',
    `cannot write ${s3.url}/${key}: other writers keep creating and removing it.`,
  );
}

async function readObject(s3: S3Bucket, key: string): Promise<{ bytes: Uint8Array } | undefined> {
  const bytes = await readBody(s3, key, {});
  return bytes === undefined ? undefined : { bytes };
}

async function readRange(
  s3: S3Bucket,
  key: string,
  fromByte: number,
  toByte: number,
): Promise<Uint8Array | undefined> {
  if (toByte > fromByte) return await readBody(s3, key, { Range: `bytes=${fromByte}-${toByte - 1}` });
  return (await headObject(s3, key)) === undefined ? undefined : new Uint8Array(0);
}

/** The body of an object or of a range of it, undefined when there is none. Asks again when it breaks off. */
async function readBody(
  s3: S3Bucket,
  key: string,
  extra: Pick<GetObjectCommandInput, 'Range'>,
): Promise<Uint8Array | undefined> {
  const input = { Bucket: s3.bucket, Key: s3.nameOf(key), ...extra };
  return await s3.call('read', key, async () => {
    for (let attempt = 1; ; attempt++) {
      const answer = await s3.client.send(new GetObjectCommand(input)).catch((error: unknown) => {
        if (isMissing(error)) return 'missing';
        if (faultOf(error).status === 416) return 'beyond the end';
        throw error;
      });
      if (answer === 'missing') return undefined;
      if (answer === 'beyond the end') return new Uint8Array(0);
      try {
        // The SDK's retries end where the body begins.
        return await (
          answer as { Body: { transformToByteArray(): Promise<Uint8Array> } }
        ).Body.transformToByteArray();
      } catch (error) {
        if (attempt === BODY_ATTEMPTS) throw error;
      }
    }
  });
}

async function headObject(s3: S3Bucket, key: string): Promise<{ sizeBytes: number } | undefined> {
  const command = new HeadObjectCommand({ Bucket: s3.bucket, Key: s3.nameOf(key) });
  return await s3.call('read', key, async () => {
    try {
      return { sizeBytes: (await s3.client.send(command)).ContentLength ?? 0 };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  });
}

async function removeObject(s3: S3Bucket, key: string): Promise<void> {
  const command = new DeleteObjectCommand({ Bucket: s3.bucket, Key: s3.nameOf(key) });
  await s3.call('remove', key, async () => {
    try {
      await s3.client.send(command);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  });
}

async function* listObjects(s3: S3Bucket, prefix: string): AsyncIterable<ListedObject> {
  checkPrefix(prefix);
  const input = { Bucket: s3.bucket, Prefix: s3.folder + prefix, MaxKeys: s3.pageSize };
  let token: string | undefined;
  for (;;) {
    const command = new ListObjectsV2Command({ ...input, ContinuationToken: token });
    const page = await s3.call('list', prefix, () => s3.client.send(command));
    for (const { Key, Size, LastModified, ETag } of page.Contents ?? []) {
      const key = s3.keyOf(Key!);
      // Others may keep things here that are not ours to see, such as the empty "folders" of web consoles.
      if (faultOfKey(key) !== undefined) continue;
      yield { key, sizeBytes: Size ?? 0, modifiedMs: LastModified?.getTime() ?? 0, tag: ETag ?? '' };
    }
    if (!page.IsTruncated) return;
    token = page.NextContinuationToken;
  }
}

async function* listUploads(s3: S3Bucket, prefix: string): AsyncIterable<UploadRef & { startedMs: number }> {
  checkPrefix(prefix);
  let marker: { KeyMarker?: string; UploadIdMarker?: string } = {};
  for (;;) {
    const command = new ListMultipartUploadsCommand({
      Bucket: s3.bucket,
      Prefix: s3.folder + prefix,
      MaxUploads: s3.pageSize,
      ...marker,
    });
    const page = await s3.call('list', prefix, () => s3.client.send(command));
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      const key = s3.keyOf(Key!);
      if (faultOfKey(key) === undefined)
        yield { key, uploadId: UploadId!, nonce: '', startedMs: Initiated?.getTime() ?? 0 };
    }
    if (!page.IsTruncated || !page.NextKeyMarker) return;
    marker = {
      KeyMarker: page.NextKeyMarker,
      ...(page.NextUploadIdMarker && { UploadIdMarker: page.NextUploadIdMarker }),
    };
  }
}
