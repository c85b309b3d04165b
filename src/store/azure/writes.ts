/** Writes and removals of whole objects on Azure, as the port has them. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { putInPlaceOf } from '../remote.ts';
import type { ObjectStore, Version } from '../store.ts';
import { type AzureContainer, transactionalMd5 } from './client.ts';
import { isConflict, isMissing } from './errors.ts';
import { namesNoVersion, readObject } from './reads.ts';

const REMOVALS_AT_ONCE = 8;

type Writes = Pick<ObjectStore, 'put' | 'putIf' | 'putIfAbsent' | 'remove' | 'removeAll' | 'removeIf'>;

/** What a call asks of what is there. */
export function conditionsOf(expected: Version | null | undefined) {
  if (expected === undefined) return {};
  return { conditions: expected === null ? { ifNoneMatch: '*' } : { ifMatch: expected } };
}

export function createWrites(azure: AzureContainer): Writes {
  /** Undefined: the store refuses because of the condition. */
  const putBlob = async (key: string, bytes: Uint8Array, expected?: Version | null) => {
    const name = azure.nameOf(key);
    return await azure.call('write', key, async () => {
      const options = { ...azure.written, ...transactionalMd5(bytes), ...conditionsOf(expected) };
      try {
        const answer = await azure.blob(name).upload(bytes, bytes.length, options);
        azure.expectEncrypted(answer);
        if (!answer.etag) throw namesNoVersion();
        return answer.etag;
      } catch (error) {
        if (expected !== undefined && (isConflict(error) || isMissing(error))) return undefined;
        throw error;
      }
    });
  };

  /** False: another version is there, or none. */
  const removeBlob = async (key: string, expected?: Version) => {
    const name = azure.nameOf(key);
    return await azure.call('remove', key, async () => {
      try {
        await azure.blob(name).delete(conditionsOf(expected));
        return true;
      } catch (error) {
        if (isMissing(error) || isConflict(error)) return false;
        throw error;
      }
    });
  };

  const putIf: Writes['putIf'] = async (key, bytes, expected) => {
    const conflict = { code: 'store-conflict', where: `${azure.url}/${key}` };
    const put = () => putBlob(key, bytes, expected);
    return await putInPlaceOf(expected, bytes, put, () => readObject(azure, key), conflict);
  };

  return {
    async put(key, bytes) {
      await putBlob(key, bytes);
    },
    putIf,
    putIfAbsent: async (key, bytes) => (await putIf(key, bytes, null)) !== undefined,
    async remove(key) {
      await removeBlob(key);
    },
    /** One by one: removals cost nothing, and a batch needs a permission on the account. */
    async removeAll(keys, mayReturn = []) {
      for (const some of [keys, mayReturn])
        await forEachAtOnce(some, REMOVALS_AT_ONCE, async (key) => void (await removeBlob(key)));
    },
    removeIf: removeBlob,
  };
}
