import { createHash } from 'node:crypto';
import { CommitFailedError, ConfigError, DataError } from '../core/errors.ts';
import type { PartRef, UploadRef } from '../core/model/index.ts';

export type { PartRef, UploadRef };

/** What is read whole is small; the largest are claims of long days with thousands of series. */
export const MAX_WHOLE_BYTES = 64 << 20;

/** Whoever put it there: it is not what it stands for, and would fill the memory. */
export function tooLargeToRead(key: string, sizeBytes: number): DataError {
  return new DataError(
    'damaged-file',
    `${key}: found ${sizeBytes} bytes, expected at most ${MAX_WHOLE_BYTES}; check what is there and move it away`,
  );
}

export async function* eachOf(pages: AsyncIterable<readonly ListedObject[]>): AsyncGenerator<ListedObject> {
  for await (const page of pages) yield* page;
}

/**
 * The object store port. Keys are `/`-separated relative names without a leading slash, of printable
 * characters, no segment beginning with `.` (rules and limits: key.ts); no key is also a folder of another.
 * One conformance suite runs against every implementation.
 *
 * Implementations retry transport faults of idempotent calls themselves. What they throw:
 *   RetriableError       the store could not be reached or is overloaded
 *   FatalError           no permission, no bucket, disk full (code `disk-full`), read-only
 *   CommitFailedError    a conditional or completing call certainly did nothing
 *   CommitUnknownError   a completing call may have taken effect: look before you write again
 */
export interface ObjectStore {
  /** As `LAKE_URL` has it, without secrets; for messages. */
  readonly url: string;

  /**
   * The object's bytes and their version, or undefined when there is none. For small objects: throws DataError
   * `damaged-file` for one of more than MAX_WHOLE_BYTES.
   */
  get(key: string): Promise<{ bytes: Uint8Array; version: Version } | undefined>;

  /** Bytes `[fromByte, toByte)` of an object, as far as it reaches, or undefined when there is none. */
  getRange(key: string, fromByte: number, toByte: number): Promise<Uint8Array | undefined>;

  /** Size in bytes and version, or undefined when there is no such object. */
  head(key: string): Promise<{ sizeBytes: number; version: Version } | undefined>;

  /** Write a whole small object atomically and durably: readers see the old or the new one. */
  put(key: string, bytes: Uint8Array): Promise<void>;

  /**
   * Replace exactly the version `expected`, or write where there is nothing (null), atomically against any number
   * of racers. The version written (a retried put finds its own bytes), or undefined when something else is there.
   * So racers must put something unique into their bytes. After a RetriableError call again to learn which. However
   * late a call arrives, it replaces nothing else (on S3: where the store can, see `capabilities`).
   */
  putIf(key: string, bytes: Uint8Array, expected: Version | null): Promise<Version | undefined>;

  /** `putIf` where there is nothing. True: the object holds these bytes. False: someone else's are there. */
  putIfAbsent(key: string, bytes: Uint8Array): Promise<boolean>;

  /** Remove an object, durably; no error when there is none. Folders that are empty then go too. */
  remove(key: string): Promise<void>;

  /**
   * Remove several objects, in one request where the store can. What somebody else has just removed is durable when that
   * one's call returns. `mayReturn` go last, and may be there again after a power cut.
   */
  removeAll(keys: readonly string[], mayReturn?: readonly string[]): Promise<void>;

  /** Remove an object if it is still that version. False: another is there, or none. */
  removeIf(key: string, expected: Version): Promise<boolean>;

  /**
   * Objects whose key begins with `prefix`, in key order, but some stores list a folder before its siblings (`a/b` before
   * `a-`); open uploads are not among them. `tag` names what was written last: an object whose size and tag are what they were has not been replaced by other bytes.
   */
  list(prefix: string): AsyncIterable<ListedObject>;

  /** The same, as many at once as the store has at hand: for ledgers of millions, where every step of a loop counts. */
  listPages(prefix: string): AsyncIterable<readonly ListedObject[]>;

  /**
   * A text that is another one once an object directly below `folder` (a prefix that ends with `/`) was added, replaced
   * or removed by a store. Undefined where it cannot tell, or not yet: soon after a change the next may leave no trace.
   * Bytes that other programs write into a file in its place leave none.
   */
  folderState(folder: string): Promise<string | undefined>;

  /**
   * Begin an object that comes in parts. Nothing is visible under `key` until `publish`.
   * `nonce` (unique, `[A-Za-z0-9-]+`) is how `publishedBy` knows the upload's object again.
   */
  begin(key: string, nonce: string): Promise<UploadRef>;

  /**
   * Store part `partNumber` (1, 2, …; sent in order). All parts but the last must have ≥ 5 MiB on S3.
   * Sending a number again replaces that part; those after it must then be sent again too. Only the store
   * that began or adopted an upload sends parts; the other calls are open to all.
   * Throws CommitFailedError (code `upload-gone`) when the upload does not exist any more; Azure takes the part then, for
   * nothing, and keeps a part that was replaced until the object is published: only `publish` tells.
   */
  append(upload: UploadRef, partNumber: number, bytes: Uint8Array): Promise<PartRef>;

  /**
   * Take over a predecessor's upload of which `parts` are known to be good. Anything after them is dropped
   * (Ceph 16 cannot: unless parts with the same numbers are sent again, publishing throws `part-mismatch`).
   * Afterwards the predecessor can no longer publish an upload with other bytes than the successor knows
   * (local: its rename fails; S3: completing with a part that was sent again fails; Azure: once the successor has
   * published. Before that its claim, which it must seal first, is what stops it).
   * The upload to go on with (maybe under a new id: checkpoint it), or undefined when it or a part of it is gone, or where
   * the store could not keep the predecessor from publishing it (SeaweedFS).
   * `nonce` is a new one; S3 cannot change that of an open upload and goes on with the old.
   */
  adopt(upload: UploadRef, parts: readonly PartRef[], nonce: string): Promise<UploadRef | undefined>;

  /**
   * Make the object visible, replacing the old one in one atomic act. Durable when it returns. `parts` are
   * numbered 1, 2, …; what was sent beyond them is dropped.
   * With `expected` it replaces exactly that version, or nothing where it is null: atomically where the store can,
   * else by a look before. Throws CommitFailedError (`upload-gone`, `part-mismatch`, `object-changed`) or
   * CommitUnknownError. Publishing again what is published changes nothing; S3 may answer it as a success, or throw
   * any of these.
   */
  publish(upload: UploadRef, parts: readonly PartRef[], expected?: Version | null): Promise<void>;

  /** Is the object that is visible under the upload's key the one this upload with these parts makes? */
  publishedBy(upload: UploadRef, parts: readonly PartRef[]): Promise<boolean>;

  /** Drop an upload and its parts; no error when it is gone. */
  abandon(upload: UploadRef): Promise<void>;

  /** Uploads that are neither published nor abandoned, for keys that begin with `prefix`. S3 does not list the nonce: it is '' there. */
  listUploads(prefix: string): AsyncIterable<UploadRef & { startedMs: number }>;

  /** What the store can, as it has shown itself. Asked once; S3 needs a few requests for it. */
  capabilities(): Promise<StoreCapabilities>;

  close(): Promise<void>;
}

/** The part of the port that makes an object of parts. */
export type Uploads = Pick<ObjectStore, 'begin' | 'append' | 'adopt' | 'publish' | 'publishedBy' | 'abandon'>;

/** Names what is at a key: another writing has another version, but S3 may give the same to the same bytes. */
export type Version = string;

/** Where a store lacks one, a look before and a look after stand in for it. */
interface StoreCapabilities {
  /** `putIfAbsent` writes over nothing, however many race. Without it a lake has room for one writer. */
  readonly conditionalPut: boolean;
  /** `putIf` replaces a version in one act. */
  readonly conditionalReplace: boolean;
  /** `publish` checks `expected` in the act. */
  readonly conditionalComplete: boolean;
}

export const KEEPS_ALL: StoreCapabilities = {
  ...{ conditionalPut: true, conditionalReplace: true, conditionalComplete: true },
};

export interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  /** The store's own name for the content, or for this writing of it (S3: the ETag; local: inode and time). */
  readonly tag: Version;
}

/** What a store is that has no `conditionalPut`, and what is left to do with it. */
export const UNFIT =
  'the store overwrites an object in spite of If-None-Match: two processes could export the same day at once and overwrite each other. Only one process at a time may export into a plain lake there';

/** Throws ConfigError `unfit-store` where an object is not safe from a second writer. `what`: that needs it. */
export async function expectConditionalPut(
  store: Pick<ObjectStore, 'url' | 'capabilities'>,
  what: string,
): Promise<void> {
  if ((await store.capabilities()).conditionalPut) return;
  throw new ConfigError('unfit-store', `${store.url}: ${UNFIT}; ${what} needs a store that obeys it`);
}

export type PartContent = Pick<PartRef, 'sizeBytes' | 'sha256'>;

const READ_BYTES = 4 << 20;

export function sizeOf(parts: readonly PartContent[]): number {
  return parts.reduce((sum, part) => sum + part.sizeBytes, 0);
}

/** Does what is read begin with these parts, byte for byte? Reads them all; `readRange` as `getRange` of the port. */
export async function holdsParts(
  parts: readonly PartContent[],
  readRange: (fromByte: number, toByte: number) => Promise<Uint8Array | undefined>,
): Promise<boolean> {
  let fromByte = 0;
  for (const part of parts) {
    const digest = createHash('sha256');
    const partEnd = fromByte + part.sizeBytes;
    while (fromByte < partEnd) {
      const bytes = await readRange(fromByte, Math.min(partEnd, fromByte + READ_BYTES));
      if (bytes === undefined || bytes.length === 0) return false;
      digest.update(bytes);
      fromByte += bytes.length;
    }
    if (digest.digest('hex') !== part.sha256) return false;
  }
  return true;
}

export function objectChanged(key: string): CommitFailedError {
  return new CommitFailedError(
    'object-changed',
    `${key} is not what was to be replaced: another object has been written there since. Look again before you write.`,
  );
}
