/** Writes and removals of whole objects on S3, as the port has them. */
import { DeleteObjectCommand, DeleteObjectsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { forEachAtOnce } from '../../core/concurrency.ts';
import { putInPlaceOf, strangeAnswer, versionHolding } from '../remote.ts';
import type { ObjectStore, Version } from '../store.ts';
import type { PutCondition, S3Abilities } from './abilities.ts';
import type { S3Bucket } from './client.ts';
import { faultOf, isConflict, isMissing, isNotImplemented } from './errors.ts';
import { headObject, readObject } from './reads.ts';

const MAX_DELETED_KEYS = 1000;
const SINGLES_AT_ONCE = 8;

type Writes = Pick<ObjectStore, 'put' | 'putIf' | 'putIfAbsent' | 'remove' | 'removeAll' | 'removeIf'>;

export function createWrites(s3: S3Bucket, abilities: () => Promise<S3Abilities>): Writes {
  const targetOf = (key: string) => ({ Bucket: s3.bucket, Key: s3.nameOf(key) });
  /** Until the store has refused a removal of many, and removed each of them. */
  let takesMany = true;

  async function putObject(key: string, bytes: Uint8Array, condition: PutCondition = {}): Promise<Version> {
    const input = { ...targetOf(key), Body: bytes, ...condition };
    const { ETag } = await s3.client.send(new PutObjectCommand(input));
    if (ETag) return ETag;
    // The answer may be a proxy's page, so the object is read back.
    const found = await readObject(s3, key);
    const version = versionHolding(found, bytes);
    if (version !== undefined) return version;
    const back = found === undefined ? 'nothing' : `${found.bytes.length} other bytes`;
    const what = `the answer names no version (ETag), and reading '${key}' back gives ${back}`;
    throw s3.error(strangeAnswer(what), 'write', key);
  }

  const put: Writes['put'] = (key, bytes) =>
    s3.call('write', key, async () => {
      await putObject(key, bytes);
    });

  /** Reads before and after the write, for a store that cannot do it in one act: enough where nobody else writes there. */
  const writeWithReads: Writes['putIf'] = async (key, bytes, expected) => {
    const before = await readObject(s3, key);
    const own = versionHolding(before, bytes);
    if (own !== undefined || (before?.version ?? null) !== expected) return own;
    await put(key, bytes);
    return versionHolding(await readObject(s3, key), bytes);
  };

  const putIf: Writes['putIf'] = async (key, bytes, expected) => {
    const { putsIfAbsent, matchForm } = await abilities();
    if (expected === null ? !putsIfAbsent : matchForm === undefined)
      return await writeWithReads(key, bytes, expected);
    const condition: PutCondition =
      expected === null ? { IfNoneMatch: '*' } : { IfMatch: matchForm!(expected) };
    const put = async () => {
      try {
        return await putObject(key, bytes, condition);
      } catch (error) {
        if (isConflict(error) || isMissing(error)) return undefined;
        throw s3.error(error, 'write', key);
      }
    };
    const conflict = { code: 's3-conflict', where: `${s3.url}/${key}` };
    return await putInPlaceOf(expected, bytes, put, () => readObject(s3, key), conflict);
  };

  const remove: Writes['remove'] = (key) =>
    s3.call('remove', key, async () => {
      try {
        await s3.client.send(new DeleteObjectCommand(targetOf(key)));
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    });

  /** False: the store refuses the call as such, and has removed nothing; each may still be removed by itself. */
  async function removeTogether(keys: readonly string[]): Promise<boolean> {
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

  return {
    put,
    putIf,
    putIfAbsent: async (key, bytes) => (await putIf(key, bytes, null)) !== undefined,
    remove,
    async removeAll(keys, mayReturn = []) {
      const all = [...keys, ...mayReturn];
      for (let at = 0; at < all.length; at += MAX_DELETED_KEYS) {
        const some = all.slice(at, at + MAX_DELETED_KEYS);
        const isTogether = takesMany && some.length > 1;
        if (isTogether && (await removeTogether(some))) continue;
        await forEachAtOnce(some, SINGLES_AT_ONCE, remove);
        if (isTogether) takesMany = false;
      }
    },
    /** Stores that know no condition on this call ignore it: for them a moment stays between look and act. */
    async removeIf(key, expected) {
      if ((await headObject(s3, key))?.version !== expected) return false;
      return await s3.call('remove', key, async () => {
        try {
          await s3.client.send(new DeleteObjectCommand({ ...targetOf(key), IfMatch: expected }));
          return true;
        } catch (error) {
          if (isConflict(error) || isMissing(error)) return false;
          throw error;
        }
      });
    },
  };
}

/** Ceph 16 wants a permission on the bucket for it, which a policy for objects does not give (403); others do not have it. */
function isCallRefused(error: unknown): boolean {
  const { name, status } = faultOf(error);
  return name === 'AccessDenied' || status === 405 || isNotImplemented(error);
}
