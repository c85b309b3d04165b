/**
 * The grammar of keys in a lake: the one place that makes them and takes them apart. Which names of jobs, vessels and
 * dates may stand in a key is the model's rule; a key with any other is none of ours, and parses to undefined.
 */
import type { VesselDay } from '../model/index.ts';
import { isDate, JOB_NAME, VESSEL_ID } from '../model/index.ts';

/** What is kept about vessel-days: `<folder>/<job>/date=<date>/vessel=<vessel><end>`. */
const FOLDERS = { receipt: '_ledger', detail: '_detail', note: '_notes', claim: '_checkpoints' } as const;

/** A published object's name: its folders say whose it is. */
export const OBJECT_NAME = 'data.parquet';

/** Definitions of backfills begin with this. */
export const BACKFILL_PREFIX = '_backfills/';

/** What a fleet has told of its troubles. */
export const NOTICES_KEY = '_notices/told.json';

const JOB = `(?<job>${inside(JOB_NAME)})`;
const VESSEL = `vessel=(?<vessel>${inside(VESSEL_ID)})`;
const DATE = String.raw`date=(?<date>\d{4}-\d{2}-\d{2})`;
const PATTERNS = {
  object: new RegExp(`^${JOB}/${VESSEL}/${DATE}/${OBJECT_NAME.replace('.', '[.]')}$`),
  receipt: new RegExp(`^${FOLDERS.receipt}/${JOB}/${DATE}/${VESSEL}[.]json$`),
  detail: new RegExp(`^${FOLDERS.detail}/${JOB}/${DATE}/${VESSEL}[.]json[.]gz$`),
  note: new RegExp(`^${FOLDERS.note}/${JOB}/${DATE}/${VESSEL}[.]json$`),
  claim: new RegExp(String.raw`^${FOLDERS.claim}/${JOB}/${DATE}/${VESSEL}/(?<epoch>0|[1-9]\d{0,14})[.]json$`),
  backfill: new RegExp(`^${BACKFILL_PREFIX}(?<id>[a-z0-9][a-z0-9_-]{0,99})[.]json$`),
  vesselFolder: new RegExp(`(?:^|/)${VESSEL}(?:/|$)`),
  dateFolder: new RegExp(`(?:^|/)${DATE}(?:/|$)`),
};

/** All keys of a kind begin with this; those of a job; those of the dates that begin with `date` (`2026-01`). */
export function keyPrefix(kind: keyof typeof FOLDERS, job?: string, date?: string): string {
  if (job === undefined) return `${FOLDERS[kind]}/`;
  if (date === undefined) return `${FOLDERS[kind]}/${job}/`;
  return `${FOLDERS[kind]}/${job}/date=${date}${isDate(date) ? '/' : ''}`;
}

/** All objects of a job begin with this, or those of one of its vessels. */
export function objectPrefix(job: string, vessel?: string): string {
  return vessel === undefined ? `${job}/` : `${job}/vessel=${vessel}/`;
}

/** All claims of a vessel-day begin with this. */
export function claimPrefix(day: VesselDay): string {
  return `${about('claim', day)}/`;
}

/** The published object of a vessel-day. */
export function objectKey({ job, vessel, date }: VesselDay): string {
  return `${job}/vessel=${vessel}/date=${date}/${OBJECT_NAME}`;
}

export function receiptKey(day: VesselDay): string {
  return `${about('receipt', day)}.json`;
}

export function detailKey(day: VesselDay): string {
  return `${about('detail', day)}.json.gz`;
}

export function noteKey(day: VesselDay): string {
  return `${about('note', day)}.json`;
}

export function claimKey(day: VesselDay, epoch: number): string {
  return `${claimPrefix(day)}${epoch}.json`;
}

/** What is kept of a job's receipts of a month `YYYY-MM` for faster reading. */
export function indexKey(job: string, month: string): string {
  return `_index/${job}/${month}.ndjson.gz`;
}

/** What somebody has accepted of a vessel. */
export function acceptedKey(job: string, vessel: string): string {
  return `_accepted/${job}/vessel=${vessel}.json`;
}

export function backfillKey(id: string): string {
  return `${BACKFILL_PREFIX}${id}.json`;
}

export function parseObjectKey(key: string): VesselDay | undefined {
  return parseDay(PATTERNS.object, key);
}

export function parseReceiptKey(key: string): VesselDay | undefined {
  return parseDay(PATTERNS.receipt, key);
}

export function parseDetailKey(key: string): VesselDay | undefined {
  return parseDay(PATTERNS.detail, key);
}

export function parseNoteKey(key: string): VesselDay | undefined {
  return parseDay(PATTERNS.note, key);
}

export function parseClaimKey(key: string): { day: VesselDay; epoch: number } | undefined {
  const day = parseDay(PATTERNS.claim, key);
  return day && { day, epoch: Number(PATTERNS.claim.exec(key)?.groups?.epoch) };
}

/** The id of a backfill's key. */
export function parseBackfillKey(key: string): string | undefined {
  return PATTERNS.backfill.exec(key)?.groups?.id;
}

/** The vessel and the date that the folders of any key name, whatever file lies there. */
export function parsePartitions(key: string): { readonly vessel?: string; readonly date?: string } {
  const vessel = PATTERNS.vesselFolder.exec(key)?.groups?.vessel;
  const date = PATTERNS.dateFolder.exec(key)?.groups?.date;
  return { ...(vessel && { vessel }), ...(date && isDate(date) && { date }) };
}

function about(kind: keyof typeof FOLDERS, { job, vessel, date }: VesselDay): string {
  return `${FOLDERS[kind]}/${job}/date=${date}/vessel=${vessel}`;
}

function parseDay(pattern: RegExp, key: string): VesselDay | undefined {
  const { job, vessel, date } = pattern.exec(key)?.groups ?? {};
  if (job === undefined || vessel === undefined || date === undefined) return undefined;
  return isDate(date) ? { job, vessel, date } : undefined;
}

/** What a pattern says between its two ends. */
function inside({ source }: RegExp): string {
  return source.slice(1, -1);
}
