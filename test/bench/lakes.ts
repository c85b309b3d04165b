/** Empty lakes to measure on: a folder, and a bucket of a throwaway Ceph. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { missingRadosgwPrograms, startRadosgw } from '../helpers/radosgw.ts';
import { awsEnv } from '../helpers/s3-client.ts';
import { newTempFolder } from '../helpers/temp.ts';

export interface BenchLake extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  /** What a process needs to open it. */
  readonly env: Readonly<Record<string, string>>;
}

export interface BenchS3Lake extends BenchLake {
  readonly client: S3Client;
  readonly bucket: string;
  /** Of every key: that of the lake's URL, with `/`. */
  readonly keyPrefix: string;
}

const BUCKET = 'bench';
const PREFIX = 'lake';

/** A lake in `dir`, removed afterwards. */
export function openLocalLake(dir: string): BenchLake {
  return {
    name: 'local',
    url: pathToFileURL(dir).href,
    env: {},
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

/** Undefined, told to `progress`, where Ceph's programs are not installed. */
export async function openS3Lake(progress: (text: string) => void): Promise<BenchS3Lake | undefined> {
  const missing = missingRadosgwPrograms();
  if (missing.length > 0) {
    progress(`without S3: ${missing.join(', ')} not on PATH`);
    return undefined;
  }
  const folder = await newTempFolder();
  const server = await startRadosgw(join(folder.path, 's3'));
  const { endpoint, region, accessKeyId, secretAccessKey } = server.address;
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  return {
    name: 'S3',
    url: `s3://${BUCKET}/${PREFIX}`,
    env: awsEnv(server.address),
    client,
    bucket: BUCKET,
    keyPrefix: `${PREFIX}/`,
    async [Symbol.asyncDispose]() {
      client.destroy();
      await server.stop();
      await folder.remove();
    },
  };
}
