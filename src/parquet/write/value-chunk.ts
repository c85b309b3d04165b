import type { Statistics } from 'hyparquet';
import { type ByteSink, createByteSink } from './byte-sink.ts';
import { appendChunk, type ChunkBody, type PageBody, type PlacedChunk } from './column-chunk.ts';
import { type Column, chunkColumn } from './columns.ts';
import { compressed, discard, discardPacked, type PackedPages, packedOnce } from './page-packing.ts';
import type { Bounds, ColumnValues } from './page-values.ts';
import { type PageRows, putLevels } from './pages.ts';
import type { DictionaryScratch, ValueDictionary } from './value-dictionary.ts';
import { buildDictionary, createDictionaryScratch, putCodes } from './value-dictionary.ts';

/** Memory for one row group at a time, used again for the next. It only grows, to the largest seen. */
interface EncodeScratch {
  readonly file: ByteSink;
  /** Pages of one column before they are compressed. */
  readonly pages: ByteSink;
  readonly dictionary: DictionaryScratch;
}

export function createEncodeScratch(): EncodeScratch {
  return { file: createByteSink(), pages: createByteSink(), dictionary: createDictionaryScratch() };
}

/** Write the chunk of a column that has a value of its own in each row: as a dictionary where that is smaller, by the values alone. */
export function appendValueChunk(
  scratch: EncodeScratch,
  column: Column,
  rows: readonly PageRows[],
  values: ColumnValues,
): PlacedChunk {
  const { file } = scratch;
  const dictionary = column.dictionary ? buildDictionary(values, rows, scratch.dictionary) : undefined;
  scratch.pages.at = 0;
  const bounds = rows.map((page) => (page.nulls === page.rows ? undefined : values.bounds(page.set)));
  const common = { column: chunkColumn(column), ascending: false, bounds: widestOf(rows, bounds) };
  if (dictionary !== undefined) {
    const pages = codePages(scratch.pages, column, rows, dictionary);
    const packed: PackedPages = new Map();
    if (isSmaller(scratch, column, rows, values, { pages, dictionary, packed }))
      return appendChunk(file, { ...common, encoding: 'RLE_DICTIONARY', dictionary, pages, packed });
    discardPacked(packed);
    scratch.pages.at = 0;
  }
  const isIndexed = column.statistics === 'page';
  const pages = rows.map((page, i) => ({
    ...pageOf(scratch.pages, column, page, () => values.put(scratch.pages, page.set)),
    ...(isIndexed && { min: littleEndian(bounds[i]?.min), max: littleEndian(bounds[i]?.max) }),
  }));
  return appendChunk(file, { ...common, encoding: values.encoding, pages });
}

function pageOf(sink: ByteSink, column: Column, page: PageRows, put: () => void): PageBody {
  const from = sink.at;
  if (!column.required) putLevels(sink, page);
  put();
  return { row: page.row, rows: page.rows, nulls: page.nulls, bytes: sink.bytes.subarray(from, sink.at) };
}

function codePages(
  sink: ByteSink,
  column: Column,
  rows: readonly PageRows[],
  { codes, entries }: ValueDictionary,
): PageBody[] {
  let at = 0;
  return rows.map((page) => {
    const from = at;
    at += page.rows - page.nulls;
    return pageOf(sink, column, page, () => putCodes(sink, codes.subarray(from, at), entries));
  });
}

/** Pages whose sizes stand for those of all: encoding and compressing every page twice is too dear. */
const PROBED_PAGES = 4;

interface CodedPages {
  readonly pages: readonly PageBody[];
  readonly dictionary: ValueDictionary;
  readonly packed: PackedPages;
}

/** Is the dictionary smaller than plain pages? By some pages from all over the chunk, for series are not alike. */
function isSmaller(
  { pages: sink }: EncodeScratch,
  column: Column,
  rows: readonly PageRows[],
  values: ColumnValues,
  { pages, dictionary, packed }: CodedPages,
): boolean {
  const least = (bytes: Uint8Array, frame: Uint8Array) => Math.min(bytes.length, frame.length);
  const full = rows.map((_, i) => i).filter((i) => rows[i]!.nulls < rows[i]!.rows);
  const step = Math.ceil(full.length / PROBED_PAGES);
  const probed = full.filter((_, i) => i % step === step >> 1);
  const valuesOf = (all: readonly number[]) =>
    all.reduce((sum, i) => sum + rows[i]!.rows - rows[i]!.nulls, 0);
  const scale = valuesOf(full) / valuesOf(probed);
  let [byCodes, byValues] = [0, 0];
  for (const i of probed) {
    const from = sink.at;
    const { bytes: codes } = pages[i]!;
    const { bytes: plain } = pageOf(sink, column, rows[i]!, () => values.put(sink, rows[i]!.set));
    byCodes += least(codes, packedOnce(packed, codes, dictionary.entries));
    const frame = compressed(plain, 'values');
    byValues += least(plain, frame);
    discard(frame);
    sink.at = from;
  }
  const { plain: entries } = dictionary;
  return scale * byCodes + least(entries, packedOnce(packed, entries)) < scale * byValues;
}

/** Undefined for a page that is all null, and where the values have no bounds. */
type PageBounds = readonly (Bounds | undefined)[];

/** Of the whole chunk; undefined if a page with values has none. */
function widestOf(rows: readonly PageRows[], pages: PageBounds): ChunkBody['bounds'] {
  const all = pages.filter((_, i) => rows[i]!.nulls < rows[i]!.rows);
  if (all.length === 0 || all.includes(undefined)) return undefined;
  const { min, max } = (all as Bounds[]).reduce(wider);
  return { min_value: min, max_value: max } as Statistics;
}

/** -0 is less than 0 here. */
function wider(a: Bounds, b: Bounds): Bounds {
  const isLess = (one: Bounds['min'], other: Bounds['min']) =>
    one < other || (Object.is(one, -0) && other === 0);
  return { min: isLess(b.min, a.min) ? b.min : a.min, max: isLess(a.max, b.max) ? b.max : a.max };
}

/** As the column index has them, of a column of 64-bit integers. */
function littleEndian(value: bigint | number | undefined): Uint8Array | undefined {
  return value === undefined ? undefined : new Uint8Array(BigInt64Array.of(BigInt(value)).buffer);
}
