import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, inject } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { bucketOn, type TestBucket } from './new-bucket.ts';

import type { S3Address } from './radosgw.ts';
import type {} from './s3-global-setup.ts';

export type { TestBucket };

/** A real S3 server for tests. */
export interface TestS3 extends S3Address {
  /** A new, empty bucket; `drop` removes it with everything in it. */
  newBucket(): Promise<TestBucket>;
}

/**
 * The S3 server that tests run against, the first of:
 *   1. `S3_TEST_ENDPOINT`, with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (AWS_REGION) and the right to make buckets
 *   2. radosgw on PATH: one server for the whole run, see s3-global-setup.ts
 *   3. that of docker-compose.yml in a container, where a Docker engine answers: one for the whole run too
 *   4. none: undefined, and the run's end says so; where `CI` is set an error
 * Call it at the top of a test file and pass the answer to `describe.skipIf`.
 */
export async function s3ForTests(): Promise<TestS3 | undefined> {
  const address = addressFromEnv() ?? (await addressFromBroker());
  if (address === undefined) return undefined;
  return { ...address, newBucket: () => bucketOn(address) };
}

function addressFromEnv(): S3Address | undefined {
  const { S3_TEST_ENDPOINT, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION } = process.env;
  if (!S3_TEST_ENDPOINT) return undefined;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
    throw new Error(
      'S3_TEST_ENDPOINT is set, so AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set too',
    );
  }
  return {
    endpoint: S3_TEST_ENDPOINT,
    region: AWS_REGION || 'us-east-1',
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
  };
}

async function addressFromBroker(): Promise<S3Address | undefined> {
  const answer = await fetch(inject('s3BrokerUrl'), { headers: { connection: 'close' } });
  if (answer.ok) return (await answer.json()) as S3Address;
  const reason = await answer.text();
  if (process.env.CI) throw new Error(`the S3 tests must run here (CI is set): ${reason}`);
  return undefined;
}

/** Copy every object of an `s3://` lake into a folder; fails when an upload is open. `env`: the AWS settings. */
export async function copyLake(
  url: string,
  env: Readonly<Record<string, string>>,
  dir: string,
): Promise<void> {
  const store = await openStore(url, env);
  for await (const { key } of store.listUploads('')) expect.fail(`an upload of ${key} is left`);
  for await (const { key } of store.list('')) {
    await mkdir(dirname(join(dir, key)), { recursive: true });
    await writeFile(join(dir, key), (await store.get(key))!.bytes);
  }
  await store.close();
}
