/**
 * Writes of small objects and parts in the short way. What a write in it may have done although its answer is lost is what
 * the SDK's own first try may have done: the calls here are those that may be sent twice, and who sends them knows.
 * An upload is completed once, so never here.
 */
import { hash } from 'node:crypto';
import type { NewObjects } from './encryption.ts';
import { answeredEncryption } from './encryption.ts';
import type { ShortAnswer, ShortWay } from './short-way.ts';

/** A condition of S3's on what is there. */
export type PutCondition = { readonly IfNoneMatch?: '*'; readonly IfMatch?: string };

interface PutBody {
  readonly bytes: Uint8Array;
  /** Hex. */
  readonly sha256: string;
}

/** Each undefined, or false, where the SDK has to be asked. `name`: that of an object in the bucket. */
export interface SmallWrites {
  /** The ETag written. */
  put(name: string, body: PutBody, condition?: PutCondition): Promise<string | undefined>;
  /** The ETag of a part. */
  putPart(
    name: string,
    part: { readonly uploadId: string; readonly partNumber: number },
    body: PutBody,
  ): Promise<string | undefined>;
  /** The upload's id. `metadata`: names in lower case. */
  createUpload(name: string, metadata: Readonly<Record<string, string>>): Promise<string | undefined>;
  /** True: there is no such object now. */
  remove(name: string): Promise<boolean>;
  /** True: there is none of them now. */
  removeAll(names: readonly string[]): Promise<boolean>;
}

/** Of a larger body its bytes are the work. */
const MAX_BODY_BYTES = 1 << 20;
const BINARY = { 'content-type': 'application/octet-stream' };
const XML = { 'content-type': 'application/xml' };
const UPLOAD_ID = /<UploadId>([\w.~+/=-]+)<\/UploadId>/;
/** The whole of it, and what would stand in it for each that was not removed, however it begins. */
const DELETE_RESULT = /<DeleteResult[^<>]*(?:\/>|>[\s\S]*<\/DeleteResult>)\s*$/;
const ANY_ERROR = /<(?:\w+:)?Error[\s/>]/;
/** What needs no escape in XML. */
const PLAIN_NAME = /^[\w./=@ -]*$/;

export function createSmallWrites(way: ShortWay, newObjects: NewObjects): SmallWrites {
  /** Not with a store that has other answers than most: each call would be two. */
  let isUsable = true;
  const unlessUnusual = (found: string | undefined): string | undefined => {
    if (!found) isUsable = false;
    return found || undefined;
  };
  const newObjectWith = ({ IfNoneMatch, IfMatch }: PutCondition) => ({
    headers: {
      ...BINARY,
      ...newObjects.headers,
      ...(IfNoneMatch !== undefined && { 'if-none-match': IfNoneMatch }),
      ...(IfMatch !== undefined && { 'if-match': IfMatch }),
    },
  });
  const isNewObject = ({ status, headers }: ShortAnswer) => {
    if (status !== 200) return false;
    // It is written: a condition would not let the SDK write it again.
    newObjects.expectAsAsked(answeredEncryption(headers));
    return true;
  };
  async function put(
    name: string,
    { bytes, sha256 }: PutBody,
    more: object,
    isDone = ({ status }: ShortAnswer) => status === 200,
  ): Promise<string | undefined> {
    if (!isUsable || bytes.length > MAX_BODY_BYTES) return undefined;
    const answer = await way.send({ method: 'PUT', name, headers: BINARY, body: bytes, sha256, ...more });
    return answer && isDone(answer) ? unlessUnusual(answer.headers.etag) : undefined;
  }
  return {
    put: (name, body, condition = {}) => put(name, body, newObjectWith(condition), isNewObject),
    putPart: (name, { uploadId, partNumber }, body) =>
      put(name, body, { query: { partNumber: String(partNumber), uploadId } }),
    async createUpload(name, metadata) {
      if (!isUsable) return undefined;
      const entries = Object.entries(metadata).map(([key, value]) => [`x-amz-meta-${key}`, value]);
      const headers = { ...Object.fromEntries(entries), ...newObjects.headers };
      const answer = await way.send({ method: 'POST', name, query: { uploads: '' }, headers });
      return answer && isNewObject(answer) ? unlessUnusual(UPLOAD_ID.exec(textOf(answer))?.[1]) : undefined;
    },
    async remove(name) {
      const answer = await way.send({ method: 'DELETE', name });
      return answer?.status === 204;
    },
    async removeAll(names) {
      if (!isUsable || !names.every((name) => PLAIN_NAME.test(name))) return false;
      const objects = names.map((name) => `<Object><Key>${name}</Key></Object>`).join('');
      const body = Buffer.from(
        `<?xml version="1.0" encoding="UTF-8"?><Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${objects}<Quiet>true</Quiet></Delete>`,
      );
      const headers = { ...XML, 'content-md5': hash('md5', body, 'base64') };
      const sha256 = hash('sha256', body);
      const answer = await way.send({
        ...{ method: 'POST', name: '', query: { delete: '' } },
        ...{ headers, body, sha256 },
      });
      if (answer?.status !== 200) return false;
      const text = textOf(answer);
      return DELETE_RESULT.test(text) && !ANY_ERROR.test(text);
    },
  };
}

const textOf = ({ bytes }: ShortAnswer): string => Buffer.from(bytes).toString('utf8');
