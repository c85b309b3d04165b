/** The bytes of a published object against its parts: for verify, and for an export that would keep them. */
import { createHash } from 'node:crypto';
import type { Receipt } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';

/** Bytes asked for at once: times the vessel-days at work, the memory that reading takes. */
const READ_BYTES = 4 << 20;

export interface ObjectReading {
  readonly store: Pick<ObjectStore, 'getRange'>;
  readonly signal: AbortSignal;
  /** Told of bytes as they are read, in order; they may be kept. */
  readonly onBytes?: (bytes: Uint8Array, atByte: number) => void | Promise<void>;
}

export type PublishedObject = NonNullable<Receipt['object']>;

/**
 * SHA-256 (hex) of each part as it lies there, read once, a range at a time. Undefined, and nothing after it, where the
 * object ends before that, or not where it should.
 */
export async function* partDigests(
  reading: ObjectReading,
  object: PublishedObject,
): AsyncGenerator<string | undefined> {
  let atByte = 0;
  for (const { sizeBytes } of object.parts) {
    const sha256 = await hashRange(reading, object, atByte, atByte + sizeBytes);
    yield sha256;
    if (sha256 === undefined) return;
    atByte += sizeBytes;
  }
}

/** Are its bytes those that were published? */
export async function hasPublishedBytes(reading: ObjectReading, object: PublishedObject): Promise<boolean> {
  const parts = object.parts.values();
  for await (const sha256 of partDigests(reading, object))
    if (sha256 !== parts.next().value?.sha256) return false;
  return true;
}

async function hashRange(
  { store, signal, onBytes }: ObjectReading,
  object: PublishedObject,
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
