/**
 * The index of a month's receipts as a file: what its readers ask for of each receipt, a column each, so that a
 * reader unpacks those alone that it asks for. A line of JSON says which columns follow and how long each is; a column
 * is a zstd frame, with zstd's checksum, of a value for each receipt in one of the forms of `index-forms.ts`. A last frame
 * has the seals of its dates (`folder-seals.ts`), which versions that know none pass over.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { createTurns } from '../../core/concurrency.ts';
import { messageOf } from '../../core/errors.ts';
import type { Moment, Receipt } from '../../core/model/index.ts';
import { momentText, shortName } from '../../core/model/index.ts';
import { detailKey } from '../keys.ts';
import { isCount } from '../shapes.ts';
import type { IndexedSeal } from './folder-seals.ts';
import { readSeals } from './folder-seals.ts';
import type { ReadValue } from './index-forms.ts';
import { packValues, release, unpackValues } from './index-forms.ts';
import type { Column, ColumnName, IndexedMember, IndexedPart, IndexRow } from './indexed-receipt.ts';
import { COLUMNS, COLUMNS_OF } from './indexed-receipt.ts';
import type { ReceiptVersion } from './ledger.ts';
import { isSameReceipt } from './ledger.ts';

const INDEX_VERSION = 4;
const LINE_FEED = 0x0a;
/** The frame of the seals, beside those of the columns. */
const SEALS = 'seals';
const LONGEST_HEAD_BYTES = 10_000;
/** A column of a million receipts has some 80 MB. */
const MAX_COLUMN_BYTES = 256 << 20;
/**
 * Most columns come in one piece so, and never in the memory that small buffers share; those of the small pieces that
 * publishers leave, of which there are hundreds, in a small one.
 */
const MIN_CHUNK_BYTES = 1 << 16;
const MAX_CHUNK_BYTES = 1 << 20;
const chunkBytesOf = (frame: Uint8Array) =>
  Math.min(MAX_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, frame.length * 4));
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

/** An index of these receipts; others in the thread have their turn meanwhile. */
export async function packIndex(job: string, all: readonly IndexRow[]): Promise<Uint8Array> {
  const rows = [...all].sort(inOrder);
  return packColumns(job, rows.length, (name) => (at) => COLUMNS[name].of(rows[at]!) ?? null, new Map());
}

export type Seals = ReadonlyMap<string, IndexedSeal>;

/**
 * An index of so many receipts in their order, of which `columnOf` says one column after the other: of the unpacked ones
 * only one is in memory. Others in the thread have their turn in between.
 */
export async function packColumns(
  job: string,
  receipts: number,
  columnOf: (name: ColumnName) => ReadValue,
  seals: Seals,
): Promise<Uint8Array> {
  const turn = createTurns();
  const frames: Frame[] = [];
  for (const [name, column] of Object.entries<Column>(COLUMNS)) {
    await turn();
    const values = packValues(column.form, receipts, columnOf(name as ColumnName));
    frames.push([name, zstdCompressSync(values, ZSTD)]);
    release(values);
  }
  return joinFrames(job, receipts, frames, seals);
}

type Frame = readonly [name: string, bytes: Uint8Array];

function joinFrames(job: string, receipts: number, columns: readonly Frame[], seals: Seals): Uint8Array {
  const frames = [...columns, [SEALS, zstdCompressSync(JSON.stringify([...seals]), ZSTD)] as const];
  const head: Head = {
    indexVersion: INDEX_VERSION,
    job,
    receipts,
    columns: frames.map(([name, frame]) => [name, frame.length]),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...frames.map(([, frame]) => frame)]);
}

/** The same index with other seals. */
export function withSeals(job: string, bytes: Uint8Array, seals: Seals): Uint8Array {
  const { receipts, frames } = openFrames(job, bytes);
  return joinFrames(
    job,
    receipts,
    [...frames].filter(([name]) => name !== SEALS),
    seals,
  );
}

export interface UnpackedIndex<M extends IndexedMember> {
  readonly receipts: number;
  /** Of its dates that are sealed. */
  readonly seals: Seals;
  /** First of the rows of a date, and the one behind the last; they are in the order of their vessels. Holds no row. */
  rangeOf(date: string): readonly [from: number, to: number];
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
  const columns = openColumns(job, bytes);
  const { receipts, column } = await readColumns(columns, members);
  const [vessel, date, sizeBytes, tag] = [
    column('vessel') as (at: number) => string,
    column('date') as (at: number) => string,
    column('listedBytes') as (at: number) => number,
    column('tag') as (at: number) => string,
  ];
  const plain = members
    .filter((member) => member !== 'source' && member !== 'detail')
    .map((member) => [member, readMember(member, column)] as const);
  const sourceOf = members.includes('source' as M) ? readSources(column) : undefined;
  const detailOf = members.includes('detail' as M) ? readDetails(job, column) : undefined;
  const rangeOf = rangeIn(rangesByDate(receipts, date, vessel));
  const isSealOfRows = ([one, { rows }]: [string, IndexedSeal]) => rows === rangeOf(one)[1] - rangeOf(one)[0];
  return {
    receipts,
    seals: new Map([...columns.seals()].filter(isSealOfRows)),
    rangeOf,
    vessel,
    isSame: (at, listed) => isSameReceipt({ sizeBytes: sizeBytes(at), tag: tag(at) }, listed),
    row(at) {
      const row: Record<string, unknown> = { job, vessel: vessel(at), date: date(at) };
      for (const [member, valueAt] of plain) {
        const value = valueAt(at);
        if (value !== null) row[member] = value;
      }
      if (sourceOf !== undefined) row.source = sourceOf(at);
      if (detailOf !== undefined) row.detail = detailOf(at, vessel(at), date(at));
      return row as unknown as IndexedPart<M>;
    },
  };
}

const NO_ROWS = [0, 0] as const;
type Ranges = ReadonlyMap<string, readonly [from: number, to: number]>;
const rangeIn = (ranges: Ranges) => (date: string) => ranges.get(date) ?? NO_ROWS;

/** Where the rows of each date are. Throws Error where they are in another order, or a vessel-day is there twice. */
export function rangesByDate(
  receipts: number,
  dateAt: (at: number) => string,
  vesselAt: (at: number) => string,
): Map<string, readonly [number, number]> {
  const ranges = new Map<string, readonly [number, number]>();
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

type ReadColumn = (name: ColumnName) => ReadValue;

/** Of what is known by its name and its version. */
const EVERY_READER_NEEDS: readonly ColumnName[] = ['vessel', 'date', 'listedBytes', 'tag'];

/** The columns that these members are put together from. */
async function readColumns(
  { receipts, read }: OpenColumns,
  members: readonly IndexedMember[],
): Promise<{ readonly receipts: number; readonly column: ReadColumn }> {
  const turn = createTurns();
  const columns = new Map<ColumnName, ReadValue>();
  for (const name of [...EVERY_READER_NEEDS, ...members.flatMap((member) => COLUMNS_OF[member])]) {
    columns.set(name, read(name));
    await turn();
  }
  return { receipts, column: (name) => columns.get(name)! };
}

/** A member that is the value of one column. */
function readMember(member: IndexedMember, column: ReadColumn): ReadValue {
  const [name] = COLUMNS_OF[member] as [ColumnName];
  const valueAt = column(name);
  const isText = COLUMNS[name].form === 'instants' && member === name;
  return isText ? (at) => momentText(valueAt(at) as Moment) : valueAt;
}

function readSources(column: ReadColumn) {
  const [rowsAt, askedAt, digestAt] = [column('sourceRows'), column('askedAt'), column('totalsSha256')];
  return (at: number): Receipt['source'] => {
    const [rows, asked, totalsSha256] = [rowsAt(at), askedAt(at), digestAt(at)];
    if (rows === null || asked === null) return null;
    const source = { rows: rows as number, askedAt: momentText(asked as Moment) };
    return totalsSha256 === null ? source : { ...source, totalsSha256: totalsSha256 as string };
  };
}

function readDetails(job: string, column: ReadColumn) {
  const [digestAt, keyAt] = [column('detailSha256'), column('detailKey')];
  return (at: number, vessel: string, date: string): Receipt['detail'] => {
    const sha256 = digestAt(at) as string | null;
    if (sha256 === null) return null;
    return { key: (keyAt(at) as string | null) ?? detailKey({ job, vessel, date }), sha256 };
  };
}

interface OpenColumns {
  readonly receipts: number;
  /** Unpacks and checks a column. */
  readonly read: ReadColumn;
  /** Of dates, whatever the columns say of them. */
  readonly seals: () => Seals;
}

/** Throws Error for bytes that are damaged, of another job, or of another version, and so does each `read`. */
export function openColumns(job: string, bytes: Uint8Array): OpenColumns {
  const { receipts, frames } = openFrames(job, bytes);
  const unpack = (name: string) => {
    const frame = frames.get(name);
    if (frame === undefined) throw new Error(`it has no column ${name}`);
    return zstdDecompressSync(frame, { maxOutputLength: MAX_COLUMN_BYTES, chunkSize: chunkBytesOf(frame) });
  };
  const read = (name: ColumnName): ReadValue => {
    const column: Column = COLUMNS[name];
    // An index from before there was any.
    if (column.isOptional && !frames.has(name)) return () => null;
    const values = unpack(name);
    try {
      return unpackValues(column.form, values, receipts, (value) => isValueOf(column, value));
    } catch (error) {
      throw new Error(`its column ${name}: ${messageOf(error)}`);
    } finally {
      // No form keeps any of it.
      release(values);
    }
  };
  const seals = () => readSeals(frames.has(SEALS) ? JSON.parse(unpack(SEALS).toString()) : []);
  return { receipts, read, seals };
}

function openFrames(
  job: string,
  bytes: Uint8Array,
): { readonly receipts: number; readonly frames: ReadonlyMap<string, Uint8Array> } {
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
  return { receipts: head.receipts, frames };
}

function isValueOf({ isRight, isOptional }: Column, value: unknown): boolean {
  return value === null ? isOptional === true : isRight(value);
}
