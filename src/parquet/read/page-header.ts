/** What stands before each page of a column chunk. */
import type { ThriftReader } from './thrift-reader.ts';

/** `PageType` of the Parquet format. */
export const PAGE = { data: 0, index: 1, dictionary: 2, dataV2: 3 } as const;
/** The encoding of levels. */
export const RLE = 3;

export interface PageHeader {
  kind: number;
  size: number;
  compressedSize: number;
  values: number;
  encoding: number;
  levelEncoding: number;
  /** Version 2: bytes of levels, which are not compressed. */
  definitionBytes: number;
  repetitionBytes: number;
  isCompressed: boolean;
  /** CRC-32 of the page as it stands behind its header; undefined where the writer gave none. */
  crc: number | undefined;
}

/** Read a header; what it does not say is -1. */
export function readPageHeader(reader: ThriftReader): PageHeader {
  const header: PageHeader = {
    ...{ kind: -1, size: -1, compressedSize: -1, values: -1, encoding: -1, levelEncoding: RLE },
    ...{ definitionBytes: 0, repetitionBytes: 0, isCompressed: true, crc: undefined },
  };
  reader.struct((id, type) => {
    if (id === 1) header.kind = reader.number(type);
    else if (id === 2) header.size = reader.number(type);
    else if (id === 3) header.compressedSize = reader.number(type);
    // It is signed in the file.
    else if (id === 4) header.crc = reader.number(type) >>> 0;
    else if (id === 5 || id === 7) readDataFields(reader, header);
    else if (id === 8) readDataFieldsV2(reader, header);
    else return false;
    return true;
  });
  return header;
}

/** Of a data page, and of a dictionary, whose first two fields are the same. */
function readDataFields(reader: ThriftReader, header: PageHeader): void {
  reader.struct((id, type) => {
    if (id === 1) header.values = reader.number(type);
    else if (id === 2) header.encoding = reader.number(type);
    else if (id === 3 && type !== 1 && type !== 2) header.levelEncoding = reader.number(type);
    else return false;
    return true;
  });
}

function readDataFieldsV2(reader: ThriftReader, header: PageHeader): void {
  reader.struct((id, type) => {
    if (id === 1) header.values = reader.number(type);
    else if (id === 4) header.encoding = reader.number(type);
    else if (id === 5) header.definitionBytes = reader.number(type);
    else if (id === 6) header.repetitionBytes = reader.number(type);
    else if (id === 7) header.isCompressed = reader.bool(type);
    else return false;
    return true;
  });
}
