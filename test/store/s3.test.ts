import { describe } from 'vitest';
import { createS3Store } from '../../src/store/s3.ts';
import { s3ForTests } from '../helpers/s3.ts';
import { describeStore } from './conformance.ts';

const s3 = await s3ForTests();

describe.skipIf(s3 === undefined)('S3', () => {
  describeStore('S3', async () => {
    const { endpoint, region, accessKeyId, secretAccessKey } = s3!;
    const { bucket, drop } = await s3!.newBucket();
    const options = { bucket, endpoint, region, credentials: { accessKeyId, secretAccessKey } };
    return {
      open: () => createS3Store({ ...options, prefix: 'lake/ö=1' }),
      minPartBytes: 5 << 20,
      strict: false,
      drop,
    };
  });
});
