/** Reading and writing receipts, details and notes, the lake's records of its vessel-days. */

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

/** Counts per series and hour of a published day: ours and the source's. */
export interface Detail {
  readonly ours: CountsJson;
  readonly source: CountsJson | null;
  /** Time series id → name of each series that was selected, with readings or without; absent in older ones. */
  readonly series?: Readonly<Record<string, string | null>>;
  /** The job's `select`; absent in older ones. */
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

/** It was written by a newer vessel-export: this version must neither read nor replace it. */
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

/** Size and tag with which a receipt was read: a later list shows whether it was replaced. */
export type ReceiptVersion = Pick<ListedObject, 'sizeBytes' | 'tag'>;

/** Whether a listed receipt is still the one that was read; false without a tag, because then it is unknown. */
export function isSameReceipt(read: ReceiptVersion, listed: ReceiptVersion | undefined): boolean {
  return read.tag !== '' && read.tag === listed?.tag && read.sizeBytes === listed.sizeBytes;
}

/** 5 % larger than at the default level, in 40 % of the time: for a small vessel-day this is the longest step. */
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

/** A detail has at most 150 bytes per series and hour: this is a hundred times the size for 1,000 series. */
const MAX_DETAIL_BYTES = 256 << 20;

/** A stored detail's text and its digest; undefined if the bytes are no gzip. */
export function unpackDetail(gzip: Uint8Array): { text: Uint8Array; sha256: string } | undefined {
  try {
    const text = gunzipSync(gzip, { maxOutputLength: MAX_DETAIL_BYTES });
    return { text, sha256: hash('sha256', text) };
  } catch {
    return undefined;
  }
}

/** The detail that a receipt names; undefined if there is none, or if it is another one. */
export async function readDetail(
  store: ObjectStore,
  receipt: Pick<Receipt, 'detail'>,
): Promise<Detail | undefined> {
  return (await findDetail(store, receipt)).detail;
}

/** A detail with the version of the object at its key; null: there is none. */
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

/** The detail at a day's key that no receipt names; undefined if it cannot be read. */
export async function readUnnamedDetail(store: ObjectStore, day: VesselDay): Promise<Detail | undefined> {
  const key = detailKey(day);
  const object = await store.get(key);
  const unpacked = object && unpackDetail(object.bytes);
  return unpacked && parseDetail(unpacked.text, key);
}

/** Valid counts; undefined for anything else, which verify reports. */
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

/** Throws DataError `damaged-file` for an invalid note, so that none is written to the lake. */
export function noteBytes(note: Note): Uint8Array {
  return jsonBytes(checkedFile<Note>(cleanNote(note), noteKey(note), NOTE_FILE), 2);
}

export async function writeNote(store: ObjectStore, note: Note): Promise<void> {
  await store.put(noteKey(note), noteBytes(note));
}

/** Texts are bounded, because anyone may have written them. Older versions used `refused` for failures that are no refusals. */
function cleanNote(note: Note): Note {
  const state = note.state === 'refused' && !isRefusal(note) ? 'failed' : note.state;
  const [code, at] = [shortName(note.code), shortName(note.at)];
  return { ...note, state, code, message: cleanMessage(note.message), at };
}
