import { PutObjectCommand } from '@aws-sdk/client-s3';
import { RetriableError } from '../../core/errors.ts';
import { eachOf, type ObjectStore, type Version } from '../store.ts';
import { type PutCondition, probeAbilities, type S3Abilities } from './abilities.ts';
import { openBucket, type S3Bucket, type S3StoreOptions } from './client.ts';
import { isConflict, isMissing } from './errors.ts';
import { listPages, listUploads } from './lists.ts';
import { headObject, readObject, readRange } from './reads.ts';
import { createRemovals } from './removals.ts';
import {
  abortUpload,
  adoptUpload,
  completeUpload,
  createUpload,
  publishedBy,
  uploadPart,
} from './uploads.ts';

const CONFLICT_ATTEMPTS = 10;

/**
 * Objects in an S3 bucket, Amazon's or another's. Needs of it: multipart uploads with user metadata, and
 * read-after-write consistency of all calls; of more than one writer atomic `If-None-Match: *` on PUT.
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
    ...createRemovals(s3),
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
      const { putsIfAbsent, matchForm, completes } = await abilities();
      return {
        conditionalPut: putsIfAbsent,
        conditionalReplace: matchForm !== undefined,
        conditionalComplete: completes,
      };
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
  const target = { Bucket: s3.bucket, Key: s3.nameOf(key) };
  const { ETag } = await s3.client.send(new PutObjectCommand({ ...target, Body: bytes, ...condition }));
  return ETag || (await versionOfWritten(s3, key, bytes));
}

/** An answer without an ETag may be a proxy's page, so the object is read back. */
async function versionOfWritten(s3: S3Bucket, key: string, bytes: Uint8Array): Promise<Version> {
  const found = await readObject(s3, key);
  if (found !== undefined && Buffer.compare(found.bytes, bytes) === 0) return found.version;
  const back = found === undefined ? 'nothing' : `${found.bytes.length} other bytes`;
  const what = `the answer names no version (ETag), and reading '${key}' back gives ${back}`;
  throw s3.error(new Error(`${what}: look at what is between here and the store`), 'write', key);
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
    return await replaceWithReads(s3, key, bytes, expected);
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

/** Reads before and after the write, for a store that cannot replace a version in one act. */
async function replaceWithReads(
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
