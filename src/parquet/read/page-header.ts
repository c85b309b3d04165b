/** The header that stands before each page of a column: its kind, sizes, encodings and checksum. */
import { Encodings } from 'hyparquet/src/constants.js';
import type { ThriftReader } from './thrift-reader.ts';

export const RLE = Encodings.indexOf('RLE');

/** What a header does not say is -1. */
const NO_HEADER = {
  ...{ type: -1, size: -1, compressedSize: -1, values: -1, encoding: -1, levelEncoding: RLE },
  /** Version 2: bytes of levels, which are not compressed. */
  ...{ definitionBytes: 0, repetitionBytes: 0, isCompressed: true },
  /** CRC-32 of the page as it stands behind its header, signed; NaN where the writer gave none. */
  crc: Number.NaN,
};
export type PageHeader = typeof NO_HEADER;

export function readPageHeader(reader: ThriftReader): PageHeader {
  const header = { ...NO_HEADER };
  reader.numbers(header, { 1: 'type', 2: 'size', 3: 'compressedSize', 4: 'crc' }, (id) => {
    if (id === 5) reader.numbers(header, { 1: 'values', 2: 'encoding', 3: 'levelEncoding' });
    else if (id === 7) reader.numbers(header, { 1: 'values', 2: 'encoding' });
    else if (id === 8) {
      const names = { 1: 'values', 4: 'encoding', 5: 'definitionBytes', 6: 'repetitionBytes' } as const;
      reader.numbers(header, names, (field, type) => {
        if (field === 7) header.isCompressed = reader.bool(type);
        return field === 7;
      });
    } else return false;
    return true;
  });
  return header;
}
