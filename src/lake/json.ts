import { DataError } from '../errors.ts';

const encoder = new TextEncoder();

/** UTF-8 bytes of a value as JSON with a line end. */
export function jsonBytes(value: unknown, indent?: number): Uint8Array {
  return encoder.encode(`${JSON.stringify(value, null, indent)}\n`);
}

/** Parse a file of ours. Throws DataError `damaged-file` naming the key. */
export function parseJson<T>(bytes: Uint8Array, key: string): T {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as T;
  } catch (cause) {
    throw new DataError(
      'damaged-file',
      `${key}: not valid JSON; vessel-export did not write it like this: look at it, then remove it and run again`,
      { cause },
    );
  }
}

/** What is read, or undefined where the file is damaged: which file, and how, is for verify to find. */
export async function unlessDamaged<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof DataError) return undefined;
    throw error;
  }
}
