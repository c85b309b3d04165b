import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { BoundaryOrders } from 'hyparquet/src/constants.js';
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';
import { describe, expect, it } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import { type ByteSink, createByteSink } from '../../../src/parquet/write/byte-sink.ts';
import {
  putColumnIndex,
  putOffsetIndex,
  putPageHeader,
  putShiftedOffsetIndex,
} from '../../../src/parquet/write/parquet-thrift.ts';

const written = (put: (sink: ByteSink) => void) => {
  const sink = createByteSink();
  put(sink);
  return Buffer.from(sink.bytes.subarray(0, sink.at));
};
/** The oracle: a general writer of Thrift. */
const byLibrary = (write: (writer: ByteWriter) => void) => {
  const writer = new ByteWriter();
  write(writer);
  return Buffer.from(writer.getBytes());
};

const length = fc.nat(2 ** 31 - 1);
const offset = fc.oneof(fc.nat(300), fc.nat(2 ** 31 - 1), fc.nat(2 ** 49));
const encoding = fc.constantFrom('PLAIN', 'DELTA_BINARY_PACKED', 'RLE_DICTIONARY');
const locations = fc.array(fc.record({ offset, bytes: length, firstRow: offset }), {
  minLength: 1,
  maxLength: 40,
});
type Locations = typeof locations extends fc.Arbitrary<infer T> ? T : never;

const indexOf = (pages: Locations, shift = 0) => ({
  page_locations: pages.map((page) => ({
    offset: BigInt(page.offset + shift),
    compressed_page_size: page.bytes,
    first_row_index: BigInt(page.firstRow),
  })),
});

describe('what there is of each page', () => {
  it('has the headers that a general writer gives it', () => {
    fc.assert(
      fc.property(
        length,
        fc.uint8Array({ maxLength: 300 }),
        length,
        encoding,
        (bytes, packed, values, encoding) => {
          const sizes = { uncompressed_page_size: bytes, compressed_page_size: packed.length };
          const crc = crc32(packed) | 0;
          const levels = { definition_level_encoding: 'RLE', repetition_level_encoding: 'RLE' } as const;
          expect(
            written((sink) => putPageHeader(sink, 'DATA_PAGE', bytes, packed, values, encoding)),
          ).toEqual(
            byLibrary((writer) =>
              writePageHeader(writer, {
                ...{ type: 'DATA_PAGE', ...sizes, crc },
                data_page_header: { num_values: values, encoding, ...levels },
              }),
            ),
          );
          expect(
            written((sink) => putPageHeader(sink, 'DICTIONARY_PAGE', bytes, packed, values, 'PLAIN')),
          ).toEqual(
            byLibrary((writer) =>
              writePageHeader(writer, {
                ...{ type: 'DICTIONARY_PAGE', ...sizes, crc },
                dictionary_page_header: { num_values: values, encoding: 'PLAIN' },
              }),
            ),
          );
        },
      ),
    );
  });

  it('has the offset index that a general writer gives it, there and where it is shifted to', () => {
    fc.assert(
      fc.property(locations, fc.nat(2 ** 48), (pages, shift) => {
        const index = written((sink) => putOffsetIndex(sink, indexOf(pages)));
        const general = (shifted: number) =>
          byLibrary((writer) =>
            serializeTCompactProtocol(writer, {
              field_1: indexOf(pages, shifted).page_locations.map((page) => ({
                field_1: page.offset,
                field_2: page.compressed_page_size,
                field_3: page.first_row_index,
              })),
            }),
          );
        expect(index).toEqual(general(0));
        expect(written((sink) => putShiftedOffsetIndex(sink, index, shift))).toEqual(general(shift));
      }),
    );
  });

  it('has the column index that a general writer gives it', () => {
    const bound = fc.uint8Array({ maxLength: 300 });
    const page = fc.record({ isNull: fc.boolean(), min: bound, max: bound, nulls: fc.nat(2 ** 40) });
    fc.assert(
      fc.property(
        fc.array(page, { minLength: 1, maxLength: 40 }),
        fc.constantFrom('UNORDERED', 'ASCENDING'),
        (pages, order) => {
          const index = {
            null_pages: pages.map(({ isNull }) => isNull),
            min_values: pages.map(({ min }) => min),
            max_values: pages.map(({ max }) => max),
            boundary_order: order,
            null_counts: pages.map(({ nulls }) => BigInt(nulls)),
          } as const;
          expect(
            written((sink) => putColumnIndex(sink, index as unknown as Parameters<typeof putColumnIndex>[1])),
          ).toEqual(
            byLibrary((writer) =>
              serializeTCompactProtocol(writer, {
                ...{ field_1: index.null_pages, field_2: index.min_values, field_3: index.max_values },
                ...{ field_4: BoundaryOrders.indexOf(order), field_5: index.null_counts },
              }),
            ),
          );
        },
      ),
    );
  });

  it('is refused as an offset index, or shifted as what it says, where bytes of it are others', () => {
    let refused = 0;
    fc.assert(
      fc.property(locations, fc.nat(), fc.nat(255), fc.nat(3), (pages, at, byte, cut) => {
        const index = written((sink) => putOffsetIndex(sink, indexOf(pages)));
        index[at % index.length] = byte;
        const damaged = index.subarray(0, index.length - cut);
        try {
          const shifted = written((sink) => putShiftedOffsetIndex(sink, damaged, 1000));
          expect(written((sink) => putShiftedOffsetIndex(sink, shifted, 0))).toEqual(shifted);
        } catch (error) {
          expect(error).toBeInstanceOf(FatalError);
          refused++;
        }
      }),
      { numRuns: 2_000 },
    );
    expect(refused).toBeGreaterThan(500);
  });
});
