/**
 * The grammar of keys in a lake: the one place that makes them and takes them apart. Which names of jobs, vessels and
 * dates may stand in a key is the model's rule; a key with any other is none of ours, and parses to undefined.
 */
import { hash } from 'node:crypto';
import { formatVesselDay, isDate, JOB_NAME, VESSEL_ID, type VesselDay } from '../core/model/index.ts';

/** What is kept about vessel-days: `<folder>/<job>/date=<date>/vessel=<vessel><end>`. */
const FOLDERS = {
  receipt: '_ledger',
  detail: '_detail',
  note: '_notes',
  claim: '_checkpoints',
  capture: '_captures',
} as const;

/** A published object's name: its folders say whose it is. */
export const OBJECT_NAME = 'data.parquet';

export const LAKE_KEY = '_lake.json';

export const BACKFILL_PREFIX = '_backfills/';

export const NOTICES_KEY = '_notices/told.json';

const JOB = `(?<job>${inside(JOB_NAME)})`;
const VESSEL = `vessel=(?<vessel>${inside(VESSEL_ID)})`;
const DATE = String.raw`date=(?<date>\d{4}-\d{2}-\d{2})`;
const PATTERNS = {
  object: new RegExp(`^${JOB}/${VESSEL}/${DATE}/${OBJECT_NAME.replace('.', '[.]')}$`),
  tableFile: new RegExp(`^${JOB}/${VESSEL}/${DATE}/[0-9a-f]{16}[.]parquet$`),
  checkpoint: new RegExp(String.raw`^${JOB}/_delta_log/\d{20}[.]checkpoint[.]parquet$`),
  receipt: new RegExp(`^${FOLDERS.receipt}/${JOB}/${DATE}/${VESSEL}[.]json$`),
  detail: new RegExp(`^${FOLDERS.detail}/${JOB}/${DATE}/${VESSEL}[.]json[.]gz$`),
  note: new RegExp(`^${FOLDERS.note}/${JOB}/${DATE}/${VESSEL}[.]json$`),
  capture: new RegExp(`^${FOLDERS.capture}/${JOB}/${DATE}/${VESSEL}[.]json$`),
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

export function logKeyPrefix(job: string): string {
  return `${objectPrefix(job)}_delta_log/`;
}

export function claimPrefix(day: VesselDay): string {
  return `${about('claim', day)}/`;
}

export function dayPrefix({ job, vessel, date }: VesselDay): string {
  return `${job}/vessel=${vessel}/date=${date}/`;
}

export function objectKey(day: VesselDay): string {
  return `${dayPrefix(day)}${OBJECT_NAME}`;
}

/** An object in a delta lake. `unique` tells the uploads of a day apart: a file that a version names is that file for ever. */
export function tableFileKey(day: VesselDay, unique: string): string {
  const name = hash('sha256', `${formatVesselDay(day)}\n${unique}`).slice(0, 16);
  return `${dayPrefix(day)}${name}.parquet`;
}

export const receiptKey = (day: VesselDay) => `${about('receipt', day)}.json`;
export const detailKey = (day: VesselDay) => `${about('detail', day)}.json.gz`;
export const noteKey = (day: VesselDay) => `${about('note', day)}.json`;
export const captureKey = (day: VesselDay) => `${about('capture', day)}.json`;

export function claimKey(day: VesselDay, epoch: number): string {
  return `${claimPrefix(day)}${epoch}.json`;
}

/** What is kept of a job's receipts of a month `YYYY-MM` for faster reading. */
export function indexKey(job: string, month: string): string {
  return `${indexPrefix(job, month)}.parquet`;
}

/** The same of the receipts that one process has written, until a reader has put them into the index. */
export function indexPieceKey(job: string, month: string, name: string): string {
  return `${indexPrefix(job, month)}/${name}.parquet`;
}

export function indexPrefix(job: string, month: string): string {
  return `_index/${job}/${month}`;
}

export function regularRunsKey(job: string): string {
  return `_asked/${job}.json`;
}

export function acceptedKey(job: string, vessel: string): string {
  return `_accepted/${job}/vessel=${vessel}.json`;
}

/** What somebody has accepted of a job: that series go which its `select` does not mean any more. */
export function acceptedSelectKey(job: string): string {
  return `_accepted/${job}/select.json`;
}

export function backfillKey(id: string): string {
  return `${BACKFILL_PREFIX}${id}.json`;
}

export const parseObjectKey = dayParser(PATTERNS.object);
export const parseReceiptKey = dayParser(PATTERNS.receipt);
export const parseDetailKey = dayParser(PATTERNS.detail);
export const parseNoteKey = dayParser(PATTERNS.note);
export const parseCaptureKey = dayParser(PATTERNS.capture);

/** The vessel-day of an object of either layout. */
export function parseDayFileKey(key: string): VesselDay | undefined {
  return parseObjectKey(key) ?? parseDay(PATTERNS.tableFile, key);
}

export function isCheckpointKey(key: string): boolean {
  return PATTERNS.checkpoint.test(key);
}

export function parseClaimKey(key: string): { day: VesselDay; epoch: number } | undefined {
  const day = parseDay(PATTERNS.claim, key);
  return day && { day, epoch: Number(PATTERNS.claim.exec(key)?.groups?.epoch) };
}

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

function dayParser(pattern: RegExp): (key: string) => VesselDay | undefined {
  return (key) => parseDay(pattern, key);
}

function parseDay(pattern: RegExp, key: string): VesselDay | undefined {
  const { job, vessel, date } = pattern.exec(key)?.groups ?? {};
  if (job === undefined || vessel === undefined || date === undefined) return undefined;
  return isDate(date) ? { job, vessel, date } : undefined;
}

function inside({ source }: RegExp): string {
  return source.slice(1, -1);
}
