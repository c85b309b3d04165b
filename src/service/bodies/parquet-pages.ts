/** Pages of version 1 of a Parquet column chunk: values that are set one after the other, behind which rows have one. */
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import type { Work } from '../turns.ts';

const compress = promisify(zstdCompress);
const FASTEST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** One column chunk, encoded: its pages' bytes and what the footer says of it. Offsets count from its first byte. */
export interface EncodedColumn {
  readonly pages: readonly Uint8Array[];
  readonly bytes: number;
  readonly uncompressedBytes: number;
  /** Of the data page, where a dictionary goes before it. */
  readonly dataPageAt: number;
  readonly rows: number;
  readonly nulls: number;
  /** Plain encoded, of a column whose rows ascend. */
  readonly range?: readonly [min: Uint8Array, max: Uint8Array];
}

/** Which rows of a column are set: bits, lowest first. */
export class Levels {
  readonly #bits: Uint8Array;
  set = 0;

  /** `mostRows`: a multiple of eight. */
  constructor(mostRows: number) {
    this.#bits = new Uint8Array(mostRows / 8);
  }

  add(row: number): void {
    this.#bits[row >> 3]! |= 1 << (row & 7);
    this.set++;
  }

  clear(): void {
    this.#bits.fill(0);
    this.set = 0;
  }

  /** The beginning of a data page of `rows` rows: one run, all alike or bit-packed. */
  append(page: ByteWriter, rows: number): void {
    const levels = new ByteWriter(rows / 8 + 16);
    if (this.set === 0 || this.set === rows) {
      levels.appendVarInt(rows << 1);
      levels.appendUint8(this.set === 0 ? 0 : 1);
    } else {
      const groups = (rows + 7) >> 3;
      levels.appendVarInt((groups << 1) | 1);
      levels.appendBytes(this.#bits.subarray(0, groups));
    }
    page.appendUint32(levels.offset);
    page.appendBytes(levels.getBytes());
  }
}

type PageHeader = Parameters<typeof writePageHeader>[1];

/** The one data page of a chunk of `rows` rows; `values`: those that are set, encoded. */
export async function dataPage(
  values: Uint8Array,
  encoding: 'PLAIN' | 'RLE_DICTIONARY',
  levels: Levels,
  rows: number,
  work: Work,
): Promise<EncodedColumn> {
  if (work.isDue()) await work.pause();
  const body = new ByteWriter(values.length + rows / 8 + 64);
  levels.append(body, rows);
  body.appendBytes(values);
  const page = await pageOf(body.getBytes(), (sizes) => ({
    type: 'DATA_PAGE',
    ...sizes,
    data_page_header: {
      num_values: rows,
      encoding,
      definition_level_encoding: 'RLE',
      repetition_level_encoding: 'RLE',
    },
  }));
  return { ...page, dataPageAt: 0, rows, nulls: rows - levels.set };
}

/** A page, compressed in another thread, behind its header. */
export async function pageOf(
  body: Uint8Array,
  header: (sizes: { uncompressed_page_size: number; compressed_page_size: number }) => PageHeader,
): Promise<{ pages: Uint8Array[]; bytes: number; uncompressedBytes: number }> {
  const compressed = await compress(body, FASTEST);
  const writer = new ByteWriter();
  writePageHeader(
    writer,
    header({ uncompressed_page_size: body.length, compressed_page_size: compressed.length }),
  );
  return {
    pages: [writer.getBytes(), compressed],
    bytes: writer.offset + compressed.length,
    uncompressedBytes: writer.offset + body.length,
  };
}

/** Dictionary indices as one bit-packed run, behind the byte that says how many bits each has. */
export function packBits(entries: Int32Array, rows: number, distinct: number): Uint8Array {
  const width = distinct < 2 ? 1 : 32 - Math.clz32(distinct - 1);
  const groups = (rows + 7) >> 3;
  const head = new ByteWriter(16);
  head.appendUint8(width);
  head.appendVarInt((groups << 1) | 1);
  const out = new Uint8Array(head.offset + groups * width);
  out.set(head.getBytes());
  let at = head.offset;
  let held = 0;
  let bits = 0;
  for (let row = 0; row < rows; row++) {
    // At most 7 bits are held and an index has at most 17: 32 bits are enough.
    held |= entries[row]! << bits;
    for (bits += width; bits >= 8; bits -= 8) {
      out[at++] = held & 255;
      held >>>= 8;
    }
  }
  if (bits > 0) out[at] = held & 255;
  return out;
}
