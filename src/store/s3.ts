import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { GetObjectCommandInput, GetObjectCommandOutput } from '@aws-sdk/client-s3';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { RetriableError } from '../errors.ts';
import { checkPrefix, faultOfKey } from './key.ts';
import type { S3Abilities } from './s3-abilities.ts';
import { probeAbilities } from './s3-abilities.ts';
import type { S3Bucket, S3StoreOptions } from './s3-client.ts';
import { openBucket, withBodyHash } from './s3-client.ts';
import { faultOf, isConflict, isMissing } from './s3-errors.ts';
import type { ListedName } from './s3-small-lists.ts';
import type { PutCondition } from './s3-small-writes.ts';
import {
  abortUpload,
  adoptUpload,
  completeUpload,
  createUpload,
  publishedBy,
  uploadPart,
} from './s3-uploads.ts';
import type { ListedObject, ObjectStore, UploadRef, Version } from './store.ts';
import { eachOf, MAX_WHOLE_BYTES, tooLargeToRead } from './store.ts';

const BODY_ATTEMPTS = 3;
const CONFLICT_ATTEMPTS = 10;
const MAX_DELETED_KEYS = 1000;

/**
 * Objects in an S3 bucket, Amazon's or another's. Needs of it: atomic `If-None-Match: *` on PUT, multipart
 * uploads with user metadata, and read-after-write consistency of all calls.
 */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const s3 = openBucket(options);
  let probed: Promise<S3Abilities> | undefined;
  /** Asked once, when it is first needed; a failed probe is made again. */
  const abilities = (): Promise<S3Abilities> => {
    probed ??= probeAbilities(s3).catch((error: unknown) => {
      probed = undefined;
      throw error;
    });
    return probed;
  };
  const putIf: ObjectStore['putIf'] = async (key, bytes, expected) =>
    putIfVersion(s3, key, bytes, expected, expected === null ? undefined : await abilities());
  return {
    url: s3.url,
    get: (key) => readObject(s3, key),
    getRange: (key, fromByte, toByte) => readRange(s3, key, fromByte, toByte),
    head: (key) => headObject(s3, key),
    put: async (key, bytes) => {
      await s3.call('write', key, () => putObject(s3, key, bytes));
    },
    putIf,
    putIfAbsent: async (key, bytes) => (await putIf(key, bytes, null)) !== undefined,
    remove: (key) => removeObject(s3, key),
    removeAll: (keys, mayReturn = []) => removeObjects(s3, [...keys, ...mayReturn]),
    removeIf: (key, expected) => removeIf(s3, key, expected),
    list: (prefix) => eachOf(listPages(s3, prefix)),
    listPages: (prefix) => listPages(s3, prefix),
    // Buckets have no folders; a list has every tag at a thousand a request.
    folderState: async () => undefined,
    createUpload: (key, nonce) => createUpload(s3, key, nonce),
    uploadPart: (upload, partNumber, bytes) => uploadPart(s3, upload, partNumber, bytes),
    adoptUpload: (upload, parts) => adoptUpload(s3, upload, parts),
    completeUpload: async (upload, parts, expected) =>
      completeUpload(s3, upload, parts, expected === undefined ? undefined : await abilities(), expected),
    publishedBy: (upload, parts) =>
      publishedBy(s3, upload, parts, (fromByte, toByte) => readRange(s3, upload.key, fromByte, toByte)),
    abortUpload: (upload) => abortUpload(s3, upload),
    listUploads: (prefix) => listUploads(s3, prefix),
    capabilities: async () => {
      const { matchForm, completes } = await abilities();
      return { conditionalReplace: matchForm !== undefined, conditionalComplete: completes };
    },
    close: async () => {
      s3.client.destroy();
      s3.onceClient.destroy();
    },
  };
}

/** The version written. */
async function putObject(
  s3: S3Bucket,
  key: string,
  bytes: Uint8Array,
  condition: PutCondition = {},
): Promise<Version> {
  const sha256 = hash('sha256', bytes);
  const written = await s3.smallWrites.put(s3.nameOf(key), { bytes, sha256 }, condition);
  if (written !== undefined) return written;
  const command = new PutObjectCommand({ Bucket: s3.bucket, Key: s3.nameOf(key), Body: bytes, ...condition });
  return (await s3.client.send(withBodyHash(command, sha256))).ETag ?? '';
}

/** See the port. `abilities`: needed where a version is expected. */
async function putIfVersion(
  s3: S3Bucket,
  key: string,
  bytes: Uint8Array,
  expected: Version | null,
  abilities: S3Abilities | undefined,
): Promise<Version | undefined> {
  if (expected !== null && abilities?.matchForm === undefined)
    return await replaceLookingOn(s3, key, bytes, expected);
  const condition =
    expected === null ? { IfNoneMatch: '*' as const } : { IfMatch: abilities!.matchForm!(expected) };
  for (let attempt = 1; attempt <= CONFLICT_ATTEMPTS; attempt++) {
    try {
      return await putObject(s3, key, bytes, condition);
    } catch (error) {
      // Another version is there, or none, or one came or went at the same moment.
      if (!isConflict(error) && !isMissing(error)) throw s3.error(error, 'write', key);
    }
    // The SDK may have sent the request twice, so the object that is there may be ours.
    const found = await readObject(s3, key);
    if (found !== undefined && Buffer.compare(found.bytes, bytes) === 0) return found.version;
    if ((found?.version ?? null) !== expected) return undefined;
  }
  throw new RetriableError(
    's3-conflict',
    `cannot write ${s3.url}/${key}: other writers keep creating and removing it.`,
  );
}

/** For a store that cannot replace a version in one act: look before, write, look after. */
async function replaceLookingOn(
  s3: S3Bucket,
  key: string,
  bytes: Uint8Array,
  expected: Version,
): Promise<Version | undefined> {
  const isOurs = (found: { bytes: Uint8Array } | undefined) =>
    found !== undefined && Buffer.compare(found.bytes, bytes) === 0;
  const before = await readObject(s3, key);
  if (isOurs(before)) return before!.version;
  if (before?.version !== expected) return undefined;
  await s3.call('write', key, () => putObject(s3, key, bytes));
  const after = await readObject(s3, key);
  return isOurs(after) ? after!.version : undefined;
}

async function readObject(
  s3: S3Bucket,
  key: string,
): Promise<{ bytes: Uint8Array; version: Version } | undefined> {
  const read = await s3.smallReads.read(s3.nameOf(key));
  if (read === 'missing') return undefined;
  return read ?? (await readBody(s3, key, {}, MAX_WHOLE_BYTES));
}

async function readRange(
  s3: S3Bucket,
  key: string,
  fromByte: number,
  toByte: number,
): Promise<Uint8Array | undefined> {
  if (toByte > fromByte)
    return (await readBody(s3, key, { Range: `bytes=${fromByte}-${toByte - 1}` }))?.bytes;
  return (await headObject(s3, key)) === undefined ? undefined : new Uint8Array(0);
}

/** The body of an object or of a range of it, undefined when there is none. Asks again when it breaks off. */
async function readBody(
  s3: S3Bucket,
  key: string,
  extra: Pick<GetObjectCommandInput, 'Range'>,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<{ bytes: Uint8Array; version: Version } | undefined> {
  const input = { Bucket: s3.bucket, Key: s3.nameOf(key), ...extra };
  return await s3.call('read', key, async () => {
    for (let attempt = 1; ; attempt++) {
      const answer = await s3.client.send(new GetObjectCommand(input)).catch((error: unknown) => {
        if (isMissing(error)) return 'missing';
        if (faultOf(error).status === 416) return 'beyond the end';
        throw error;
      });
      if (answer === 'missing') return undefined;
      if (answer === 'beyond the end') return { bytes: new Uint8Array(0), version: '' };
      const { Body, ETag, ContentLength = 0 } = answer as GetObjectCommandOutput;
      if (ContentLength > maxBytes) {
        (Body as Readable).destroy();
        throw tooLargeToRead(key, ContentLength);
      }
      try {
        // The SDK's retries end where the body begins.
        return { bytes: await Body!.transformToByteArray(), version: ETag ?? '' };
      } catch (error) {
        if (attempt === BODY_ATTEMPTS) throw error;
      }
    }
  });
}

async function headObject(
  s3: S3Bucket,
  key: string,
): Promise<{ sizeBytes: number; version: Version } | undefined> {
  const command = new HeadObjectCommand({ Bucket: s3.bucket, Key: s3.nameOf(key) });
  return await s3.call('read', key, async () => {
    try {
      const { ContentLength, ETag } = await s3.client.send(command);
      return { sizeBytes: ContentLength ?? 0, version: ETag ?? '' };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  });
}

async function removeObject(s3: S3Bucket, key: string): Promise<void> {
  const command = new DeleteObjectCommand({ Bucket: s3.bucket, Key: s3.nameOf(key) });
  await s3.call('remove', key, async () => {
    if (await s3.smallWrites.remove(s3.nameOf(key))) return;
    try {
      await s3.client.send(command);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  });
}

async function removeObjects(s3: S3Bucket, keys: readonly string[]): Promise<void> {
  if (keys.length <= 1) return keys[0] === undefined ? undefined : await removeObject(s3, keys[0]);
  for (let at = 0; at < keys.length; at += MAX_DELETED_KEYS) {
    const some = keys.slice(at, at + MAX_DELETED_KEYS);
    const names = some.map(s3.nameOf);
    if (await s3.smallWrites.removeAll(names)) continue;
    const Objects = names.map((Key) => ({ Key }));
    const command = new DeleteObjectsCommand({ Bucket: s3.bucket, Delete: { Objects, Quiet: true } });
    const { Errors } = await s3.call('remove', some[0]!, () => s3.client.send(command));
    const failed = Errors?.find(({ Code }) => Code !== 'NoSuchKey');
    if (failed === undefined) continue;
    const fault = Object.assign(new Error(failed.Message), { name: failed.Code ?? 'unknown' });
    throw s3.error(fault, 'remove', s3.keyOf(failed.Key ?? ''));
  }
}

/** Stores that know no condition on this call ignore it: for them a moment stays between look and act. */
async function removeIf(s3: S3Bucket, key: string, expected: Version): Promise<boolean> {
  if ((await headObject(s3, key))?.version !== expected) return false;
  const target = { Bucket: s3.bucket, Key: s3.nameOf(key) };
  return await s3.call('remove', key, async () => {
    try {
      await s3.client.send(new DeleteObjectCommand({ ...target, IfMatch: expected }));
      return true;
    } catch (error) {
      if (isConflict(error) || isMissing(error)) return false;
      throw error;
    }
  });
}

async function* listPages(s3: S3Bucket, prefix: string): AsyncIterable<ListedObject[]> {
  checkPrefix(prefix);
  let token: string | undefined;
  do {
    const query = { prefix: s3.folder + prefix, maxKeys: s3.pageSize, token };
    const page = (await s3.smallLists.list(query)) ?? (await listPage(s3, prefix, token));
    const objects: ListedObject[] = [];
    for (const { name, ...listed } of page.objects) {
      const key = s3.keyOf(name);
      // Others may keep things here that are not ours to see, such as the empty "folders" of web consoles.
      if (faultOfKey(key) === undefined) objects.push({ key, ...listed });
    }
    yield objects;
    token = page.next;
  } while (token !== undefined);
}

async function listPage(
  s3: S3Bucket,
  prefix: string,
  ContinuationToken: string | undefined,
): Promise<{ readonly objects: readonly ListedName[]; readonly next: string | undefined }> {
  const input = { Bucket: s3.bucket, Prefix: s3.folder + prefix, MaxKeys: s3.pageSize };
  const command = new ListObjectsV2Command({ ...input, ContinuationToken });
  const page = await s3.call('list', prefix, () => s3.client.send(command));
  const objects = (page.Contents ?? []).map(({ Key, Size, LastModified, ETag }) => ({
    ...{ name: Key!, sizeBytes: Size ?? 0, modifiedMs: LastModified?.getTime() ?? 0, tag: ETag ?? '' },
  }));
  const next = page.IsTruncated ? page.NextContinuationToken : undefined;
  if (page.IsTruncated && !next)
    throw s3.error(new Error('the list goes on, and the store does not say where'), 'list', prefix);
  return { objects, next };
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
