/**
 * The index of a month's receipts as a Parquet file: a reader decodes only the columns that it needs. The footer names the job
 * and month.
 */
import { crc32 } from 'node:zlib';
import { createTurns } from '../../core/concurrency.ts';
import { MICROS_PER_MILLI } from '../../core/model/index.ts';
import { type FlatFile, openFlatFile } from '../../parquet/read/flat-file.ts';
import type { LeafColumn } from '../../parquet/write/leaf-column.ts';
import { PARQUET_MAGIC, PlainFile, type SchemaElement } from '../../parquet/write/plain-file.ts';
import type { Column, ColumnName, IndexedMember, IndexedPart, IndexRow } from './indexed-receipt.ts';
import { COLUMNS } from './indexed-receipt.ts';
import { isSameReceipt, type ReceiptVersion } from './ledger.ts';

/** Raised with every change of the columns: an index of another version is ignored and rewritten. */
const INDEX_VERSION = 6;
const ABOUT = 'vessel_export.index';

/** The value of a row; null: there is none. */
type ReadValue = (at: number) => unknown;

const columnEntries = Object.entries<Column>(COLUMNS) as [ColumnName, Column][];

type Leaf = Omit<SchemaElement, 'name'>;
const WHOLE: Leaf = { type: 'INT64', repetition_type: 'OPTIONAL' };
const TEXT: Leaf = {
  ...{ type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL', converted_type: 'UTF8' },
  logical_type: { type: 'STRING' },
};
const TIME: Leaf = {
  ...{ ...WHOLE, converted_type: 'TIMESTAMP_MICROS' },
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
};

function leafOf(kind: Column['kind']) {
  if (kind === 'number') return { leaf: WHOLE, readAs: 'long' } as const;
  return { leaf: kind === 'moment' ? TIME : TEXT, readAs: kind === 'moment' ? 'timestamp' : 'text' } as const;
}

const SCHEMA: readonly SchemaElement[] = [
  { name: 'schema', num_children: columnEntries.length },
  ...columnEntries.map(([name, { kind }]) => ({ name, ...leafOf(kind).leaf })),
];
const QUESTIONS = columnEntries.map(([name, { kind }]) => ({ name, kind: leafOf(kind).readAs }));
const DICTIONARIES = columnEntries.flatMap(([name, { kind }]) => (kind === 'repeated' ? [name] : []));

/** An index of these receipts, which are in the order of a store's list. It yields to other work in the thread. */
export async function packIndex(job: string, all: readonly IndexRow[]): Promise<Uint8Array> {
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  const rows = all.toSorted((a, b) => order(a.date, b.date) || order(a.vessel, b.vessel));
  return packColumns(job, rows.length, (name) => (at) => rows[at]![name] ?? null);
}

/** `columnOf` returns one column after the other, so that only one is decoded in memory. */
async function packColumns(
  job: string,
  receipts: number,
  columnOf: (name: ColumnName) => ReadValue,
): Promise<Uint8Array> {
  const turn = createTurns();
  const file = new PlainFile(SCHEMA, { createdBy: 'vessel-export', dictionaries: DICTIONARIES });
  const pieces: Uint8Array[] = [PARQUET_MAGIC];
  const fill = (column: LeafColumn) => {
    const name = column.leaf.path[0] as ColumnName;
    fillColumn(column, receipts, columnOf(name), COLUMNS[name].kind);
  };
  for (const piece of receipts === 0 ? [] : file.rowGroup(fill)) {
    pieces.push(piece);
    await turn();
  }
  // The pages of a file have checksums; this adds one for the footer's values.
  const about = JSON.stringify({ indexVersion: INDEX_VERSION, job });
  return Buffer.concat([...pieces, file.end({ [ABOUT]: `${crc32(about)} ${about}` })]);
}

function fillColumn(column: LeafColumn, receipts: number, valueAt: ReadValue, kind: Column['kind']): void {
  for (let at = 0; at < receipts; at++) {
    const value = valueAt(at);
    if (value === null) column.addNull();
    else if (kind === 'number') column.addNumber(value as number);
    else if (kind === 'moment') column.addNumber((value as number) * MICROS_PER_MILLI);
    else column.addText(kind === 'json' ? JSON.stringify(value) : (value as string));
  }
}

export type UnpackedIndex<M extends IndexedMember> = Awaited<ReturnType<typeof unpackIndex<M>>>;

/** Throws Error for bytes that are damaged, of another job or version. It yields to other work between columns. */
export async function unpackIndex<M extends IndexedMember>(
  job: string,
  bytes: Uint8Array,
  members: readonly M[],
) {
  const { receipts, ranges, vessel, date, read } = openIndex(job, bytes);
  const turn = createTurns();
  const columns = new Map<ColumnName, ReadValue>();
  for (const name of ['listedBytes', 'tag', ...members] as const) {
    columns.set(name, read(name));
    await turn();
  }
  const [sizeBytes, tag] = [columns.get('listedBytes')!, columns.get('tag')!];
  const readers = members.map((member) => [member, columns.get(member)!] as const);
  return {
    receipts,
    /** The half-open range of a date's rows, which are sorted by vessel. */
    rangeOf: (one: string): Range => ranges.get(one) ?? NO_ROWS,
    vessel,
    isSame: (at: number, listed: ReceiptVersion): boolean =>
      isSameReceipt({ sizeBytes: sizeBytes(at) as number, tag: tag(at) as string }, listed),
    row(at: number): IndexedPart<M> {
      const row: Record<string, unknown> = { job, vessel: vessel(at), date: date(at) };
      for (const [member, valueAt] of readers) {
        const value = valueAt(at);
        if (value !== null) row[member] = value;
      }
      return row as unknown as IndexedPart<M>;
    },
  };
}

type Range = readonly [from: number, to: number];
const NO_ROWS: Range = [0, 0];

/** The rows of each date. Throws Error if they are not sorted, or if a vessel-day is there twice. */
function rangesByDate(
  receipts: number,
  dateAt: (at: number) => string,
  vesselAt: (at: number) => string,
): Map<string, Range> {
  const ranges = new Map<string, Range>();
  let from = 0;
  for (let at = 1; at <= receipts; at++) {
    const [before, date] = [dateAt(at - 1), at < receipts ? dateAt(at) : undefined];
    if (date === before && vesselAt(at) > vesselAt(at - 1)) continue;
    if (date !== undefined && date <= before) throw new Error('its receipts are not in order');
    ranges.set(before, [from, at]);
    from = at;
  }
  return ranges;
}

/** Throws Error for bytes that are damaged, of another job, or of another version, and so does each `read` of a column. */
function openIndex(job: string, bytes: Uint8Array) {
  const file = openFlatFile(bytes, QUESTIONS);
  const said = file.keyValues.get(ABOUT) ?? '';
  const about = said.slice(said.indexOf(' ') + 1);
  if (said !== `${crc32(about)} ${about}`) throw new Error('its footer is none of an index');
  const { indexVersion, job: whose } = JSON.parse(about) as Record<string, unknown>;
  if (indexVersion !== INDEX_VERSION || whose !== job)
    throw new Error(`it is of version ${indexVersion} of ${whose}, expected ${INDEX_VERSION} of ${job}`);
  const read = (name: ColumnName) => readColumn(file, name);
  const [vessel, date] = [read('vessel'), read('date')] as [(at: number) => string, (at: number) => string];
  return { receipts: file.rows, ranges: rangesByDate(file.rows, date, vessel), vessel, date, read };
}

function expectThat(isSo: boolean, name: string): void {
  if (!isSo) throw new Error(`its column ${name} has other values than it can have`);
}

function readColumn(file: FlatFile, name: ColumnName): ReadValue {
  const { kind, isRight, isOptional = false } = COLUMNS[name];
  const { rows } = file;
  if (kind === 'number' || kind === 'moment') {
    const numbers = file.numbers(name);
    const unit = kind === 'moment' ? MICROS_PER_MILLI : 1;
    for (let at = 0; at < rows; at++)
      expectThat(Number.isNaN(numbers[at]) ? isOptional : isRight(numbers[at]! / unit), name);
    return (at) => (Number.isNaN(numbers[at]) ? null : numbers[at]! / unit);
  }
  const texts = file.texts(name);
  expectThat(isOptional || texts.count === rows, name);
  if (kind === 'json') {
    const values = new Map<number, unknown>();
    for (let at = 0; at < rows && values.size < texts.count; at++) {
      const text = texts.at(at);
      if (text !== null) values.set(at, JSON.parse(text));
    }
    expectThat([...values.values()].every(isRight), name);
    return (at) => values.get(at) ?? null;
  }
  if (kind === 'repeated') expectThat(texts.dictionary.every(isRight), name);
  else for (let at = 0; at < rows; at++) expectThat(texts.at(at) === null || isRight(texts.at(at)), name);
  return (at) => texts.at(at);
}

interface MergeSource {
  readonly bytes: Uint8Array;
  isTaken(at: number, date: string): boolean;
}

/**
 * Merges rows of several indexes; of two rows of a vessel-day the one of the later source counts. Memory: the encoded bytes of
 * all and of the result, a few decoded columns, and two numbers for each receipt. It yields to other work in the thread.
 * Throws Error for a damaged source.
 */
export async function mergeIndexes(job: string, sources: readonly MergeSource[]): Promise<Uint8Array> {
  const opened = sources.map(({ bytes, isTaken }) => ({ ...openIndex(job, bytes), isTaken }));
  const turn = createTurns();
  const [sourceAt, rowAt]: [number[], number[]] = [[], []];
  for (const date of [...new Set(opened.flatMap(({ ranges }) => [...ranges.keys()]))].sort()) {
    await turn();
    const newest = new Map<string, readonly [source: number, at: number]>();
    for (const [source, { ranges, vessel, isTaken }] of opened.entries()) {
      const [from, to] = ranges.get(date) ?? NO_ROWS;
      for (let at = from; at < to; at++) if (isTaken(at, date)) newest.set(vessel(at), [source, at]);
    }
    for (const vessel of [...newest.keys()].sort()) {
      const [source, at] = newest.get(vessel)!;
      sourceAt.push(source);
      rowAt.push(at);
    }
  }
  return packColumns(job, rowAt.length, (name) => {
    const columns = opened.map(({ read }) => read(name));
    return (at) => columns[sourceAt[at]!]!(rowAt[at]!);
  });
}
