/** What the footer of a Parquet body says, checked before anything is decoded. */
import { ParquetTypes } from 'hyparquet/src/constants.js';
import { cleanForeignText, DataError } from '../../core/errors.ts';
import { badParquet, PARQUET_ADVICE, parquetTooLarge } from './parquet-faults.ts';
import type { ColumnQuestion, Leaf, ParquetColumn } from './parquet-schema.ts';
import { columnOf, FOOTER, leavesOf, readSchema } from './parquet-schema.ts';
import { ThriftReader } from './thrift-reader.ts';

const MAGIC = 'PAR1';
const MAGIC_BYTES = 4;
const LENGTH_BYTES = 4;
const MIN_BYTES = 12;

/** Rows of a body: four times what a time slice aims at. It bounds time, not memory. */
export const MAX_PARQUET_ROWS = 4_194_304;
const MAX_FOOTER_BYTES = 8 << 20;
const MAX_ROW_GROUPS = 8_192;
/** Bytes that the columns that are read come to when decompressed, in a row group and in a body. */
export const MAX_UNCOMPRESSED_BYTES = 512 << 20;

export interface ColumnChunk {
  readonly codec: number;
  /** Its pages are `body[start, end)`. */
  readonly start: number;
  readonly end: number;
}

interface ParquetRowGroup {
  readonly rows: number;
  /** In the order of the columns that were asked for. */
  readonly chunks: readonly ColumnChunk[];
}

/** Read and check the footer; `maxUncompressedBytes` of all columns together. Throws DataError `body-truncated`, `bad-parquet` or `page-too-large`. */
export function readParquetFooter(
  body: Uint8Array,
  questions: readonly ColumnQuestion[],
  maxRows: number,
  maxUncompressedBytes = MAX_UNCOMPRESSED_BYTES,
) {
  const { start, end } = footerSpan(body);
  const reader = new ThriftReader(body, start, end, FOOTER);
  let schema: ReturnType<typeof leavesOf> | undefined;
  let columns: readonly ParquetColumn[] = [];
  let claimedRows = -1;
  const groups: ParquetRowGroup[] = [];
  const keyValues = new Map<string, string>();
  const budget: Budget = { uncompressedBytes: 0, rows: 0, maxRows, maxUncompressedBytes };
  reader.struct((id, type) => {
    if (id === 2) {
      schema = leavesOf(readSchema(reader, type));
      const { leaves } = schema;
      columns = questions.map((question) => columnOf(question, leaves));
    } else if (id === 3) {
      claimedRows = reader.number(type);
    } else if (id === 4) {
      if (schema === undefined) throw badParquet(FOOTER, 'row groups before the columns', 'columns first');
      const { leaves, leafCount } = schema;
      const wanted = questions.map(({ name }) => leaves.get(name)!);
      const count = reader.list(type, (index) => {
        if (index >= MAX_ROW_GROUPS)
          throw parquetTooLarge(FOOTER, index + 1, MAX_ROW_GROUPS, 'row groups or more');
        groups.push(readRowGroup(reader, index, wanted, leafCount, start, budget));
      });
      if (count !== groups.length) throw badParquet(FOOTER, 'two lists of row groups', 'one');
    } else if (id === 5) {
      reader.list(type, () => readKeyValue(reader, keyValues));
    } else if (id === 8) {
      throw badParquet(FOOTER, 'encrypted columns', 'plain ones');
    } else return false;
    return true;
  });
  if (schema === undefined) throw badParquet(FOOTER, 'no columns', 'columns');
  if (claimedRows !== budget.rows)
    throw badParquet(FOOTER, `${claimedRows} rows, and ${budget.rows} in the row groups`, 'equal numbers');
  assertApart(groups);
  return { columns, groups, rows: budget.rows, keyValues };
}

function readKeyValue(reader: ThriftReader, keyValues: Map<string, string>): void {
  const pair = ['', ''];
  reader.struct((id, type) => {
    if (id === 1 || id === 2) pair[id - 1] = reader.text(type);
    return id === 1 || id === 2;
  });
  keyValues.set(pair[0]!, pair[1]!);
}

function footerSpan(body: Uint8Array): { start: number; end: number } {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const trailer = bytes.toString('latin1', Math.max(0, bytes.length - MAGIC_BYTES));
  if (bytes.length < MIN_BYTES || trailer !== MAGIC) {
    const found = `${bytes.length} bytes that end in '${cleanForeignText(trailer)}'`;
    throw new DataError(
      'body-truncated',
      `found ${found}, expected Parquet that ends in '${MAGIC}'; ${PARQUET_ADVICE}`,
    );
  }
  const leader = bytes.toString('latin1', 0, MAGIC_BYTES);
  if (leader !== MAGIC) throw badParquet('the beginning', `'${cleanForeignText(leader)}'`, `'${MAGIC}'`);
  const end = bytes.length - MAGIC_BYTES - LENGTH_BYTES;
  const length = bytes.readUInt32LE(end);
  const room = end - MAGIC_BYTES;
  if (length > room) throw badParquet(FOOTER, `a length of ${length} bytes`, `at most ${room}, as there are`);
  if (length > MAX_FOOTER_BYTES) throw parquetTooLarge(FOOTER, length, MAX_FOOTER_BYTES, 'bytes');
  return { start: end - length, end };
}

interface Budget {
  uncompressedBytes: number;
  rows: number;
  readonly maxRows: number;
  readonly maxUncompressedBytes: number;
}

const NO_CLAIMS = {
  ...{ type: -1, codec: -1, values: -1, uncompressedBytes: -1, compressedBytes: -1 },
  ...{ dataAt: -1, dictionaryAt: 0, elsewhere: false },
};
type ChunkClaims = typeof NO_CLAIMS;

function readRowGroup(
  reader: ThriftReader,
  index: number,
  wanted: readonly Leaf[],
  leafCount: number,
  bodyEnd: number,
  budget: Budget,
): ParquetRowGroup {
  const where = `row group ${index + 1}`;
  const claims = new Array<ChunkClaims | undefined>(wanted.length);
  let rows = -1;
  let chunkCount = 0;
  reader.struct((id, type) => {
    if (id === 3) rows = reader.number(type);
    else if (id === 1) {
      chunkCount = reader.list(type, (leaf) => {
        const place = wanted.findIndex((each) => each.index === leaf);
        if (place < 0) reader.skip(12);
        else claims[place] = readChunk(reader);
      });
    } else return false;
    return true;
  });
  if (chunkCount !== leafCount)
    throw badParquet(where, `${chunkCount} columns`, `${leafCount}, as in the schema`);
  if (!(rows >= 0)) throw badParquet(where, `${rows} rows`, 'a number of rows');
  budget.rows += rows;
  if (budget.rows > budget.maxRows)
    throw parquetTooLarge(`rows up to ${where}`, budget.rows, budget.maxRows, 'rows');
  const chunks = claims.map((claim, place) =>
    checkedChunk(claim, wanted[place]!, rows, bodyEnd, where, budget),
  );
  return { rows, chunks };
}

function readChunk(reader: ThriftReader): ChunkClaims {
  const claims = { ...NO_CLAIMS };
  reader.struct((id) => {
    // A path to another file, or encrypted metadata.
    if (id === 1 || id === 8) claims.elsewhere = true;
    if (id !== 3) return false;
    reader.numbers(claims, {
      ...({ 1: 'type', 4: 'codec', 5: 'values', 6: 'uncompressedBytes', 7: 'compressedBytes' } as const),
      ...({ 9: 'dataAt', 11: 'dictionaryAt' } as const),
    });
    return true;
  });
  return claims;
}

function checkedChunk(
  claims: ChunkClaims | undefined,
  { element }: Leaf,
  rows: number,
  bodyEnd: number,
  group: string,
  budget: Budget,
): ColumnChunk {
  const where = `column '${element.name}' in ${group}`;
  if (claims === undefined || claims.elsewhere)
    throw badParquet(where, 'no metadata, or another file', 'both here');
  const { type, codec, values, uncompressedBytes, compressedBytes, dataAt, dictionaryAt } = claims;
  if (type !== element.type)
    throw badParquet(where, `type ${ParquetTypes[type] ?? type}`, 'that of the schema');
  if (values !== rows) throw badParquet(where, `${values} values`, `${rows}, one a row`);
  if (!(uncompressedBytes >= 0)) throw badParquet(where, `${uncompressedBytes} bytes uncompressed`, 'a size');
  budget.uncompressedBytes += uncompressedBytes;
  const { uncompressedBytes: bytes, maxUncompressedBytes: maxBytes } = budget;
  if (bytes > maxBytes) throw parquetTooLarge(where, bytes, maxBytes, 'bytes uncompressed up to there');
  const start = dictionaryAt > 0 ? Math.min(dictionaryAt, dataAt) : dataAt;
  const end = start + compressedBytes;
  if (!(start >= MAGIC_BYTES && compressedBytes >= 0 && end <= bodyEnd))
    throw badParquet(where, `bytes ${start} to ${end}`, `a place between ${MAGIC_BYTES} and ${bodyEnd}`);
  return { codec, start, end };
}

/** Chunks that share bytes would be decoded again and again. */
function assertApart(groups: readonly ParquetRowGroup[]): void {
  const chunks = groups.flatMap((group) => group.chunks).sort((a, b) => a.start - b.start);
  let end = 0;
  for (const chunk of chunks) {
    if (chunk.start < end && chunk.end > chunk.start)
      throw badParquet(FOOTER, `column chunks that overlap at byte ${chunk.start}`, 'each in its own place');
    end = Math.max(end, chunk.end);
  }
}
