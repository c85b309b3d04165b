/**
 * What the pages of a small file claim. Hyparquet makes room for whatever a page header says, and a lake may have been
 * written by anybody: 500 bytes can say a thousand million values. So the headers are read first.
 */
import type { ColumnChunk, FileMetaData } from 'hyparquet';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';

/** `PageType` of the Parquet format. */
const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;
/**
 * PLAIN, PLAIN_DICTIONARY, DELTA_BINARY_PACKED and RLE_DICTIONARY: what an export writes, and most others. In those that
 * share prefixes few bytes are much text.
 */
const ENCODINGS = new Set([0, 2, 5, 8]);

/** What a page may hold. */
interface Limits {
  readonly rows: number;
  /** Of all pages together, uncompressed. */
  readonly bytes: number;
}

/**
 * Do the pages of every column chunk hold as many values as its row group has rows, in so many bytes at most? Throws where
 * there are no page headers.
 */
export function areSmallPages(
  file: ArrayBuffer,
  { row_groups: groups }: FileMetaData,
  most: Limits,
): boolean {
  const view = new DataView(file);
  let bytes = 0;
  for (const { columns, num_rows: rows } of groups)
    for (const chunk of columns) {
      const claims = claimsOf(view, chunk, most.rows);
      bytes += claims?.bytes ?? 0;
      if (claims?.values !== Number(rows) || bytes > most.bytes) return false;
    }
  return true;
}

/** Of all pages of a chunk together; undefined where one is of another kind, or of more values than these. */
function claimsOf(
  view: DataView,
  { meta_data: meta }: ColumnChunk,
  mostValues: number,
): { readonly values: number; readonly bytes: number } | undefined {
  if (meta === undefined) return undefined;
  const { dictionary_page_offset: dictionaryAt = 0n, data_page_offset: dataAt } = meta;
  const reader = { view, offset: Number(dictionaryAt > 0n && dictionaryAt < dataAt ? dictionaryAt : dataAt) };
  const end = reader.offset + Number(meta.total_compressed_size);
  let [values, bytes] = [0, 0];
  while (reader.offset < end) {
    const page = readHeader(reader);
    if (page === undefined || page.values > mostValues) return undefined;
    bytes += page.bytes;
    if (page.isData) values += page.values;
  }
  return { values, bytes };
}

interface PageClaims {
  readonly isData: boolean;
  readonly values: number;
  readonly bytes: number;
}

/** Of the page that begins there, and behind it; undefined for a page of another kind. */
function readHeader(reader: { readonly view: DataView; offset: number }): PageClaims | undefined {
  const {
    field_1: type,
    field_2: bytes,
    field_3: packedBytes,
    field_5: data,
    field_7: dictionary,
  } = deserializeTCompactProtocol(reader);
  const { field_1: values, field_2: encoding } = (type === DATA_PAGE ? data : dictionary) ?? {};
  const isKnown = (type === DATA_PAGE || type === DICTIONARY_PAGE) && ENCODINGS.has(encoding);
  if (!isKnown || !(bytes >= 0) || !(packedBytes >= 0) || !(values >= 0)) return undefined;
  reader.offset += packedBytes;
  return { isData: type === DATA_PAGE, values, bytes };
}

/** Of all texts of a column together. */
export function lettersOf(texts: ArrayLike<unknown>): number {
  let letters = 0;
  for (let row = 0; row < texts.length; row++) letters += (texts[row] as string | null)?.length ?? 0;
  return letters;
}
