import { once } from '../../core/concurrency.ts';
import { eachOf, type ObjectStore } from '../store.ts';
import { probeAbilities } from './abilities.ts';
import { openBucket, type S3StoreOptions } from './client.ts';
import { listPages, listUploads } from './lists.ts';
import { headObject, readObject, readRange } from './reads.ts';
import { createUploads } from './uploads.ts';
import { createWrites } from './writes.ts';

/**
 * Objects in an S3 bucket, Amazon's or another's. Needs of it: multipart uploads with user metadata, and
 * read-after-write consistency of all calls; of more than one writer atomic `If-None-Match: *` on PUT.
 */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const s3 = openBucket(options);
  const abilities = once(() => probeAbilities(s3));
  return {
    url: s3.url,
    get: (key) => readObject(s3, key),
    getRange: (key, fromByte, toByte) => readRange(s3, key, fromByte, toByte),
    head: (key) => headObject(s3, key),
    ...createWrites(s3, abilities),
    list: (prefix) => eachOf(listPages(s3, prefix)),
    listPages: (prefix) => listPages(s3, prefix),
    // Buckets have no folders; a list has every tag at a thousand a request.
    folderState: async () => undefined,
    ...createUploads(s3, abilities),
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
