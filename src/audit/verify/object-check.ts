/** The published bytes against the receipt: there, as long as it says, and with the digests it says. */
import { createHash } from 'node:crypto';
import type { Receipt } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { type Difference, difference, differenceOf, type Sides } from './findings.ts';

/** I4: the part of a store that verify is given. Nothing in it writes. */
export type ReadableStore = Pick<
  ObjectStore,
  'url' | 'get' | 'getRange' | 'head' | 'list' | 'listUploads' | 'publishedBy'
>;

/** Bytes asked for at once: times the vessel-days at work, the memory that reading takes. */
const READ_BYTES = 4 << 20;

export interface ObjectReading {
  readonly store: ReadableStore;
  readonly signal: AbortSignal;
  /** Told of bytes as they are read, in order; they may be kept. */
  readonly onBytes?: (bytes: Uint8Array, atByte: number) => void | Promise<void>;
}

type Published = NonNullable<Receipt['object']>;

/** Bytes at the end of an object that are handed on: they hold the footer of hundreds of row groups. */
const TAIL_BYTES = 128 << 10;

export type CheckedObject =
  | { readonly difference: Difference; readonly tail?: undefined }
  /** The last TAIL_BYTES of a sound object, or all of it. */
  | { readonly difference?: undefined; readonly tail: Uint8Array };

/** Read an object once, a range at a time, and compare every part. */
export async function checkObject(reading: ObjectReading, object: Published): Promise<CheckedObject> {
  const wrong: Sides[] = [];
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
  let atByte = 0;
  for (const [index, part] of object.parts.entries()) {
    const toByte = atByte + part.sizeBytes;
    const sha256 = await hashRange(keepTail, object, atByte, toByte);
    if (sha256 === undefined) return { difference: await otherSize(reading.store, object) };
    const name = `part ${index + 1} of ${object.parts.length}`;
    if (sha256 !== part.sha256)
      wrong.push({ found: `${name}: ${sha256}`, expected: `${name}: ${part.sha256}` });
    atByte = toByte;
  }
  const [difference] = differenceOf('checksum-differs', object.key, wrong);
  return difference === undefined ? { tail } : { difference };
}

/** SHA-256 of `[fromByte, toByte)`, or undefined when the object ends before that, or not where it should. */
async function hashRange(
  { store, signal, onBytes }: ObjectReading,
  object: Published,
  fromByte: number,
  toByte: number,
): Promise<string | undefined> {
  const digest = createHash('sha256');
  for (let at = fromByte; at < toByte; ) {
    signal.throwIfAborted();
    const until = Math.min(toByte, at + READ_BYTES);
    // One byte more at the end tells whether there is more: no request of its own for the size.
    const read = await store.getRange(object.key, at, until === object.sizeBytes ? until + 1 : until);
    if (read === undefined || read.length === 0 || at + read.length > until) return undefined;
    digest.update(read);
    await onBytes?.(read, at);
    at += read.length;
  }
  return digest.digest('hex');
}

async function otherSize(store: ReadableStore, object: Published): Promise<Difference> {
  const where = object.key;
  const head = await store.head(where);
  const expected = `${object.sizeBytes} bytes`;
  if (head === undefined) return difference('object-missing', where, 'no object', expected);
  return difference('size-differs', where, `${head.sizeBytes} bytes`, expected);
}
