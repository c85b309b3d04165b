/** Reads of whole objects in the short way. */
import { hash } from 'node:crypto';
import type { Version } from '../store.ts';
import type { ShortWay } from './short-way.ts';

export interface SmallReads {
  /** An object; `missing`; undefined where the SDK has to be asked. `name`: its name in the bucket. */
  read(
    name: string,
  ): Promise<{ readonly bytes: Uint8Array; readonly version: Version } | 'missing' | undefined>;
}

const PLAIN_MD5 = /^"?([0-9a-f]{32})"?$/;
const NO_SUCH_KEY = '<Code>NoSuchKey</Code>';

/** Two answers count: an object whose bytes are those that its ETag names, and "there is no such object". */
export function createSmallReads(way: ShortWay): SmallReads {
  /** Not with a store whose ETags are no digests, such as one that encrypts with keys of its own. */
  let isUsable = true;
  return {
    async read(name) {
      if (!isUsable) return undefined;
      const { status, headers, bytes } = (await way.send({ method: 'GET', name })) ?? {};
      if (bytes === undefined) return undefined;
      if (status === 404) return Buffer.from(bytes).includes(NO_SUCH_KEY) ? 'missing' : undefined;
      const version = headers?.etag ?? '';
      const digest = PLAIN_MD5.exec(version)?.[1];
      if (status !== 200 || digest === undefined) return undefined;
      if (hash('md5', bytes) === digest) return { bytes, version };
      isUsable = false;
      return undefined;
    },
  };
}
