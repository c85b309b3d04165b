/**
 * The footer of a Parquet answer. What it says of a row group is encoded as soon as that was sent, some hundred bytes:
 * a year has thousands of row groups, and neither their descriptions as objects nor encoding all of them at once would do.
 */
import type { SchemaElement } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';
import type { EncodedColumn } from './parquet-pages.ts';

/** Numbers of parquet.thrift. */
const TYPES = { INT64: 2, DOUBLE: 5, BYTE_ARRAY: 6 } as const;
const OPTIONAL = 1;
const UTF8 = 0;
const ENCODINGS = { PLAIN: 0, RLE: 3, RLE_DICTIONARY: 8 } as const;
const ZSTD = 6;
const FORMAT_VERSION = 1;
const CREATED_BY = 'vessel-export service';
/** Compact protocol: a list of structs as the field after the last, and a text two fields on. */
const LIST_FIELD = 0x19;
const STRUCT_ELEMENTS = 12;
const TEXT_FIELD_2_ON = 0x28;
const STOP = 0;

export const PARQUET_MAGIC = Buffer.from('PAR1');

/** The contract's columns, in its order. */
const COLUMNS = [
  { name: 'timestamp', type: 'INT64' },
  { name: 'id', type: 'BYTE_ARRAY' },
  { name: 'long_value', type: 'INT64' },
  { name: 'double_value', type: 'DOUBLE' },
  { name: 'json_value', type: 'BYTE_ARRAY' },
] as const satisfies readonly { name: string; type: SchemaElement['type'] }[];

/** Gathers the row groups that were written, and writes the footer. */
export class ParquetFooter {
  #groups: Uint8Array[] = [];
  #rows = 0n;
  #offset = PARQUET_MAGIC.length;

  /** A row group has been written, its columns one after the other. */
  add(columns: readonly EncodedColumn[]): void {
    const writer = new ByteWriter();
    const groupAt = this.#offset;
    const chunks = columns.map((column, index) => {
      const chunk = this.#chunk(column, index);
      this.#offset += column.bytes;
      return chunk;
    });
    const rows = BigInt(columns[0]!.rows);
    serializeTCompactProtocol(writer, {
      field_1: chunks,
      field_2: BigInt(columns.reduce((sum, { uncompressedBytes }) => sum + uncompressedBytes, 0)),
      field_3: rows,
      field_5: BigInt(groupAt),
      field_6: BigInt(this.#offset - groupAt),
    });
    this.#groups.push(writer.getBytes().slice());
    this.#rows += rows;
  }

  #chunk(column: EncodedColumn, index: number) {
    const { name, type } = COLUMNS[index]!;
    const dictionary = column.dataPageAt > 0;
    return {
      field_2: 0n,
      field_3: {
        field_1: TYPES[type],
        field_2: dictionary
          ? [ENCODINGS.PLAIN, ENCODINGS.RLE, ENCODINGS.RLE_DICTIONARY]
          : [ENCODINGS.PLAIN, ENCODINGS.RLE],
        field_3: [name],
        field_4: ZSTD,
        field_5: BigInt(column.rows),
        field_6: BigInt(column.uncompressedBytes),
        field_7: BigInt(column.bytes),
        field_9: BigInt(this.#offset + column.dataPageAt),
        ...(dictionary && { field_11: BigInt(this.#offset) }),
        field_12: {
          field_3: BigInt(column.nulls),
          ...(column.range && { field_5: column.range[1], field_6: column.range[0] }),
        },
      },
    };
  }

  /** What follows the last row group, in pieces: the footer, its length and the closing magic. */
  *pieces(): Generator<Uint8Array> {
    const head = new ByteWriter();
    serializeTCompactProtocol(head, {
      field_1: FORMAT_VERSION,
      field_2: [
        { field_3: 0, field_4: 'root', field_5: COLUMNS.length },
        ...COLUMNS.map(({ name, type }) => ({
          field_1: TYPES[type],
          field_3: OPTIONAL,
          field_4: name,
          ...(type === 'BYTE_ARRAY' && { field_6: UTF8 }),
        })),
      ],
      field_3: this.#rows,
    });
    // Its last byte says that the struct ends, which it does not yet.
    const list = new ByteWriter();
    list.appendBytes(head.getBytes().subarray(0, -1));
    list.appendUint8(LIST_FIELD);
    list.appendUint8((15 << 4) | STRUCT_ELEMENTS);
    list.appendVarInt(this.#groups.length);
    const tail = new ByteWriter();
    tail.appendUint8(TEXT_FIELD_2_ON);
    tail.appendVarInt(CREATED_BY.length);
    tail.appendBytes(Buffer.from(CREATED_BY));
    tail.appendUint8(STOP);
    const bytes = this.#groups.reduce((sum, group) => sum + group.length, list.offset + tail.offset);
    tail.appendUint32(bytes);
    tail.appendBytes(PARQUET_MAGIC);
    yield list.getBytes();
    for (let at = 0; at < this.#groups.length; at += GROUPS_PER_PIECE)
      yield Buffer.concat(this.#groups.slice(at, at + GROUPS_PER_PIECE));
    yield tail.getBytes();
  }
}

/** Some 200 kB. */
const GROUPS_PER_PIECE = 256;
