/** Server-side encryption: the one owner of what each request that makes an object says of it, and of what its answer must say. */
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import { FatalError } from '../../core/errors.ts';
import type { S3Encryption } from './settings.ts';

/** Parts and completion name no encryption. */
const MAKES_AN_OBJECT: ReadonlySet<string> = new Set(['PutObjectCommand', 'CreateMultipartUploadCommand']);

/**
 * Every object that `client` makes is encrypted so. A call throws FatalError (`not-encrypted`) where the answer does not
 * name the encryption that was asked for: such a store writes in clear, and says nothing.
 */
export function encryptNewObjects(client: S3Client, { sse, kmsKeyId }: S3Encryption): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (!MAKES_AN_OBJECT.has(context.commandName ?? '')) return await next(args);
      const asked = { ServerSideEncryption: sse, ...(kmsKeyId && { SSEKMSKeyId: kmsKeyId }) };
      const result = await next({ ...args, input: { ...args.input, ...asked } });
      const answered = (result.output as Partial<PutObjectCommandInput>).ServerSideEncryption;
      if (answered === sse) return result;
      const found = answered === undefined ? 'names no encryption' : `says ${JSON.stringify(answered)}`;
      throw new FatalError(
        'not-encrypted',
        `S3_SSE is ${sse}, and the store's answer ${found}: it has not encrypted as it was told to. Use a store that does, or leave out S3_SSE and have the bucket encrypt.`,
      );
    },
    { step: 'initialize', name: 'encryptNewObjects' },
  );
}
