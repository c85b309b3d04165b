import { FatalError } from '../core/errors.ts';

/**
 * Which names may become part of a key, and so of a path. The rules are the same for every store, so that a
 * lake can be moved from a disk to S3 and back:
 * segments are not empty, do not begin with `.` (hidden names belong to the stores), hold no control,
 * formatting or line characters, no backslash, no lone surrogate, and fit a file name with room for the
 * suffix of a hidden file.
 */
const MAX_SEGMENT_BYTES = 180;
const MAX_KEY_BYTES = 900;
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\\]/u;
const NONCE = /^[A-Za-z0-9-]{1,64}$/;

/** A process tries here, for a moment and under a name of its own, what it may and what the store can. */
export const PROBE_PREFIX = '_probes/';

/** Throws FatalError (`bad-key`) unless `key` may name an object. */
export function checkKey(key: string): void {
  const fault = faultOfKey(key);
  if (fault !== undefined) throw badKey('key', key, fault);
}

/** Throws FatalError (`bad-key`) unless `prefix` may be the beginning of a key; '' and a trailing '/' are fine. */
export function checkPrefix(prefix: string): void {
  if (prefix === '') return;
  const fault = faultOfKey(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix);
  if (fault !== undefined) throw badKey('prefix', prefix, fault);
}

/** Throws FatalError (`bad-key`) unless `nonce` is 1 to 64 of `[A-Za-z0-9-]`. */
export function checkNonce(nonce: string): void {
  if (!NONCE.test(nonce)) throw badKey('nonce', nonce, 'expected 1 to 64 of the characters A-Z a-z 0-9 -');
}

export function faultOfKey(key: string): string | undefined {
  if (key === '') return 'it is empty';
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `it is longer than ${MAX_KEY_BYTES} bytes`;
  if (!key.isWellFormed() || FORBIDDEN.test(key)) return 'it holds a control character or a backslash';
  for (const segment of key.split('/')) {
    if (segment === '') return 'it has an empty segment (expected names separated by single slashes)';
    if (segment.startsWith('.')) return 'a segment begins with a dot';
    if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)
      return `a segment is longer than ${MAX_SEGMENT_BYTES} bytes`;
  }
  return undefined;
}

function badKey(what: string, value: string, fault: string): FatalError {
  return new FatalError(
    'bad-key',
    `${JSON.stringify(value)} cannot be used as a ${what} in the lake: ${fault}.`,
  );
}
