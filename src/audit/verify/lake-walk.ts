/** Which vessel-days of a job there is something of: receipts, objects, details. */
import { datesBetween, type VesselDay } from '../../core/model/index.ts';
import {
  keyPrefix,
  objectPrefix,
  parseDetailKey,
  parseObjectKey,
  parsePartitions,
  parseReceiptKey,
} from '../../lake/keys.ts';
import type { ReadableStore } from './object-check.ts';

export interface WalkRange {
  readonly job: string;
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** Empty: all. */
  readonly vessels: readonly string[];
}

/** Every date that a lake can have. */
export const ALL_DATES = { from: '1970-01-01', to: '2200-01-01' };

interface LakeDays {
  /** By vessel and then date; made as they are taken. */
  readonly days: Iterable<VesselDay>;
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
 * and the names of strays. In a delta lake the job's `table` says which objects there are, and nobody reads others.
 */
export async function walkDays(
  store: ReadableStore,
  range: WalkRange,
  table?: { days(): Iterable<VesselDay> },
): Promise<LakeDays> {
  const { job } = range;
  const strays = new Map<string, string[]>();
  const found = new Map<string, Set<string>>();
  const add = (day: VesselDay | undefined) => {
    if (day === undefined || !isWanted(range, day)) return;
    found.set(day.vessel, (found.get(day.vessel) ?? new Set()).add(day.date));
  };
  for (const date of datePrefixes(range)) {
    for await (const { key } of store.list(keyPrefix('receipt', job, date))) add(parseReceiptKey(key));
    for await (const { key } of store.list(keyPrefix('detail', job, date))) add(parseDetailKey(key));
  }
  for (const day of table?.days() ?? []) add(day);
  for (const prefix of table === undefined ? objectPrefixes(range) : []) {
    for await (const { key } of store.list(prefix)) {
      const day = parseObjectKey(key);
      if (day !== undefined) add(day);
      else if (!isSkippedByReaders(key)) {
        const folder = key.slice(0, key.lastIndexOf('/'));
        const names = strays.get(folder) ?? [];
        names.push(key.slice(folder.length + 1));
        strays.set(folder, names);
      }
    }
  }
  const days = {
    *[Symbol.iterator]() {
      for (const vessel of [...found.keys()].sort())
        for (const date of [...found.get(vessel)!].sort()) yield { job, vessel, date };
    },
  };
  const files = [...strays].map(([folder, names]) => ({ folder, names, ...parsePartitions(folder) }));
  return { days, strays: files.filter((stray) => isStrayWanted(range, stray)) };
}

/** Hidden names, and the empty objects that some tools make in the place of folders. */
function isSkippedByReaders(key: string): boolean {
  return key.endsWith('/') || key.split('/').some((segment) => /^[._]/.test(segment));
}

/** Strays below another date are left to whoever verifies that date; those below none are always told of. */
function isStrayWanted({ from, to }: WalkRange, { date }: StrayFiles): boolean {
  return date === undefined || (date >= from && date < to);
}

/** What the dates of a range begin with, in few texts: each is a list of its own. */
function datePrefixes({ from, to }: WalkRange): string[] {
  const dates = datesBetween(from, to);
  if (dates.length <= MAX_DATE_LISTS) return dates;
  const months = [...new Set(dates.map((date) => date.slice(0, 7)))];
  return months.length <= MAX_MONTH_LISTS ? months : [''];
}

const MAX_DATE_LISTS = 7;
const MAX_MONTH_LISTS = 120;

/** Objects are ordered by vessel first: without vessels to look for, those of all dates are listed. */
export function objectPrefixes({ job, vessels }: WalkRange): string[] {
  return vessels.length === 0 ? [objectPrefix(job)] : vessels.map((vessel) => objectPrefix(job, vessel));
}

export function isWanted({ from, to, vessels }: WalkRange, { vessel, date }: VesselDay): boolean {
  return date >= from && date < to && (vessels.length === 0 || vessels.includes(vessel));
}

/** What the ledger has of a job. */
export interface JobExtent {
  readonly vessels: Set<string>;
  /** UTC dates. */
  first: string;
  last: string;
}

/** What the ledger has, by job, whether or not there is a job file of that name. */
export async function walkLedger(store: Pick<ReadableStore, 'list'>): Promise<Map<string, JobExtent>> {
  const extents = new Map<string, JobExtent>();
  for await (const { key } of store.list(keyPrefix('receipt'))) {
    const day = parseReceiptKey(key);
    if (day === undefined) continue;
    const { job, vessel, date } = day;
    const extent = extents.get(job) ?? { vessels: new Set(), first: date, last: date };
    extents.set(job, extent);
    extent.vessels.add(vessel);
    if (date < extent.first) extent.first = date;
    if (date > extent.last) extent.last = date;
  }
  return extents;
}
