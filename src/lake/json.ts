import { DataError } from '../core/errors.ts';

const LINE_FEED = 0x0a;

/** UTF-8 bytes of a value as JSON with a line end. The text is not made once more for that: it may have megabytes. */
export function jsonBytes(value: unknown, indent?: number): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(value, null, indent);
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text) + 1);
  bytes[bytes.write(text)] = LINE_FEED;
  return bytes;
}

/** Parse a file of ours. Throws DataError `damaged-file` (or `code`) naming the key. */
export function parseJson<T>(bytes: Uint8Array, key: string, code = 'damaged-file'): T {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as T;
  } catch (cause) {
    throw new DataError(
      code,
      `${key}: not valid JSON; vessel-export did not write it like this: check it, then remove it and run again`,
      { cause },
    );
  }
}

/** What is read, or undefined where the file is damaged: which file, and how, is for verify to find. */
export async function unlessDamaged<T>(reading: Promise<T>): Promise<T | undefined> {
  const read = await orDamage(reading);
  return read instanceof DataError ? undefined : read;
}

/** The same for those to whom a damaged file is not the same as none. */
export async function orDamage<T>(reading: Promise<T>): Promise<T | DataError> {
  return await reading.catch((error: unknown) => {
    if (error instanceof DataError) return error;
    throw error;
  });
}
