import { DeleteObjectCommand, DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { forEachAtOnce } from '../../core/concurrency.ts';
import type { ObjectStore, Version } from '../store.ts';
import type { S3Bucket } from './client.ts';
import { faultOf, isConflict, isMissing } from './errors.ts';
import { headObject } from './reads.ts';

const MAX_DELETED_KEYS = 1000;
const SINGLES_AT_ONCE = 8;

/** Removals of objects on S3, as the port has them. */
export function createRemovals(s3: S3Bucket): Pick<ObjectStore, 'remove' | 'removeAll' | 'removeIf'> {
  /** Until the store has refused a removal of many, and removed each of them. */
  let takesMany = true;
  async function removeSome(keys: readonly string[]): Promise<void> {
    const isTogether = takesMany && keys.length > 1;
    if (isTogether && (await removeTogether(s3, keys))) return;
    await removeSingly(s3, keys);
    if (isTogether) takesMany = false;
  }
  return {
    remove: (key) => removeObject(s3, key),
    async removeAll(keys, mayReturn = []) {
      const all = [...keys, ...mayReturn];
      for (let at = 0; at < all.length; at += MAX_DELETED_KEYS)
        await removeSome(all.slice(at, at + MAX_DELETED_KEYS));
    },
    removeIf: (key, expected) => removeIf(s3, key, expected),
  };
}

const removeSingly = (s3: S3Bucket, keys: readonly string[]) =>
  forEachAtOnce(keys, SINGLES_AT_ONCE, (key) => removeObject(s3, key));

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

/** False: the store refuses the call as such, and has removed nothing; each may still be removed by itself. */
async function removeTogether(s3: S3Bucket, keys: readonly string[]): Promise<boolean> {
  const Objects = keys.map((key) => ({ Key: s3.nameOf(key) }));
  const command = new DeleteObjectsCommand({ Bucket: s3.bucket, Delete: { Objects, Quiet: true } });
  try {
    const { Errors } = await s3.client.send(command);
    const failed = Errors?.find(({ Code }) => Code !== 'NoSuchKey');
    if (failed === undefined) return true;
    const fault = Object.assign(new Error(failed.Message), { name: failed.Code ?? 'unknown' });
    throw s3.error(fault, 'remove', s3.keyOf(failed.Key ?? ''));
  } catch (error) {
    if (isCallRefused(error)) return false;
    throw s3.error(error, 'remove', keys[0]!);
  }
}

/**
 * Ceph 16 holds the call against a permission on the bucket, which a policy for its objects does not give (403); others
 * do not have it at all.
 */
function isCallRefused(error: unknown): boolean {
  const { name, status } = faultOf(error);
  return name === 'AccessDenied' || name === 'NotImplemented' || status === 405 || status === 501;
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
