import { describe } from 'vitest';
import { createS3Store } from '../../../src/store/s3/s3.ts';
import type { NewObjects } from '../../../src/store/s3/settings.ts';
import { s3ForTests } from '../../helpers/s3.ts';
import { isLong } from '../../helpers/tiers.ts';
import { describeStore } from '../conformance.ts';
import { describeUploads } from '../conformance-uploads.ts';

const s3 = await s3ForTests();

function describeS3(
  name: string,
  newObjects?: NewObjects,
  sentences?: Parameters<typeof describeStore>[2],
): void {
  const makePlace = async () => {
    const { endpoint, region, accessKeyId, secretAccessKey } = s3!;
    const { bucket, drop } = await s3!.newBucket();
    const credentials = { accessKeyId, secretAccessKey };
    const options = { bucket, endpoint, region, credentials, ...(newObjects && { newObjects }) };
    return {
      open: () => createS3Store({ ...options, prefix: 'lake/ö=1' }),
      minPartBytes: 5 << 20,
      strict: false,
      drop,
    };
  };
  describeStore(name, makePlace, sentences);
}

describe.skipIf(s3 === undefined)('S3', () => describeS3('S3'));

const kmsKeyId = s3?.kmsKeyId;
describe.skipIf(kmsKeyId === undefined)('S3 with keys of a key management service', () => {
  // Tags of parts and versions of objects are others then, and what is made of them; lists and keys are not.
  const kms = { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: kmsKeyId! } as const;
  describeS3('S3 with aws:kms', kms, isLong ? undefined : [describeUploads]);
});
