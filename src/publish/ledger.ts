/** Receipts, details and notes: what the lake says of its own vessel-days. */
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { DataError } from '../errors.ts';
import type { CountsJson, Note, Receipt, VesselDay } from '../model/index.ts';
import { detailKey, ledgerPrefix, noteKey, parseReceiptKey, receiptKey } from '../model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { jsonBytes, parseJson } from './json.ts';

/** Counts per series and hour of a published day: what it holds, and what the source said. */
export interface Detail {
  readonly ours: CountsJson;
  readonly source: CountsJson | null;
}

/** The receipt of a vessel-day, or undefined when it was never published. */
export async function readReceipt(store: ObjectStore, day: VesselDay): Promise<Receipt | undefined> {
  const key = receiptKey(day);
  const object = await store.get(key);
  if (object === undefined) return undefined;
  return parseReceipt(object.bytes, key);
}

/** A receipt's file. Throws DataError `damaged-file` or `unknown-receipt-version` naming the key. */
export function parseReceipt(bytes: Uint8Array, key: string): Receipt {
  const receipt = parseJson<Receipt>(bytes, key);
  if (receipt.receiptVersion !== 1) {
    throw new DataError(
      'unknown-receipt-version',
      `${key}: got receiptVersion ${JSON.stringify(receipt.receiptVersion)}, expected 1; a newer vessel-export wrote it: use that one`,
    );
  }
  return receipt;
}

export async function writeReceipt(store: ObjectStore, receipt: Receipt): Promise<void> {
  await store.put(receiptKey(receipt), jsonBytes(receipt));
}

/** A detail as it is stored, and the digest of its text (of the text, not of the gzip bytes, which vary). */
export function packDetail(detail: Detail): { gzip: Uint8Array; sha256: string } {
  const text = jsonBytes(detail);
  return { gzip: gzipSync(text), sha256: createHash('sha256').update(text).digest('hex') };
}

/** The detail that a receipt names, or undefined when it has none or it is not the one the receipt names. */
export async function readDetail(
  store: ObjectStore,
  receipt: Pick<Receipt, 'detail'>,
): Promise<Detail | undefined> {
  if (receipt.detail === null) return undefined;
  const object = await store.get(receipt.detail.key);
  if (object === undefined) return undefined;
  const text = gunzipped(object.bytes);
  if (text === undefined) return undefined;
  const sha256 = createHash('sha256').update(text).digest('hex');
  return sha256 === receipt.detail.sha256 ? parseJson<Detail>(text, receipt.detail.key) : undefined;
}

function gunzipped(bytes: Uint8Array): Uint8Array | undefined {
  try {
    return gunzipSync(bytes);
  } catch {
    return undefined;
  }
}

export async function writeDetail(store: ObjectStore, day: VesselDay, gzip: Uint8Array): Promise<void> {
  await store.put(detailKey(day), gzip);
}

export async function readNote(store: ObjectStore, day: VesselDay): Promise<Note | undefined> {
  const key = noteKey(day);
  const object = await store.get(key);
  return object === undefined ? undefined : parseJson<Note>(object.bytes, key);
}

export async function writeNote(store: ObjectStore, note: Note): Promise<void> {
  await store.put(noteKey(note), jsonBytes(note, 2));
}

export async function removeNote(store: ObjectStore, day: VesselDay): Promise<void> {
  await store.remove(noteKey(day));
}

/** The newest date before `date` on which each vessel has a receipt of the job. */
export async function lastReceiptDates(
  store: ObjectStore,
  job: string,
  date: string,
): Promise<Map<string, string>> {
  const last = new Map<string, string>();
  for await (const { key } of store.list(ledgerPrefix(job))) {
    const day = parseReceiptKey(key);
    if (day === undefined || day.date >= date) continue;
    if (day.date > (last.get(day.vessel) ?? '')) last.set(day.vessel, day.date);
  }
  return last;
}
