/** Servers that keep buckets, or containers, for tests that hold on each of them. */
import type { TestBucket, TestS3 } from './s3.ts';
import { awsEnv } from './s3-client.ts';

export interface BucketServer {
  /** Where it answers: `http://host:port`. */
  readonly origin: string;
  newBucket(): Promise<TestBucket>;
  /** A lake in a bucket. */
  urlOf(bucket: string): string;
  /** The settings with which it is reached, there or through somebody who passes requests on. */
  envAt(origin: string): Record<string, string>;
}

export function s3Server(s3: TestS3): BucketServer {
  return {
    origin: s3.endpoint,
    newBucket: () => s3.newBucket(),
    urlOf: (bucket) => `s3://${bucket}/lake`,
    envAt: (origin) => ({ ...awsEnv(s3), AWS_ENDPOINT_URL_S3: origin }),
  };
}
