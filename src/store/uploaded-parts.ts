import { createHash } from 'node:crypto';
import { CommitFailedError } from '../core/errors.ts';
import type { PartRef } from './store.ts';

export type PartContent = Pick<PartRef, 'sizeBytes' | 'sha256'>;

/** Bytes `[fromByte, toByte)` as far as there are any, or undefined where there is nothing to read. */
type ReadRange = (fromByte: number, toByte: number) => Promise<Uint8Array | undefined>;

const READ_BYTES = 4 << 20;

export function sizeOf(parts: readonly PartContent[]): number {
  return parts.reduce((sum, part) => sum + part.sizeBytes, 0);
}

/** Does what is read begin with these parts, byte for byte? Reads them all. */
export async function holdsParts(parts: readonly PartContent[], readRange: ReadRange): Promise<boolean> {
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
