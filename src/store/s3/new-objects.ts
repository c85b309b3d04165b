/** The one owner of what each request that makes an object says of it, such as its encryption, and of what its answer must say. */
import type { S3Client } from '@aws-sdk/client-s3';
import { FatalError } from '../../core/errors.ts';
import type { NewObjects } from './settings.ts';

/** Parts and completion say nothing of the object. */
const MAKES_AN_OBJECT: ReadonlySet<string> = new Set(['PutObjectCommand', 'CreateMultipartUploadCommand']);

/** Every object is `asked` for so. A call whose answer names another encryption throws FatalError (`not-encrypted`): the store writes in clear. */
export function sayOfNewObjects(client: S3Client, asked: NewObjects): void {
  const { ServerSideEncryption: encryption } = asked;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (!MAKES_AN_OBJECT.has(context.commandName ?? '')) return await next(args);
      const result = await next({ ...args, input: { ...args.input, ...asked } });
      const { ServerSideEncryption: answered } = result.output as NewObjects;
      if (encryption === undefined || answered === encryption) return result;
      const found = answered === undefined ? 'names no encryption' : `says ${JSON.stringify(answered)}`;
      throw new FatalError(
        'not-encrypted',
        `S3_SSE is ${encryption}, and the store's answer ${found}: it has not encrypted as requested. Use a store that does, or leave out S3_SSE and let the bucket encrypt.`,
      );
    },
    { step: 'initialize', name: 'sayOfNewObjects' },
  );
}
