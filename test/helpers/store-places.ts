/** A store of each kind, new and empty, for tests that hold on both. */
import { createLocalStore } from '../../src/store/local/local.ts';
import { createS3Store } from '../../src/store/s3/s3.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { TestS3 } from './s3.ts';
import { newMemoryFolder } from './temp.ts';

export interface StorePlace {
  readonly store: ObjectStore;
  /** Removes it with all that is in it. */
  drop(): Promise<void>;
}

/** How a place of each kind is made; without an S3 server only that on disk. */
export function storePlaces(s3: TestS3 | undefined): [name: string, make: () => Promise<StorePlace>][] {
  const places: [string, () => Promise<StorePlace>][] = [['on a local disk', localPlace]];
  if (s3 !== undefined) places.push(['on S3', () => s3Place(s3)]);
  return places;
}

async function localPlace(): Promise<StorePlace> {
  const folder = await newMemoryFolder();
  return { store: createLocalStore(folder.path), drop: folder.remove };
}

async function s3Place({ endpoint, region, accessKeyId, secretAccessKey, newBucket }: TestS3) {
  const { bucket, drop } = await newBucket();
  const credentials = { accessKeyId, secretAccessKey };
  return { store: createS3Store({ bucket, endpoint, region, credentials, prefix: 'lake' }), drop };
}
