/** How objects are encrypted by the store: what goes with every request that makes one, and what its answer must say. */
import type { PutObjectCommandInput } from '@aws-sdk/client-s3';
import { FatalError } from '../../core/errors.ts';
import type { S3Encryption } from './settings.ts';

/** As the SDK names it. */
type SdkEncryption = Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'>;

export interface NewObjects {
  /** For a command of the SDK: a single PUT, or the beginning of an upload. Parts and completion name none. */
  readonly input: SdkEncryption;
  /** The same as headers. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Throws FatalError (`not-encrypted`) where the answer to such a request does not name the encryption that was asked for:
   * such a store writes in clear, and says nothing.
   */
  expectAsAsked(answered: string | undefined): void;
}

const SSE_HEADER = 'x-amz-server-side-encryption';

export function newObjectsOf(encryption: S3Encryption | undefined): NewObjects {
  const { sse, kmsKeyId } = encryption ?? {};
  return {
    input: sse === undefined ? {} : { ServerSideEncryption: sse, SSEKMSKeyId: kmsKeyId },
    headers: {
      ...(sse !== undefined && { [SSE_HEADER]: sse }),
      ...(kmsKeyId !== undefined && { [`${SSE_HEADER}-aws-kms-key-id`]: kmsKeyId }),
    },
    expectAsAsked(answered) {
      if (sse === undefined || answered === sse) return;
      const found = answered === undefined ? 'names no encryption' : `says ${JSON.stringify(answered)}`;
      throw new FatalError(
        'not-encrypted',
        `S3_SSE is ${sse}, and the store's answer ${found}: it has not encrypted as it was told to. Use a store that does, or leave out S3_SSE and have the bucket encrypt.`,
      );
    },
  };
}

/** What the answer in the short way says of it. */
export function answeredEncryption(headers: Readonly<Record<string, string>>): string | undefined {
  return headers[SSE_HEADER];
}
