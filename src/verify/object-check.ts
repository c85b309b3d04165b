/** The published bytes against the receipt: there, as long as it says, and with the digests it says. */
import type { ObjectReading as PartReading, PublishedObject } from '../lake/part-digests.ts';
import { partDigests } from '../lake/part-digests.ts';
import type { ObjectStore } from '../store/store.ts';
import type { Difference, Sides } from './findings.ts';
import { firstFewOf } from './findings.ts';

/** I4: the part of a store that verify is given. Nothing in it writes. */
export type ReadableStore = Pick<ObjectStore, 'url' | 'get' | 'getRange' | 'head' | 'list' | 'listUploads'>;

export interface ObjectReading extends PartReading {
  readonly store: ReadableStore;
}

/** Bytes at the end of an object that are handed on: they hold the footer of hundreds of row groups. */
const TAIL_BYTES = 128 << 10;

export type CheckedObject =
  | { readonly difference: Difference; readonly tail?: undefined }
  /** The last TAIL_BYTES of a sound object, or all of it. */
  | { readonly difference?: undefined; readonly tail: Uint8Array };

/** Read an object once, a range at a time, and compare every part. */
export async function checkObject(reading: ObjectReading, object: PublishedObject): Promise<CheckedObject> {
  const where = object.key;
  const wrong: Sides[] = [];
  let seen = 0;
  const tail = new Uint8Array(Math.min(TAIL_BYTES, object.sizeBytes));
  const tailFrom = object.sizeBytes - tail.length;
  const keepTail: ObjectReading = {
    ...reading,
    async onBytes(bytes, atByte) {
      const from = Math.max(atByte, tailFrom);
      if (from < atByte + bytes.length) tail.set(bytes.subarray(from - atByte), from - tailFrom);
      await reading.onBytes?.(bytes, atByte);
    },
  };
  for await (const sha256 of partDigests(keepTail, object)) {
    if (sha256 === undefined) return { difference: await otherSize(reading.store, object) };
    const part = object.parts[seen++]!;
    const name = `part ${seen} of ${object.parts.length}`;
    if (sha256 !== part.sha256)
      wrong.push({ found: `${name}: ${sha256}`, expected: `${name}: ${part.sha256}` });
  }
  if (wrong.length === 0) return { tail };
  return { difference: { name: 'checksum-differs', where, ...firstFewOf(wrong) } };
}

async function otherSize(store: ReadableStore, object: PublishedObject): Promise<Difference> {
  const where = object.key;
  const head = await store.head(where);
  const expected = `${object.sizeBytes} bytes`;
  if (head === undefined) return { name: 'object-missing', where, found: 'no object', expected };
  return { name: 'size-differs', where, found: `${head.sizeBytes} bytes`, expected };
}
