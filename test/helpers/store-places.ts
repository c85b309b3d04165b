/** A store of each kind, new and empty, for tests that hold on both. */
import { pathToFileURL } from 'node:url';
import { createLocalStore } from '../../src/store/local/local.ts';
import { createS3Store } from '../../src/store/s3/s3.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { TestS3 } from './s3.ts';
import { awsEnv } from './s3-client.ts';
import { newMemoryFolder } from './temp.ts';

export interface StorePlace {
  readonly store: ObjectStore;
  /** The same for a command. */
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
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
  const url = pathToFileURL(folder.path).href;
  return { store: createLocalStore(folder.path), url, env: {}, drop: folder.remove };
}

async function s3Place(s3: TestS3): Promise<StorePlace> {
  const { endpoint, region, accessKeyId, secretAccessKey } = s3;
  const { bucket, drop } = await s3.newBucket();
  const credentials = { accessKeyId, secretAccessKey };
  const store = createS3Store({ bucket, endpoint, region, credentials, prefix: 'lake' });
  return { store, url: `s3://${bucket}/lake`, env: awsEnv(s3), drop };
}
