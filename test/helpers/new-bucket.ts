import { randomBytes } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3';
import type { S3Address } from './radosgw.ts';
import { plainClient } from './s3-client.ts';

export interface TestBucket {
  readonly bucket: string;
  drop(): Promise<void>;
}

/** A new, empty bucket on any server. */
export async function bucketOn(address: S3Address): Promise<TestBucket> {
  const bucket = `vessel-export-${randomBytes(6).toString('hex')}`;
  const client = plainClient(address);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    bucket,
    drop: async () => {
      while (!(await dropIfEmpty(client, bucket))) await emptyBucket(client, bucket);
      client.destroy();
    },
  };
}

/** False where something is in it: the last write of a process that was killed may come after its end. */
async function dropIfEmpty(client: S3Client, Bucket: string): Promise<boolean> {
  try {
    await client.send(new DeleteBucketCommand({ Bucket }));
    return true;
  } catch (error) {
    if ((error as Error).name !== 'BucketNotEmpty') throw error;
    return false;
  }
}

async function emptyBucket(client: S3Client, Bucket: string): Promise<void> {
  for (;;) {
    const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
    if (!Uploads?.length) break;
    for (const { Key, UploadId } of Uploads)
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
  }
  for await (const { Contents } of paginateListObjectsV2({ client }, { Bucket })) {
    await Promise.all(
      (Contents ?? []).map(({ Key }) => client.send(new DeleteObjectCommand({ Bucket, Key }))),
    );
  }
}
