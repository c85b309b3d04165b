/**
 * The index of a month's receipts as a file: what its readers ask for of each receipt, a column each, so that a
 * reader unpacks those alone that it asks for. A line of JSON says which columns follow and how long each is; a column
 * is a zstd frame, with zstd's checksum, of a JSON array with a value for each receipt.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { createTurns } from '../concurrency.ts';
import type { Receipt } from '../model/index.ts';
import { shortName } from '../model/index.ts';
import type { Column, ColumnName, IndexedMember, IndexedPart, IndexRow } from './indexed-receipt.ts';
import { COLUMNS, COLUMNS_OF } from './indexed-receipt.ts';
import { detailKey } from './keys.ts';
import type { ReceiptVersion } from './ledger.ts';
import { isCount } from './shapes.ts';

const INDEX_VERSION = 3;
const LINE_FEED = 0x0a;
const LONGEST_HEAD_BYTES = 10_000;
/** A column of a million receipts has some 80 MB. */
const MAX_COLUMN_BYTES = 256 << 20;
const ZSTD = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 },
  chunkSize: 1 << 17,
};

interface Head {
  readonly indexVersion: number;
  readonly job: string;
  readonly receipts: number;
  /** Name and length in bytes, in their order in the file. */
  readonly columns: readonly (readonly [string, number])[];
}

/** The order of rows in an index: that in which a store lists their receipts. */
export function inOrder(a: Place, b: Place): number {
  if (a.date !== b.date) return a.date < b.date ? -1 : 1;
  return a.vessel < b.vessel ? -1 : a.vessel > b.vessel ? 1 : 0;
}

type Place = Pick<IndexRow, 'date' | 'vessel'>;

/**
 * An index of these receipts; others in the thread have their turn between two columns. A receipt that lacks something,
 * which is for verify to say, has no place in it and is read itself every time.
 */
export async function packIndex(job: string, all: readonly IndexRow[]): Promise<Uint8Array> {
  const turn = createTurns();
  let rows = all;
  for (const column of Object.values<Column>(COLUMNS)) {
    rows = rows.filter((row) => isValueOf(column, column.of(row) ?? null));
    await turn();
  }
  rows = rows.toSorted(inOrder);
  const frames: [name: string, frame: Uint8Array][] = [];
  for (const [name, column] of Object.entries<Column>(COLUMNS)) {
    await turn();
    const values = rows.map((row) => column.of(row) ?? null);
    const text = JSON.stringify(column.isRepeated ? dictionaryOf(values) : values);
    frames.push([name, zstdCompressSync(text, ZSTD)]);
  }
  const head: Head = {
    indexVersion: INDEX_VERSION,
    job,
    receipts: rows.length,
    columns: frames.map(([name, frame]) => [name, frame.length]),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...frames.map(([, frame]) => frame)]);
}

interface Dictionary {
  readonly values: readonly unknown[];
  readonly codes: readonly number[];
}

function dictionaryOf(values: readonly unknown[]): Dictionary {
  const codes = new Map<unknown, number>();
  const codeOf = (value: unknown) => {
    const code = codes.get(value) ?? codes.size;
    codes.set(value, code);
    return code;
  };
  const coded = values.map(codeOf);
  return { values: [...codes.keys()], codes: coded };
}

export interface UnpackedIndex<M extends IndexedMember> {
  readonly receipts: number;
  /** First of the rows of a date, and the one behind the last; they are in the order of their vessels. */
  rangeOf(date: string): readonly [from: number, to: number];
  vessel(at: number): string;
  isSame(at: number, listed: ReceiptVersion): boolean;
  listed(at: number): ReceiptVersion;
  row(at: number): IndexedPart<M>;
}

/**
 * Others in the thread have their turn between two columns. Throws Error for bytes that are damaged, of another job, or
 * of another version.
 */
export async function unpackIndex<M extends IndexedMember>(
  job: string,
  bytes: Uint8Array,
  members: readonly M[],
): Promise<UnpackedIndex<M>> {
  const column = await readColumns(openColumns(job, bytes), members);
  const [vessels, dates] = [column('vessel') as string[], column('date') as string[]];
  const [sizes, tags] = [column('listedBytes') as number[], column('tag') as string[]];
  const plain = members
    .filter((member) => member !== 'source' && member !== 'detail')
    .map((member) => [member, column(member as ColumnName)] as const);
  const sourceOf = members.includes('source' as M) ? readSources(column) : undefined;
  const detailOf = members.includes('detail' as M) ? readDetails(job, column) : undefined;
  const ranges = rangesByDate(dates, vessels);
  return {
    receipts: vessels.length,
    rangeOf: (date) => ranges.get(date) ?? [0, 0],
    vessel: (at) => vessels[at]!,
    // Without a tag nobody can tell.
    isSame: (at, { tag, sizeBytes }) => tag !== '' && tags[at] === tag && sizes[at] === sizeBytes,
    listed: (at) => ({ sizeBytes: sizes[at]!, tag: tags[at]! }),
    row(at) {
      const row: Record<string, unknown> = { job, vessel: vessels[at], date: dates[at] };
      for (const [member, values] of plain) if (values[at] !== null) row[member] = values[at];
      if (sourceOf !== undefined) row.source = sourceOf(at);
      if (detailOf !== undefined) row.detail = detailOf(at, vessels[at]!, dates[at]!);
      return row as unknown as IndexedPart<M>;
    },
  };
}

/** Where the rows of each date are. Throws Error where they are in another order, or a vessel-day is there twice. */
export function rangesByDate(
  dates: readonly string[],
  vessels: readonly string[],
): Map<string, readonly [number, number]> {
  const ranges = new Map<string, readonly [number, number]>();
  let from = 0;
  for (let at = 1; at <= dates.length; at++) {
    const [before, date] = [dates[at - 1]!, dates[at]];
    if (date === before && vessels[at]! > vessels[at - 1]!) continue;
    if (date !== undefined && date <= before) throw new Error('its receipts are not in order');
    ranges.set(before, [from, at]);
    from = at;
  }
  return ranges;
}

/** All that an index has of a receipt. */
export function wholeRow(index: UnpackedIndex<IndexedMember>, at: number): IndexRow {
  return { ...index.row(at), listed: index.listed(at) } as IndexRow;
}

type ReadColumn = (name: ColumnName) => unknown[];

/** Of what is known by its name and its version. */
const EVERY_READER_NEEDS: readonly ColumnName[] = ['vessel', 'date', 'listedBytes', 'tag'];

/** The columns that these members are put together from. */
async function readColumns(read: ReadColumn, members: readonly IndexedMember[]): Promise<ReadColumn> {
  const turn = createTurns();
  const columns = new Map<ColumnName, unknown[]>();
  for (const name of [...EVERY_READER_NEEDS, ...members.flatMap((member) => COLUMNS_OF[member])]) {
    columns.set(name, read(name));
    await turn();
  }
  return (name) => columns.get(name)!;
}

function readSources(column: ReadColumn) {
  const [rows, askedAt, digests] = [column('sourceRows'), column('askedAt'), column('totalsSha256')];
  return (at: number): Receipt['source'] => {
    if (rows[at] === null || askedAt[at] === null) return null;
    const source = { rows: rows[at] as number, askedAt: askedAt[at] as string };
    return digests[at] === null ? source : { ...source, totalsSha256: digests[at] as string };
  };
}

function readDetails(job: string, column: ReadColumn) {
  const [digests, keys] = [column('detailSha256') as (string | null)[], column('detailKey')];
  return (at: number, vessel: string, date: string): Receipt['detail'] => {
    const sha256 = digests[at]!;
    if (sha256 === null) return null;
    return { key: (keys[at] as string | null) ?? detailKey({ job, vessel, date }), sha256 };
  };
}

/** The columns of a file, each unpacked and checked when it is asked for. */
function openColumns(job: string, bytes: Uint8Array): ReadColumn {
  const headEnd = bytes.subarray(0, LONGEST_HEAD_BYTES).indexOf(LINE_FEED);
  if (headEnd < 0) throw new Error('it has no head');
  const head = JSON.parse(Buffer.from(bytes.subarray(0, headEnd)).toString()) as Head;
  if (head.indexVersion !== INDEX_VERSION || head.job !== job || !isCount(head.receipts))
    throw new Error(`'${shortName(JSON.stringify(head))}' is no head of version ${INDEX_VERSION} of ${job}`);
  const frames = new Map<string, Uint8Array>();
  let at = headEnd + 1;
  for (const [name, length] of head.columns) {
    frames.set(name, bytes.subarray(at, at + length));
    at += length;
  }
  if (at !== bytes.length) throw new Error(`it has ${bytes.length} bytes, expected ${at}`);
  return (name) => {
    const frame = frames.get(name);
    if (frame === undefined) throw new Error(`it has no column ${name}`);
    const text = zstdDecompressSync(frame, { maxOutputLength: MAX_COLUMN_BYTES });
    return checkedColumn(name, JSON.parse(text.toString()), head.receipts);
  };
}

function isValueOf({ isRight, isOptional }: Column, value: unknown): boolean {
  return value === null ? isOptional === true : isRight(value);
}

function checkedColumn(name: ColumnName, parsed: unknown, receipts: number): unknown[] {
  const column: Column = COLUMNS[name];
  const isValue = (value: unknown) => isValueOf(column, value);
  const expectAll = (values: unknown, isOne: (value: unknown) => boolean): unknown[] => {
    if (Array.isArray(values) && values.every(isOne)) return values;
    throw new Error(`its column ${name} has other values than it can have`);
  };
  const expectLength = (values: unknown[]): unknown[] => {
    if (values.length === receipts) return values;
    throw new Error(`its column ${name} has ${values.length} values, expected ${receipts}`);
  };
  if (column.isRepeated !== true) return expectLength(expectAll(parsed, isValue));
  const { values, codes } = parsed as Dictionary;
  const known = expectAll(values, isValue);
  const isCode = (code: unknown) => isCount(code) && (code as number) < known.length;
  return expectLength(expectAll(codes, isCode)).map((code) => known[code as number]);
}
