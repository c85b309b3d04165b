/** Which vessel-days of a job there is something of: receipts, objects, details; and attempts and uploads that are under way or were left. */
import { datesBetween, type VesselDay } from '../../core/model/index.ts';
import type { DayRange } from '../../core/plan/due.ts';
import { isEnded } from '../../lake/claims/claim.ts';
import { claimedDays, type FoundClaim, findClaims } from '../../lake/claims/claims.ts';
import { unlessDamaged } from '../../lake/json.ts';
import {
  dayPrefix,
  keyPrefix,
  objectPrefix,
  parseDayFileKey,
  parseDetailKey,
  parseObjectKey,
  parsePartitions,
} from '../../lake/keys.ts';
import { listReceipts, readReceipt } from '../../lake/ledger/ledger.ts';
import type { ObjectStore } from '../../store/store.ts';

/** I4: the part of a store that verify is given. Nothing in it writes. */
export type ReadableStore = Pick<
  ObjectStore,
  'url' | 'get' | 'getRange' | 'head' | 'list' | 'listUploads' | 'publishedBy'
>;

/** Without vessels: all of them. */
export interface WalkRange extends DayRange {
  readonly job: string;
}

export const ALL_DATES = { from: '1970-01-01', to: '2200-01-01' };

/** Files of one folder among the objects of a job that are no day's object, and that readers do not skip. */
export interface StrayFiles {
  readonly folder: string;
  readonly names: readonly string[];
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
): Promise<{ readonly days: Iterable<VesselDay>; readonly strays: readonly StrayFiles[] }> {
  const { job } = range;
  const strays = new Map<string, string[]>();
  const found = new Map<string, Set<string>>();
  const add = (day: VesselDay | undefined) => {
    if (day === undefined || !isWanted(range, day)) return;
    found.set(day.vessel, (found.get(day.vessel) ?? new Set()).add(day.date));
  };
  for (const date of datePrefixes(range)) {
    for await (const { day } of listReceipts(store, job, date)) add(day);
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
  // Strays below another date are left to whoever verifies that date; those below none are always told of.
  const isTold = ({ date = range.from }: StrayFiles) => date >= range.from && date < range.to;
  return { days, strays: files.filter(isTold) };
}

/** Hidden names, and the empty objects that some tools make in the place of folders. */
function isSkippedByReaders(key: string): boolean {
  return key.endsWith('/') || key.split('/').some((segment) => /^[._]/.test(segment));
}

const MAX_DATE_LISTS = 7;
const MAX_MONTH_LISTS = 120;

/** What the dates of a range begin with, in few texts: each is a list of its own. */
function datePrefixes({ from, to }: WalkRange): string[] {
  const dates = datesBetween(from, to);
  if (dates.length <= MAX_DATE_LISTS) return dates;
  const months = [...new Set(dates.map((date) => date.slice(0, 7)))];
  return months.length <= MAX_MONTH_LISTS ? months : [''];
}

/** Objects are ordered by vessel first: without vessels to look for, those of all dates are listed. */
function objectPrefixes({ job, vessels }: WalkRange): string[] {
  return vessels.length === 0 ? [objectPrefix(job)] : vessels.map((vessel) => objectPrefix(job, vessel));
}

export function isWanted({ from, to, vessels }: WalkRange, { vessel, date }: VesselDay): boolean {
  return date >= from && date < to && (vessels.length === 0 || vessels.includes(vessel));
}

export interface JobExtent {
  readonly vessels: Set<string>;
  first: string;
  last: string;
}

/** What the ledger has, by job, whether or not there is a job file of that name. */
export async function walkLedger(store: Pick<ReadableStore, 'list'>): Promise<Map<string, JobExtent>> {
  const extents = new Map<string, JobExtent>();
  for await (const { day } of listReceipts(store)) {
    const { job, vessel, date } = day;
    const extent = extents.get(job) ?? { vessels: new Set(), first: date, last: date };
    extents.set(job, extent);
    extent.vessels.add(vessel);
    if (date < extent.first) extent.first = date;
    if (date > extent.last) extent.last = date;
  }
  return extents;
}

/** Every vessel-day of the range with a claim, or with an open upload that no claim explains, in one sentence. */
export async function* describeUnfinished(
  store: ReadableStore,
  range: WalkRange,
): AsyncGenerator<{ day: VesselDay; text: string }> {
  const claimed = new Set<string>();
  for (const day of await claimedDays(store, range.job)) {
    const newest = isWanted(range, day) ? (await findClaims(store, day))[0] : undefined;
    if (newest === undefined || isEnded(newest, await unlessDamaged(readReceipt(store, day)))) continue;
    claimed.add(dayPrefix(day));
    yield { day, text: describeClaim(newest) };
  }
  for (const prefix of objectPrefixes(range)) {
    for await (const { key, startedMs } of store.listUploads(prefix)) {
      const day = parseDayFileKey(key);
      if (day === undefined || !isWanted(range, day) || claimed.has(dayPrefix(day))) continue;
      const begun = new Date(startedMs).toISOString();
      yield { day, text: `an upload without a claim, begun at ${begun}; gc removes it` };
    }
  }
}

/** `attempt 3 was last alive at 2026-01-06T06:20:00.000Z` */
function describeClaim({ epoch, file }: FoundClaim): string {
  if (file?.heartbeatMs === undefined) return `attempt ${epoch} has a claim that cannot be read`;
  const alive =
    file.heartbeatMs === 0
      ? 'gave the day back; the next run goes on'
      : `was last alive at ${new Date(file.heartbeatMs).toISOString()}`;
  return `attempt ${epoch} ${alive}${file.sealed ? '; it has verified the day and publishes it' : ''}`;
}
