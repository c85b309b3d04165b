/** What an S3 server keeps of what it is asked, found out by asking: each fact is one row of the table in the documentation. */
import { hash } from 'node:crypto';
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { S3Address } from '../helpers/radosgw.ts';
import { plainClient } from '../helpers/s3-client.ts';

const RACERS = 20;
const ROUNDS = 5;
const NO_VERSION = '"00000000000000000000000000000000"';

/** Where the questions are asked: a bucket that is thrown away. */
interface Asked {
  readonly address: S3Address;
  readonly client: S3Client;
  readonly bucket: string;
}

/** The rows, in their order. Each answers in a few words. */
const FACTS: Readonly<Record<string, (asked: Asked) => Promise<string>>> = {
  async 'put if absent (`If-None-Match: *`), 20 writers at once'({ client, bucket }) {
    return await raced(async (round) => {
      const target = { Bucket: bucket, Key: `absent-${round}`, IfNoneMatch: '*' };
      return (racer) => wins(client, { ...target, Body: racer });
    });
  },

  async 'replace a version (`If-Match`), 20 writers at once'({ client, bucket }) {
    for (const [form, name] of [
      [(tag: string) => tag, ''],
      [(tag: string) => tag.replaceAll('"', ''), ', with the ETag unquoted'],
    ] as const) {
      const target = { Bucket: bucket, Key: `replaced-${name.length}` };
      await client.send(new PutObjectCommand({ ...target, Body: 'first' }));
      if (await wins(client, { ...target, Body: 'late', IfMatch: form(NO_VERSION) })) return '**ignored**';
      const answer = await raced(async () => {
        const { ETag } = await client.send(new HeadObjectCommand(target));
        return (racer) => wins(client, { ...target, Body: racer, IfMatch: form(ETag!) });
      });
      if (answer !== NOBODY) return answer + name;
    }
    return '**refused always**';
  },

  'complete an upload if absent': async (asked) =>
    (await completesOverOther(asked, { IfNoneMatch: '*' })) ? '**ignored**' : 'yes',

  'complete an upload over a version': async (asked) =>
    (await completesOverOther(asked, { IfMatch: NO_VERSION })) ? '**ignored**' : 'yes',

  async 'a part that was replaced cannot be completed with'(asked) {
    const upload = await openUpload(asked, 'parts');
    const first = await upload.send('one');
    await upload.send('two');
    const isTaken = await succeeds(upload.complete(first));
    if (!isTaken) await upload.abort();
    return isTaken ? '**it can**' : 'yes';
  },

  async 'completing once more, after another object was put there'(asked) {
    const upload = await openUpload(asked, 'again');
    const tag = await upload.send('one');
    await upload.complete(tag);
    const target = { Bucket: asked.bucket, Key: 'again' };
    const { ETag } = await asked.client.send(new PutObjectCommand({ ...target, Body: 'other' }));
    const isTaken = await succeeds(upload.complete(tag));
    const { ETag: now } = await asked.client.send(new HeadObjectCommand(target));
    if (now !== ETag) return '**replaces it**';
    return isTaken ? 'answered as a success, changes nothing' : 'refused';
  },

  async 'order of lists'({ client, bucket }) {
    const names = ['a-', 'a/b', 'a.b', 'aa', 'B', '\uff5e', '\u{1d4b3}'].map((name) => `order/${name}`);
    for (const Key of names) await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'x' }));
    const { Contents = [] } = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: 'order/' }),
    );
    const found = Contents.map(({ Key }) => Key!);
    const byBytes = (text: (name: string) => string) =>
      names.toSorted((a, b) => Buffer.compare(Buffer.from(text(a)), Buffer.from(text(b))));
    if (
      same(
        found,
        byBytes((name) => name),
      )
    )
      return 'bytes';
    if (
      same(
        found,
        byBytes((name) => name.replaceAll('/', '\0')),
      )
    )
      return 'a folder before its siblings';
    return '**another**';
  },

  async 'open uploads are listed, with their time'(asked) {
    const upload = await openUpload(asked, 'open/uploads/day');
    const listed = async (Prefix: string) => {
      const { Uploads = [] } = await asked.client.send(
        new ListMultipartUploadsCommand({ Bucket: asked.bucket, Prefix }),
      );
      return Uploads.find(({ Key }) => Key === 'open/uploads/day');
    };
    const found = await listed('open/');
    const byName = await listed('open/uploads/day');
    await upload.abort();
    if (found === undefined) return byName === undefined ? '**no**' : '**only by the whole key**';
    const isNow = Math.abs((found.Initiated?.getTime() ?? 0) - Date.now()) < 3_600_000;
    return isNow ? 'yes' : '**with a wrong time**';
  },

  async 'a body that was changed on its way (signed SHA-256)'({ address, bucket }) {
    const client = plainClient(address);
    client.middlewareStack.add(
      (next) => (args) => {
        (args.request as { body: unknown }).body = 'changed';
        return next(args);
      },
      { step: 'finalizeRequest', priority: 'low', name: 'changeBody' },
    );
    const isTaken = await succeeds(
      client.send(new PutObjectCommand({ Bucket: bucket, Key: 'changed', Body: 'as sent' })),
    );
    client.destroy();
    return isTaken ? '**stored**' : 'refused';
  },

  async 'a wrong checksum (`x-amz-checksum-sha256`)'({ client, bucket }) {
    const ChecksumSHA256 = hash('sha256', 'other', 'base64');
    const put = new PutObjectCommand({ Bucket: bucket, Key: 'checksum', Body: 'this', ChecksumSHA256 });
    return (await succeeds(client.send(put))) ? '**stored**' : 'refused';
  },

  async 'a wrong secret'({ address, bucket }) {
    const client = plainClient({ ...address, secretAccessKey: 'not-the-secret' });
    const isTaken = await succeeds(
      client.send(new PutObjectCommand({ Bucket: bucket, Key: 's', Body: 's' })),
    );
    client.destroy();
    return isTaken ? '**taken**' : 'refused';
  },
};

/** Every fact of a server, by its row. */
export async function askFacts(address: S3Address, bucket: string): Promise<Record<string, string>> {
  const client = plainClient(address);
  const found: Record<string, string> = {};
  for (const [row, ask] of Object.entries(FACTS)) found[row] = await ask({ address, client, bucket });
  client.destroy();
  return found;
}

const NOBODY = '**nobody won**';

/** Several rounds of writers at once: one of each round is to win. */
async function raced(
  begin: (round: number) => Promise<(racer: string) => Promise<boolean>>,
): Promise<string> {
  const won: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const race = await begin(round);
    const racers = Array.from({ length: RACERS }, (_, at) => race(`round ${round} racer ${at}`));
    won.push((await Promise.all(racers)).filter(Boolean).length);
  }
  if (won.every((count) => count === 0)) return NOBODY;
  return won.every((count) => count === 1) ? 'yes' : `**${Math.max(...won)} of ${RACERS} won**`;
}

async function wins(client: S3Client, input: PutObjectCommandInput): Promise<boolean> {
  return await succeeds(client.send(new PutObjectCommand(input)));
}

const succeeds = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => true,
    () => false,
  );

const same = (a: readonly string[], b: readonly string[]) => JSON.stringify(a) === JSON.stringify(b);

async function openUpload({ client, bucket }: Asked, key: string) {
  const target = { Bucket: bucket, Key: key };
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
  const upload = { ...target, UploadId };
  return {
    send: async (Body: string) =>
      (await client.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body }))).ETag,
    complete: (ETag: string | undefined, condition: { IfMatch?: string; IfNoneMatch?: string } = {}) =>
      client.send(
        new CompleteMultipartUploadCommand({
          ...{ ...upload, ...condition, MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } },
        }),
      ),
    abort: () => client.send(new AbortMultipartUploadCommand(upload)),
  };
}

/** Is an upload completed over an object that the condition does not mean? */
async function completesOverOther(
  asked: Asked,
  condition: { IfMatch?: string; IfNoneMatch?: string },
): Promise<boolean> {
  const key = `over-${Object.keys(condition)[0]}`;
  await asked.client.send(new PutObjectCommand({ Bucket: asked.bucket, Key: key, Body: 'there' }));
  const upload = await openUpload(asked, key);
  const isTaken = await succeeds(upload.complete(await upload.send('late'), condition));
  if (!isTaken) await upload.abort();
  return isTaken;
}
