/** Parquet of any writer with a CRC-32 in the header of each page, as parquet.thrift has it, right or wrong. */
import { crc32 } from 'node:zlib';
import { parquetMetadata } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';

/** A page as it stands in a body: `bytes` are what its checksum is of. */
export interface Page {
  readonly column: string;
  readonly type: string;
  readonly crc: number | undefined;
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** The pages of a body, column chunk by column chunk. */
export function pagesOf(body: Uint8Array): Page[] {
  return chunksOf(body).flatMap(({ column, pages }) =>
    pages.map(({ header, start, bytes }) => ({
      ...{ column, type: header.type, start, bytes },
      crc: header.crc === undefined ? undefined : header.crc >>> 0,
    })),
  );
}

/** The same pages under headers with the checksums that `crcOf` gives; page indexes are left out. */
export function withChecksums(
  body: Uint8Array,
  crcOf: (page: Uint8Array, nth: number) => number | undefined = (page) => crc32(page),
): Buffer {
  const metadata = metadataOf(body);
  const writer = new ByteWriter();
  writer.appendBytes(Buffer.from('PAR1'));
  let nth = 0;
  for (const { meta, pages } of chunksOf(body, metadata)) {
    const start = writer.offset;
    for (const { header, bytes } of pages) {
      const at = BigInt(writer.offset);
      if (header.dictionary_page_header) meta.dictionary_page_offset = at;
      else if (header === pages.find(({ header: { type } }) => type !== 'DICTIONARY_PAGE')!.header)
        meta.data_page_offset = at;
      const crc = crcOf(bytes, nth++);
      writePageHeader(writer, { ...header, ...(crc !== undefined && { crc: crc | 0 }) });
      writer.appendBytes(bytes);
    }
    meta.total_compressed_size = BigInt(writer.offset - start);
  }
  for (const { columns } of metadata.row_groups)
    for (const chunk of columns)
      for (const index of ['column_index', 'offset_index'] as const) {
        delete chunk[`${index}_offset`];
        delete chunk[`${index}_length`];
      }
  writeMetadata(writer, metadata, 16);
  writer.appendBytes(Buffer.from('PAR1'));
  return Buffer.from(writer.getBytes());
}

function metadataOf(body: Uint8Array) {
  const { buffer, byteOffset, byteLength } = Buffer.from(body);
  return parquetMetadata(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
}

function chunksOf(body: Uint8Array, metadata = metadataOf(body)) {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  return metadata.row_groups.flatMap(({ columns }) =>
    columns.map(({ meta_data }) => {
      const meta = meta_data!;
      const offset = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
      const reader = { view, offset };
      const pages = [];
      while (reader.offset < offset + Number(meta.total_compressed_size)) {
        const header = parquetHeader(reader);
        const start = reader.offset;
        reader.offset += header.compressed_page_size;
        pages.push({ header, start, bytes: body.subarray(start, reader.offset) });
      }
      return { column: String(meta.path_in_schema[0]), meta, pages };
    }),
  );
}
