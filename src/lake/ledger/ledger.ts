/** Receipts, details and notes: what the lake says of its own vessel-days. */

import { hash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { DataError, isRefusal } from '../../core/errors.ts';
import type { CountsJson, DayCounts, Note, Receipt, VesselDay } from '../../core/model/index.ts';
import { cleanMessage, DAMAGED_RECEIPT, NEWER_RECEIPT, shortName } from '../../core/model/index.ts';
import type { ListedObject, ObjectStore, Version } from '../../store/store.ts';
import { jsonBytes, parseJson } from '../json.ts';
import { detailKey, keyPrefix, noteKey, parseReceiptKey, receiptKey } from '../keys.ts';
import {
  checkedFile,
  DETAIL,
  DETAIL_ADDED,
  isCount,
  isObject,
  NOTE_FILE,
  parseFile,
  RECEIPT,
  RECEIPT_ADDED,
  shown,
} from '../shapes.ts';

/** Counts per series and hour of a published day: what it holds, and what the source said. */
export interface Detail {
  readonly ours: CountsJson;
  readonly source: CountsJson | null;
  /** Time series id → name of each series that was selected, with readings or without; absent in older ones. */
  readonly series?: Readonly<Record<string, string | null>>;
  /** The job's `select`, which named them; absent in older ones. */
  readonly select?: readonly string[];
}

export async function readReceipt(
  store: Pick<ObjectStore, 'get'>,
  day: VesselDay,
): Promise<Receipt | undefined> {
  return (await findReceipt(store, day))?.receipt;
}

export async function findReceipt(
  store: Pick<ObjectStore, 'get'>,
  day: VesselDay,
): Promise<{ readonly receipt: Receipt; readonly version: Version } | undefined> {
  const key = receiptKey(day);
  const object = await store.get(key);
  return object && { receipt: parseReceipt(object.bytes, key), version: object.version };
}

/** A receipt's file. Throws DataError `damaged-receipt` or `unknown-receipt-version` naming the key. */
export function parseReceipt(bytes: Uint8Array, key: string): Receipt {
  const value = parseJson<unknown>(bytes, key, DAMAGED_RECEIPT);
  if (isObject(value) && isNewerReceipt(value))
    throw new DataError(
      NEWER_RECEIPT,
      `${key}: got receiptVersion ${shown(value.receiptVersion)}, expected 1; a newer vessel-export wrote it: use that one, and leave it as it is`,
    );
  const whole = { day: parseReceiptKey(key), needed: RECEIPT, code: DAMAGED_RECEIPT };
  return checkedFile<Receipt>(value, key, RECEIPT_ADDED, whole);
}

/** Written by a vessel-export that is newer than this one: it is not ours to read, and not ours to replace. */
export function isNewerReceipt({ receiptVersion }: Readonly<Record<string, unknown>>): boolean {
  return isCount(receiptVersion) && (receiptVersion as number) > 1;
}

/** The receipts of the lake, of a job, of one date, or of the dates that begin with `date`, as the store lists them. */
export async function* listReceipts(
  store: Pick<ObjectStore, 'list'>,
  job?: string,
  date?: string,
): AsyncGenerator<ListedObject & { readonly day: VesselDay }> {
  for await (const object of store.list(keyPrefix('receipt', job, date))) {
    const day = parseReceiptKey(object.key);
    if (day !== undefined) yield { ...object, day };
  }
}

/** The receipts of a job on a date, in the order of their vessels: for ledgers of millions. */
export async function listVessels(
  store: Pick<ObjectStore, 'listPages'>,
  job: string,
  date: string,
): Promise<ListedVessel[]> {
  const found: ListedVessel[] = [];
  for await (const page of store.listPages(keyPrefix('receipt', job, date))) {
    for (const { key, sizeBytes, tag } of page) {
      const day = parseReceiptKey(key);
      if (day !== undefined) found.push({ key, vessel: day.vessel, sizeBytes, tag });
    }
  }
  return found;
}

export type ListedVessel = Pick<ListedObject, 'key' | 'sizeBytes' | 'tag'> & Pick<VesselDay, 'vessel'>;

/** What a receipt was read under: by it a later list tells whether it is another one now. */
export type ReceiptVersion = Pick<ListedObject, 'sizeBytes' | 'tag'>;

/** Is a listed receipt still the one that was read? Without a tag nobody can tell. */
export function isSameReceipt(read: ReceiptVersion, listed: ReceiptVersion | undefined): boolean {
  return read.tag !== '' && read.tag === listed?.tag && read.sizeBytes === listed.sizeBytes;
}

/** A twentieth larger than at the usual level, in two fifths of the time: of a small vessel-day the longest step. */
const DETAIL_LEVEL = 4;

interface CountedDetail {
  readonly ours: DayCounts;
  readonly source: DayCounts | null;
  readonly series?: ReadonlyMap<string, string | null>;
  readonly select?: readonly string[];
}

/** A detail as it is stored, and the digest of its text (of the text, not of the gzip bytes, which vary). */
export function packDetail({ ours, source, series, select }: CountedDetail): {
  gzip: Uint8Array;
  sha256: string;
} {
  const names = series && Object.fromEntries([...series].sort(([a], [b]) => (a < b ? -1 : 1)));
  const detail = { ours: ours.toJson(), source: source?.toJson() ?? null, series: names, select };
  const text = `${JSON.stringify(detail)}\n`;
  return { gzip: gzipSync(text, { level: DETAIL_LEVEL }), sha256: hash('sha256', text) };
}

/** A detail is 150 bytes a series and hour at most: this is a hundred times what 1,000 series make. */
const MAX_DETAIL_BYTES = 256 << 20;

/** A stored detail's text and the digest of it, or undefined for bytes that are no gzip. */
export function unpackDetail(gzip: Uint8Array): { text: Uint8Array; sha256: string } | undefined {
  try {
    const text = gunzipSync(gzip, { maxOutputLength: MAX_DETAIL_BYTES });
    return { text, sha256: hash('sha256', text) };
  } catch {
    return undefined;
  }
}

/** The detail that a receipt names, or undefined when it has none or it is not the one the receipt names. */
export async function readDetail(
  store: ObjectStore,
  receipt: Pick<Receipt, 'detail'>,
): Promise<Detail | undefined> {
  return (await findDetail(store, receipt)).detail;
}

/** A detail with the version of what lies in its place; null: nothing. */
export async function findDetail(
  store: ObjectStore,
  { detail }: Pick<Receipt, 'detail'>,
): Promise<{ readonly detail: Detail | undefined; readonly version?: Version | null }> {
  if (detail === null) return { detail: undefined };
  const object = await store.get(detail.key);
  const unpacked = object && unpackDetail(object.bytes);
  const isThat = unpacked?.sha256 === detail.sha256;
  return {
    detail: isThat ? parseDetail(unpacked.text, detail.key) : undefined,
    version: object?.version ?? null,
  };
}

/** What lies in the place of a day's detail where no receipt names one; undefined where it cannot be read. */
export async function readUnnamedDetail(store: ObjectStore, day: VesselDay): Promise<Detail | undefined> {
  const key = detailKey(day);
  const object = await store.get(key);
  const unpacked = object && unpackDetail(object.bytes);
  return unpacked && parseDetail(unpacked.text, key);
}

/** Counts as they should be; undefined for anything else, which verify tells. */
export function parseDetail(text: Uint8Array, key: string): Detail | undefined {
  try {
    return parseFile<Detail>(text, key, DETAIL_ADDED, { needed: DETAIL });
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return undefined;
  }
}

export async function readNote(store: ObjectStore, day: VesselDay): Promise<Note | undefined> {
  const key = noteKey(day);
  const object = await store.get(key);
  return object && cleanNote(parseFile<Note>(object.bytes, key, NOTE_FILE, { day }));
}

/** Throws DataError `damaged-file` for what is no note: nothing else may stand in the lake as one. */
export function noteBytes(note: Note): Uint8Array {
  return jsonBytes(checkedFile<Note>(cleanNote(note), noteKey(note), NOTE_FILE), 2);
}

export async function writeNote(store: ObjectStore, note: Note): Promise<void> {
  await store.put(noteKey(note), noteBytes(note));
}

/** Texts are bounded, whoever wrote them. Older versions called refused what is no refusal. */
function cleanNote(note: Note): Note {
  const state = note.state === 'refused' && !isRefusal(note) ? 'failed' : note.state;
  const [code, at] = [shortName(note.code), shortName(note.at)];
  return { ...note, state, code, message: cleanMessage(note.message), at };
}
