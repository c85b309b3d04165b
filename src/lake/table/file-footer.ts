/** What a Parquet file of the lake says of itself in its footer. */
import type { FileMetaData, SchemaElement } from 'hyparquet';
import { parquetMetadata } from 'hyparquet/src/metadata.js';
import { DataError, messageOf } from '../../core/errors.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { DatasetColumn } from './schema.ts';

/** A footer beyond this is none of ours: 40 million rows make 50 kB. */
const MAX_FOOTER_BYTES = 64 << 20;
/** Most footers are smaller; of a larger one the rest is asked for. */
const FIRST_READ_BYTES = 64 << 10;
const END_BYTES = 8;

/** A footer, from bytes that end with it; or what is wrong with them, in words. Bounds are exact: texts as bytes, instants in microseconds. */
export function parseFooter(bytes: Uint8Array): FileMetaData | string {
  try {
    return parquetMetadata(Uint8Array.from(bytes).buffer, {
      geoparquet: false,
      // A Date would lose three digits of a timestamp.
      parsers: { stringFromBytes: (text) => text, timestampFromMicroseconds: (micros) => micros },
    });
  } catch (error) {
    return messageOf(error);
  }
}

/** The footer of an object of this size, whose last bytes may be at hand; or what is wrong with it, in words. */
export async function readFooter(
  store: Pick<ObjectStore, 'getRange'>,
  { key, sizeBytes }: { readonly key: string; readonly sizeBytes: number },
  tail?: Uint8Array,
): Promise<FileMetaData | string> {
  const read = async (bytes: number) => {
    const fromByte = Math.max(0, sizeBytes - bytes);
    // One byte more than there should be.
    const found = await store.getRange(key, fromByte, sizeBytes + 1);
    if (found === undefined) return 'no object';
    return found.length === sizeBytes - fromByte ? found : 'another size';
  };
  const end = tail ?? (await read(FIRST_READ_BYTES));
  if (typeof end === 'string') return end;
  const footerBytes = footerLength(end, sizeBytes);
  if (typeof footerBytes === 'string') return footerBytes;
  const footer = footerBytes <= end.length ? end : await read(footerBytes);
  return typeof footer === 'string' ? footer : parseFooter(footer);
}

/** Bytes of a footer with what follows it, by the last bytes of an object. */
function footerLength(tail: Uint8Array, sizeBytes: number): number | string {
  if (tail.length < END_BYTES + 4) return `${tail.length} bytes`;
  const end = Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength).subarray(-END_BYTES);
  if (end.toString('latin1', 4) !== 'PAR1') return `'${end.toString('hex', 4)}' (hex) at its end`;
  const footerBytes = end.readUInt32LE(0) + END_BYTES;
  if (footerBytes > Math.min(sizeBytes, MAX_FOOTER_BYTES)) return `a footer of ${footerBytes} bytes`;
  return footerBytes;
}

export function expectFooter(footer: FileMetaData | string, key: string, sizeBytes?: number): FileMetaData {
  if (typeof footer !== 'string') return footer;
  const file = `Parquet file${sizeBytes === undefined ? '' : ` of ${sizeBytes} bytes, as its receipt says`}`;
  throw damagedFile(`${key}: found ${footer}, expected a ${file}; verify, and export the day again`);
}

/** The columns of a file. Throws DataError `damaged-file` for one that no dataset has. */
export function columnsOf({ schema }: FileMetaData, key: string): DatasetColumn[] {
  return schema.slice(1).map((element) => ({ name: element.name, type: typeOf(element, key) }));
}

function typeOf({ name, type, logical_type: logical }: SchemaElement, key: string): DatasetColumn['type'] {
  if (logical?.type === 'TIMESTAMP' && logical.unit === 'MICROS') return 'timestamp';
  if (logical?.type === 'STRING') return 'text';
  if (type === 'DOUBLE') return 'double';
  if (type === 'INT64' && logical === undefined) return 'long';
  throw damagedFile(
    `${key}: found the column ${name} of type ${type}, expected one that vessel-export writes; export the day again`,
  );
}

function damagedFile(message: string): DataError {
  return new DataError('damaged-file', message);
}
