import type { Readable } from 'node:stream';
import type {
  GetObjectCommandInput,
  GetObjectCommandOutput,
  HeadObjectCommandOutput,
} from '@aws-sdk/client-s3';
import { GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { type ReadObject, readUpTo, strangeAnswer } from '../remote.ts';
import { MAX_WHOLE_BYTES, tooLargeToRead, type Version } from '../store.ts';
import type { S3Bucket } from './client.ts';
import { faultOf, isMissing } from './errors.ts';

const BODY_ATTEMPTS = 3;

type Named<Answer> = Answer & { readonly ETag: Version };
export type NamedHead = Named<HeadObjectCommandOutput>;

export async function readObject(s3: S3Bucket, key: string): Promise<ReadObject | undefined> {
  return await readBody(s3, key, {}, MAX_WHOLE_BYTES, (sizeBytes) => tooLargeToRead(key, sizeBytes));
}

export async function readRange(
  s3: S3Bucket,
  key: string,
  fromByte: number,
  toByte: number,
): Promise<Uint8Array | undefined> {
  if (toByte <= fromByte) return (await headObject(s3, key)) === undefined ? undefined : new Uint8Array(0);
  const asked = `${fromByte}-${toByte - 1}`;
  const another = (found: string) => new Error(`found ${found}, expected bytes ${asked}`);
  return await s3.call('read', key, async () => {
    // A store that does not know ranges answers with the whole object, which is as good where it ends no later.
    const tooLarge = (sizeBytes: number) => another(`${sizeBytes} bytes`);
    const read = await readBody(s3, key, { Range: `bytes=${asked}` }, toByte, tooLarge);
    if (read === undefined) return undefined;
    const { bytes, range } = read;
    if (range === undefined) return bytes.subarray(fromByte);
    const [, first, last] = /^bytes (\d+)-(\d+)\//.exec(range) ?? [];
    const isAsked = Number(first) === fromByte && Number(last) < toByte;
    if (!isAsked || Number(last) - fromByte + 1 !== bytes.length)
      throw another(`${bytes.length} bytes as '${s3.clean(range)}'`);
    return bytes;
  });
}

/** The body of an object, or a range, with the range that it says it is; undefined: there is none. Asks again when it breaks off. */
async function readBody(
  s3: S3Bucket,
  key: string,
  extra: Pick<GetObjectCommandInput, 'Range'>,
  maxBytes: number,
  tooLarge: (sizeBytes: number) => Error,
): Promise<(ReadObject & { readonly range: string | undefined }) | undefined> {
  const input = { Bucket: s3.bucket, Key: s3.nameOf(key), ...extra };
  return await s3.call('read', key, async () => {
    for (let attempt = 1; ; attempt++) {
      const answer = await askBody(s3, input);
      if (answer === undefined) return undefined;
      if (answer === 'beyond the end') return { bytes: new Uint8Array(0), version: '', range: undefined };
      const { Body, ETag, ContentLength = 0, ContentRange: range } = answer;
      if (ContentLength > maxBytes) {
        (Body as Readable).destroy();
        throw tooLarge(ContentLength);
      }
      let read: { bytes: Uint8Array; sizeBytes: number };
      try {
        // The SDK's retries end where the body begins.
        read = await readUpTo(Body as Readable, maxBytes);
      } catch (error) {
        if (attempt === BODY_ATTEMPTS) throw error;
        continue;
      }
      if (read.sizeBytes > maxBytes) throw tooLarge(read.sizeBytes);
      return { bytes: read.bytes, version: ETag, range };
    }
  });
}

async function askBody(
  s3: S3Bucket,
  input: GetObjectCommandInput,
): Promise<Named<GetObjectCommandOutput> | 'beyond the end' | undefined> {
  try {
    const answer = await s3.client.send(new GetObjectCommand(input));
    const { Body, ETag } = answer;
    if (ETag) return { ...answer, ETag };
    (Body as Readable).destroy();
    throw namesNoVersion();
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (faultOf(error).status === 416) return 'beyond the end';
    throw error;
  }
}

/** S3 names the version of each object that it gives out. */
const namesNoVersion = () => strangeAnswer('the answer names no version (ETag)');

export async function headObject(
  s3: S3Bucket,
  key: string,
): Promise<{ sizeBytes: number; version: Version } | undefined> {
  const head = await s3.call('read', key, () => askHead(s3, key));
  return head && { sizeBytes: head.ContentLength ?? 0, version: head.ETag };
}

/** All that a store says of an object, undefined when there is none. Throws what the SDK throws. */
export async function askHead(s3: S3Bucket, key: string): Promise<NamedHead | undefined> {
  try {
    const head = await s3.client.send(new HeadObjectCommand({ Bucket: s3.bucket, Key: s3.nameOf(key) }));
    const { ETag } = head;
    if (!ETag) throw namesNoVersion();
    return { ...head, ETag };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
