/** What the stores share that are reached over HTTP, whosever they are. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommitUnknownError, RetriableError } from '../core/errors.ts';
import type { UploadRef, Version } from './store.ts';

/** Metadata of an object that was published: the nonce of its upload. */
export const NONCE_METADATA = 'vessel-export-upload';
/** Bound on an answer that is no object. A list of 1,000 names with each letter escaped has less. */
export const MAX_ANSWER_BYTES = 16 << 20;
/** Least speed of an answer's body on the whole. */
const MIN_BYTES_PER_SECOND = 10 * 1024;

const CONFLICT_ATTEMPTS = 10;

export type ReadObject = { readonly bytes: Uint8Array; readonly version: Version };

/** The answer is none of a store's: a proxy's page, say, or what a login of somebody in between gives with status 200. */
export function strangeAnswer(what: string): Error {
  return new Error(`${what}: check proxies between this machine and the store`);
}

export function commitUnknown(upload: UploadRef, what: string): CommitUnknownError {
  return new CommitUnknownError(
    'complete-unknown',
    `whether ${upload.key} was published is not known: ${what}. Look at the object before you write again.`,
  );
}

export function versionHolding(found: ReadObject | undefined, bytes: Uint8Array): Version | undefined {
  return found !== undefined && Buffer.compare(found.bytes, bytes) === 0 ? found.version : undefined;
}

/** A body and its size; of one that turns out to be larger only that it is. */
export async function readUpTo(
  body: Readable,
  maxBytes: number,
): Promise<{ bytes: Uint8Array; sizeBytes: number }> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) return { bytes: new Uint8Array(0), sizeBytes };
    chunks.push(chunk);
  }
  const { buffer, byteOffset } = Buffer.concat(chunks);
  return { bytes: new Uint8Array(buffer, byteOffset, sizeBytes), sizeBytes };
}

/** Ends a body that comes too slowly. The time in which nobody reads what has come does not count. */
export function watchBody(body: IncomingMessage, graceMs: number): void {
  const { socket } = body;
  const before = socket.bytesRead;
  const checkMs = Math.min(1_000, graceMs / 4);
  let waitedMs = 0;
  const timer = setInterval(() => {
    if (body.readableLength > 0) return;
    waitedMs += checkMs;
    const bytes = socket.bytesRead - before;
    if (waitedMs <= graceMs + (bytes / MIN_BYTES_PER_SECOND) * 1_000) return;
    const found = `${bytes} bytes in ${Math.round(waitedMs / 1_000)} s`;
    // The SDK tries again what has this name.
    body.destroy(
      Object.assign(new Error(`the answer comes too slowly (${found})`), { name: 'TimeoutError' }),
    );
  }, checkMs).unref();
  body.once('close', () => clearInterval(timer));
}

/**
 * `putIf` of the port on a store that obeys the condition. `put` gives undefined where the store refuses because of it: another
 * version is there, or none, or one came or went at the same moment. The request may have been sent twice, so what is
 * there then may be ours.
 */
export async function putInPlaceOf(
  expected: Version | null,
  bytes: Uint8Array,
  put: () => Promise<Version | undefined>,
  read: () => Promise<ReadObject | undefined>,
  conflict: { readonly code: string; readonly where: string },
): Promise<Version | undefined> {
  for (let attempt = 1; attempt <= CONFLICT_ATTEMPTS; attempt++) {
    const written = await put();
    if (written !== undefined) return written;
    const found = await read();
    const own = versionHolding(found, bytes);
    if (own !== undefined || (found?.version ?? null) !== expected) return own;
  }
  throw new RetriableError(
    conflict.code,
    `cannot write ${conflict.where}: other writers keep creating and removing it.`,
  );
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 20_000;

/**
 * The one owner of tries and delays where a store's client has none that fit: again after a fault that may pass, later each
 * time. `retryAfterMs`: undefined where no try helps; else what the store asked for, 0 for nothing.
 */
export async function withTries<T>(
  maxAttempts: number,
  work: () => Promise<T>,
  retryAfterMs: (error: unknown) => number | undefined,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const askedMs = attempt < maxAttempts ? retryAfterMs(error) : undefined;
      if (askedMs === undefined) throw error;
      const ownMs = Math.random() * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
      await sleep(Math.max(ownMs, Math.min(askedMs, MAX_DELAY_MS)));
    }
  }
}
