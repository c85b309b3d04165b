/**
 * The index of a month's receipts as a file: Parquet of what its readers ask for of each receipt, so that a reader unpacks those
 * columns alone that it asks for. The footer says whose it is.
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

/** Raised with every change of the columns: an index of another version is passed over, and written anew. */
const INDEX_VERSION = 6;
const ABOUT = 'vessel_export.index';

/** The value of a row; null: it has none. */
type ReadValue = (at: number) => unknown;

const columnEntries = Object.entries<Column>(COLUMNS) as [ColumnName, Column][];

const SCHEMA: readonly SchemaElement[] = (() => {
  const whole = { type: 'INT64', repetition_type: 'OPTIONAL' } as const;
  const text = {
    ...({ type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL', converted_type: 'UTF8' } as const),
    logical_type: { type: 'STRING' as const },
  };
  const time = {
    ...({ ...whole, converted_type: 'TIMESTAMP_MICROS' } as const),
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' } as const,
  };
  const leaves = columnEntries.map(([name, { kind }]): SchemaElement => {
    if (kind === 'number') return { name, ...whole };
    return { name, ...(kind === 'moment' ? time : text) };
  });
  return [{ name: 'schema', num_children: leaves.length }, ...leaves];
})();
const QUESTIONS = SCHEMA.slice(1).map(({ name, type, logical_type: logical }) => ({
  name,
  kind:
    type === 'BYTE_ARRAY'
      ? ('text' as const)
      : logical === undefined
        ? ('long' as const)
        : ('timestamp' as const),
}));
const DICTIONARIES = columnEntries.flatMap(([name, { kind }]) => (kind === 'repeated' ? [name] : []));

/** The order of rows in an index: that in which a store lists their receipts. */
function inOrder(a: IndexRow, b: IndexRow): number {
  if (a.date !== b.date) return a.date < b.date ? -1 : 1;
  return a.vessel < b.vessel ? -1 : a.vessel > b.vessel ? 1 : 0;
}

/** An index of these receipts; others in the thread have their turn meanwhile. */
export async function packIndex(job: string, all: readonly IndexRow[]): Promise<Uint8Array> {
  const rows = [...all].sort(inOrder);
  return packColumns(job, rows.length, (name) => (at) => rows[at]![name] ?? null);
}

/** `columnOf` says one column after the other: of the unpacked ones only one is in memory. */
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
  // The pages of a file have checksums, and what its footer says gets one.
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

export interface UnpackedIndex<M extends IndexedMember> {
  readonly receipts: number;
  /** First of the rows of a date, and the one behind the last; they are in the order of their vessels. Holds no row. */
  rangeOf(date: string): Range;
  vessel(at: number): string;
  isSame(at: number, listed: ReceiptVersion): boolean;
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
  const { receipts, read } = openIndex(job, bytes);
  const turn = createTurns();
  const columns = new Map<ColumnName, ReadValue>();
  for (const name of ['vessel', 'date', 'listedBytes', 'tag', ...members] as const) {
    columns.set(name, read(name));
    await turn();
  }
  const column = <T>(name: ColumnName) => columns.get(name) as (at: number) => T;
  const [vessel, date] = [column<string>('vessel'), column<string>('date')];
  const [sizeBytes, tag] = [column<number>('listedBytes'), column<string>('tag')];
  const readers = members.map((member) => [member, column<unknown>(member)] as const);
  const ranges = rangesByDate(receipts, date, vessel);
  return {
    receipts,
    rangeOf: (one) => ranges.get(one) ?? NO_ROWS,
    vessel,
    isSame: (at, listed) => isSameReceipt({ sizeBytes: sizeBytes(at), tag: tag(at) }, listed),
    row(at) {
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

/** Where the rows of each date are. Throws Error where they are in another order, or a vessel-day is there twice. */
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

interface OpenIndex {
  readonly receipts: number;
  /** Unpacks and checks a column: moments in milliseconds. Throws Error. */
  readonly read: (name: ColumnName) => ReadValue;
}

/** Throws Error for bytes that are damaged, of another job, or of another version, and so does each `read`. */
function openIndex(job: string, bytes: Uint8Array): OpenIndex {
  const file = openFlatFile(bytes, QUESTIONS);
  const said = file.keyValues.get(ABOUT) ?? '';
  const about = said.slice(said.indexOf(' ') + 1);
  if (said !== `${crc32(about)} ${about}`) throw new Error('its footer is none of an index');
  const { indexVersion, job: whose } = JSON.parse(about) as Record<string, unknown>;
  if (indexVersion !== INDEX_VERSION || whose !== job)
    throw new Error(`it is of version ${indexVersion} of ${whose}, expected ${INDEX_VERSION} of ${job}`);
  return { receipts: file.rows, read: (name) => readColumn(file, name) };
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
 * What is taken of several indexes as one; of two rows of a vessel-day that of the later source. In memory there are their packed
 * bytes and those of the new one, a column of them unpacked, and 8 bytes for each receipt. Others in the thread have their turn
 * meanwhile. Throws Error for a source that is damaged.
 */
export async function mergeIndexes(job: string, sources: readonly MergeSource[]): Promise<Uint8Array> {
  const opened = sources.map((source) => ({ ...openIndex(job, source.bytes), isTaken: source.isTaken }));
  const { count, sourceAt, rowAt } = await placeRows(opened);
  const columnOf = (name: ColumnName): ReadValue => {
    const columns = opened.map(({ read }) => read(name));
    return (at) => columns[sourceAt[at]!]!(rowAt[at]!);
  };
  return packColumns(job, count, columnOf);
}

interface Places {
  readonly count: number;
  /** By row of the new index: the source and the row there. */
  readonly sourceAt: Uint32Array;
  readonly rowAt: Uint32Array;
}

async function placeRows(sources: readonly (OpenIndex & Pick<MergeSource, 'isTaken'>)[]): Promise<Places> {
  const most = sources.reduce((sum, { receipts }) => sum + receipts, 0);
  const [sourceAt, rowAt] = [new Uint32Array(most), new Uint32Array(most)];
  const turn = createTurns();
  const known = sources.map(({ receipts, read, isTaken }, source) => {
    const [vesselAt, dateAt] = [
      read('vessel') as (at: number) => string,
      read('date') as (at: number) => string,
    ];
    return { source, vesselAt, isTaken, ranges: rangesByDate(receipts, dateAt, vesselAt) };
  });
  let count = 0;
  for (const date of [...new Set(known.flatMap(({ ranges }) => [...ranges.keys()]))].sort()) {
    await turn();
    const newest = new Map<string, readonly [source: number, at: number]>();
    for (const { source, vesselAt, isTaken, ranges } of known) {
      const [from, to] = ranges.get(date) ?? NO_ROWS;
      for (let at = from; at < to; at++) if (isTaken(at, date)) newest.set(vesselAt(at), [source, at]);
    }
    for (const vessel of [...newest.keys()].sort()) {
      [sourceAt[count], rowAt[count]] = newest.get(vessel)!;
      count++;
    }
  }
  return { count, sourceAt, rowAt };
}
