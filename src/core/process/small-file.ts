/** Small files that people write: whatever lies in their place, it is read in bounded time and memory. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { messageOf } from '../errors.ts';

/** The text, or a fault: what lies there and why it is not what it should be. */
type ReadText =
  | { readonly text: string; readonly mode: number; readonly fault?: undefined }
  | { readonly fault: string; readonly code?: string | undefined };

/** Reads UTF-8 of at most `maxBytes`; `what` it should be is for the fault. Never waits for a pipe. A folder's code is `EISDIR`. */
export function readSmallText(path: string, maxBytes: number, what: string): ReadText {
  try {
    // Opening a device may already do something.
    const fault = kindFault(statSync(path));
    if (fault !== undefined) return fault;
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(file);
      if (kindFault(stats) !== undefined) return { fault: 'it is being replaced' };
      return readBounded(file, stats.mode, maxBytes, what);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { fault: `cannot be read: ${messageOf(error)}`, code: (error as NodeJS.ErrnoException).code };
  }
}

function kindFault(stats: Stats): { fault: string; code?: string } | undefined {
  if (stats.isDirectory()) return { fault: 'it is a folder, expected a file', code: 'EISDIR' };
  if (stats.isFIFO()) return { fault: 'it is a pipe, expected a file' };
  return stats.isFile() ? undefined : { fault: 'it is a device or a socket, expected a file' };
}

function readBounded(file: number, mode: number, maxBytes: number, what: string): ReadText {
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read)
    read = readSync(file, bytes, length, bytes.length - length, null);
  if (length > maxBytes) return { fault: `it is longer than ${maxBytes} bytes, expected ${what}` };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
    return { text, mode };
  } catch {
    return { fault: 'it is not valid UTF-8; save it as UTF-8' };
  }
}
