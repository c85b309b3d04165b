/** Which vessel-days of a job there is something of: receipts, objects, details. */
import type { VesselDay } from '../model/index.ts';
import {
  datesBetween,
  isDate,
  ledgerPrefix,
  parseClaimKey,
  parseReceiptKey,
  VESSEL_ID,
} from '../model/index.ts';
import type { ReadableStore } from './object-check.ts';

export interface WalkRange {
  readonly job: string;
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** Empty: all. */
  readonly vessels: readonly string[];
}

export interface LakeDays {
  /** By vessel and then date. */
  readonly days: readonly VesselDay[];
  readonly strays: readonly StrayFiles[];
}

/** Files of one folder among the objects of a job that are no day's object, and that readers do not skip. */
export interface StrayFiles {
  readonly folder: string;
  readonly names: readonly string[];
  /** What the folder's path tells. */
  readonly vessel?: string;
  readonly date?: string;
}

/**
 * Every vessel-day of the range that has a receipt, an object or a detail. Holds two short texts for each of them,
 * and the names of strays.
 */
export async function walkDays(store: ReadableStore, range: WalkRange): Promise<LakeDays> {
  const { job } = range;
  const strays = new Map<string, string[]>();
  const found = new Map<string, Set<string>>();
  const add = (vessel: string, date: string) => {
    if (!isWanted(range, vessel, date)) return;
    const dates = found.get(vessel) ?? new Set();
    found.set(vessel, dates.add(date));
  };
  for (const date of datePrefixes(range)) {
    for await (const { key } of store.list(`${ledgerPrefix(job)}date=${date}`)) {
      const day = parseReceiptKey(key);
      if (day !== undefined) add(day.vessel, day.date);
    }
    for await (const { key } of store.list(`_detail/${job}/date=${date}`)) {
      const [, day, vessel] = DETAIL_KEY.exec(key) ?? [];
      if (vessel !== undefined && day !== undefined) add(vessel, day);
    }
  }
  for (const prefix of objectPrefixes(range)) {
    for await (const { key } of store.list(prefix)) {
      const [, vessel, date] = OBJECT_KEY.exec(key) ?? [];
      if (vessel !== undefined && date !== undefined && isDate(date)) add(vessel, date);
      else if (!isSkippedByReaders(key)) {
        const folder = key.slice(0, key.lastIndexOf('/'));
        const names = strays.get(folder) ?? [];
        names.push(key.slice(folder.length + 1));
        strays.set(folder, names);
      }
    }
  }
  const days = [...found.keys()]
    .sort()
    .flatMap((vessel) => [...found.get(vessel)!].sort().map((date) => ({ job, vessel, date })));
  return { days, strays: [...strays].map(toStrays).filter((one) => isStrayWanted(range, one)) };
}

/** Hidden names, and the empty objects that some tools make in the place of folders. */
function isSkippedByReaders(key: string): boolean {
  return key.endsWith('/') || key.split('/').some((segment) => /^[._]/.test(segment));
}

function toStrays([folder, names]: [folder: string, names: string[]]): StrayFiles {
  const vessel = /\/vessel=(IMO\d{7})(?:\/|$)/.exec(folder)?.[1];
  const date = /\/date=(\d{4}-\d{2}-\d{2})(?:\/|$)/.exec(folder)?.[1];
  return {
    folder,
    names,
    ...(vessel === undefined ? {} : { vessel }),
    ...(date === undefined || !isDate(date) ? {} : { date }),
  };
}

/** Those of other dates are for whoever verifies those; those of no date are everybody's. */
function isStrayWanted({ from, to }: WalkRange, { date }: StrayFiles): boolean {
  return date === undefined || (date >= from && date < to);
}

const OBJECT_KEY = /^[^/]+\/vessel=(IMO\d{7})\/date=(\d{4}-\d{2}-\d{2})\/data\.parquet$/;
const DETAIL_KEY = /^_detail\/[^/]+\/date=(\d{4}-\d{2}-\d{2})\/vessel=(IMO\d{7})\.json\.gz$/;

/** What the dates of a range begin with, in few texts: each is a list of its own. */
function datePrefixes({ from, to }: WalkRange): string[] {
  const dates = datesBetween(from, to);
  return dates.length <= MAX_DATE_LISTS ? dates : [...new Set(dates.map((date) => date.slice(0, 7)))];
}

const MAX_DATE_LISTS = 7;

/** Objects are ordered by vessel first: without vessels to look for, those of all dates are listed. */
function objectPrefixes({ job, vessels }: WalkRange): string[] {
  return vessels.length === 0 ? [`${job}/`] : vessels.map((vessel) => `${job}/vessel=${vessel}/`);
}

function isWanted({ from, to, vessels }: WalkRange, vessel: string, date: string): boolean {
  if (!isDate(date) || !VESSEL_ID.test(vessel)) return false;
  return date >= from && date < to && (vessels.length === 0 || vessels.includes(vessel));
}

/** Vessel-days of the range with a claim, by key. */
export async function walkClaims(store: ReadableStore, range: WalkRange): Promise<VesselDay[]> {
  const days = new Map<string, VesselDay>();
  for await (const { key } of store.list(`_checkpoints/${range.job}/`)) {
    const claim = parseClaimKey(key);
    if (claim !== undefined && isWanted(range, claim.day.vessel, claim.day.date))
      days.set(`${claim.day.vessel}/${claim.day.date}`, claim.day);
  }
  return [...days.values()];
}

/** Open uploads of the range: no damage, since nobody sees them. */
export async function walkUploads(
  store: ReadableStore,
  range: WalkRange,
): Promise<{ day: VesselDay; startedMs: number }[]> {
  const uploads: { day: VesselDay; startedMs: number }[] = [];
  for (const prefix of objectPrefixes(range)) {
    for await (const { key, startedMs } of store.listUploads(prefix)) {
      const [, vessel, date] = OBJECT_KEY.exec(key) ?? [];
      if (vessel !== undefined && date !== undefined && isWanted(range, vessel, date))
        uploads.push({ day: { job: range.job, vessel, date }, startedMs });
    }
  }
  return uploads;
}
