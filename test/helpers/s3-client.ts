import { S3Client } from '@aws-sdk/client-s3';
import type { S3Address } from './radosgw.ts';

/** A bare SDK client, to prepare and inspect what the store under test sees. */
export function plainClient({ endpoint, region, accessKeyId, secretAccessKey }: S3Address): S3Client {
  const credentials = { accessKeyId, secretAccessKey };
  return new S3Client({
    endpoint,
    region,
    credentials,
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
}

/** Settings of a program that is to use this server, as AWS names them. */
export function awsEnv({ endpoint, region, accessKeyId, secretAccessKey }: S3Address) {
  return {
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
}
