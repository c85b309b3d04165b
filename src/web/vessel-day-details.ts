/** Details of a vessel-day: hours, series with names and units from the lake, and its earlier versions in a table. */
import { shareAnswer } from '../core/concurrency.ts';
import { DataError } from '../core/errors.ts';
import type { CountsJson, Receipt, VesselDay } from '../core/model/index.ts';
import {
  addDays,
  DayCounts,
  dateToMicros,
  formatVesselDay,
  microsToDate,
  microsToIso,
} from '../core/model/index.ts';
import { dayPrefix, objectPrefix, parseDayFileKey, parseDetailKey } from '../lake/keys.ts';
import { type Detail, findDetail } from '../lake/ledger/ledger.ts';
import { lastReceiptDates } from '../lake/ledger/newest-days.ts';
import type { AddFile } from '../lake/table/actions.ts';
import { isTableFault } from '../lake/table/parse-actions.ts';
import { listLog, readEntry } from '../lake/table/table-log.ts';
import { readSeriesOf } from '../query/catalogue/from-lake.ts';
import type { ListedObject, ObjectStore } from '../store/store.ts';
import type { DaySeries, VesselDayAnswer } from './answers.ts';
import type { WebPorts } from './ports.ts';

/** Time series id → its metadata in the newest snapshot. */
type KnownSeries = ReadonlyMap<string, { readonly name: string | null; readonly unit: string | null }>;

/** How long the read of the snapshots is cached: pages of other days need the same. */
const LOOK_MS = 60_000;
const MAX_VESSELS = 20;

/** Series in the newest snapshots of the lake's metadata jobs, cached for a while. Throws what the store throws. */
export function createKnownSeries({ store, jobs, clock, log }: WebPorts) {
  const looks = new Map<string, () => Promise<KnownSeries>>();

  async function look(vessel: string): Promise<KnownSeries> {
    const known = new Map<string, { name: string | null; unit: string | null }>();
    const tomorrow = addDays(microsToDate(clock.nowMs() * 1_000), 1);
    for (const { name: job } of jobs.filter(({ dataset }) => dataset === 'metadata')) {
      const date = (await lastReceiptDates(store, job, tomorrow)).get(vessel);
      if (date === undefined) continue;
      await readSeriesOf({ store, log }, { job, vessel, date }, ({ timeSeriesId, name, names, unit }) => {
        known.set(timeSeriesId, { name: name ?? [...names.values()][0] ?? null, unit: unit || null });
      });
    }
    return known;
  }

  return (vessel: string): Promise<KnownSeries> => {
    const known = looks.get(vessel) ?? shareAnswer(clock, () => look(vessel), LOOK_MS);
    looks.delete(vessel);
    looks.set(vessel, known);
    for (const oldest of looks.keys()) if (looks.size > MAX_VESSELS) looks.delete(oldest);
    return known();
  };
}

/** The detail that a receipt names, if any. Throws DataError `damaged-file`, and what the store throws. */
export async function dayDetail(
  store: WebPorts['store'],
  day: VesselDay,
  receipt: Receipt,
): Promise<Detail | undefined> {
  if (receipt.detail === null) return undefined;
  const { key } = receipt.detail;
  const named = parseDetailKey(key);
  if (named === undefined || formatVesselDay(named) !== formatVesselDay(day)) {
    const text = `the receipt names ${key} as its detail, which is not of this vessel-day`;
    throw new DataError('damaged-file', text);
  }
  const found = await findDetail(store, receipt);
  if (found.detail !== undefined) return found.detail;
  const what = found.version === null ? 'gone' : 'not the one that the receipt names';
  throw new DataError('damaged-file', `${key}: the detail is ${what}; 'vessel-export verify' says more`);
}

export function hoursOf({ ours, source }: Detail): NonNullable<VesselDayAnswer['hours']> {
  return { ours: hourTotals(ours), source: source === null ? null : hourTotals(source) };
}

function hourTotals(counts: CountsJson): number[] {
  const totals = new Array<number>(24).fill(0);
  for (const rows of Object.values(counts)) for (const [hour, count] of rows) totals[hour]! += count;
  return totals;
}

/** Series with the most rows first; selected series without rows last. */
export function seriesOf(date: string, { ours, series = {} }: Detail, known: KnownSeries): DaySeries[] {
  const counts = DayCounts.fromJson(dateToMicros(date), ours);
  const names = new Map<string, unknown>(Object.entries(series));
  const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null);
  const found = [...new Set([...counts.ids(), ...names.keys()])].map((id): DaySeries => {
    const span = counts.seriesSpan(id);
    return {
      id,
      name: textOrNull(names.get(id)) ?? known.get(id)?.name ?? null,
      unit: known.get(id)?.unit ?? null,
      rows: counts.seriesTotal(id),
      firstTimestamp: span === undefined ? null : microsToIso(span.firstMicros),
      lastTimestamp: span === undefined ? null : microsToIso(span.lastMicros),
    };
  });
  return found.sort((a, b) => b.rows - a.rows || ((a.name ?? a.id) < (b.name ?? b.id) ? -1 : 1));
}

type DayVersion = VesselDayAnswer['versions'][number];

/** A file is written shortly before the entry that names it, and clocks of a store are not exact. */
const BEFORE_ENTRY_MS = 10_000;
/** Maximum of entries that are read to find that of a file: days that finish within a second share one. */
const MAX_ENTRIES = 64;
/** Maximum of earlier files of a day that are searched. */
const MAX_FILES = 50;

type ReadStore = Pick<ObjectStore, 'get' | 'getRange' | 'head' | 'list'>;

/** The file that an entry adds for a vessel-day, if any. Throws DataError `damaged-log`. */
export async function fileOfVersion(
  store: Pick<ObjectStore, 'get'>,
  day: VesselDay,
  version: number,
): Promise<(AddFile & { readonly key: string }) | undefined> {
  const prefix = objectPrefix(day.job);
  const entry = await readEntry({ store, prefix }, version);
  for (const action of entry?.actions ?? []) {
    if (!('add' in action)) continue;
    const key = `${prefix}${action.add.path}`;
    const { vessel, date } = action.add.partitionValues;
    if (vessel === day.vessel && date === day.date && isFileOf(day, key)) return { ...action.add, key };
  }
  return undefined;
}

/** Whether an object of this vessel-day may have this key. Anyone may have written a log or receipt. */
export function isFileOf(day: VesselDay, key: string): boolean {
  const parsed = parseDayFileKey(key);
  return parsed !== undefined && formatVesselDay(parsed) === formatVesselDay(day);
}

/** The newest first. Throws what the store throws, and DataError `damaged-log`. */
export async function dayVersions(
  store: ReadStore,
  day: VesselDay,
  receipt: Receipt | undefined,
): Promise<DayVersion[]> {
  const files: ListedObject[] = [];
  for await (const file of store.list(dayPrefix(day))) {
    if (isFileOf(day, file.key)) files.push(file);
    if (files.length === MAX_FILES) break;
  }
  if (files.length === 0) return [];
  const { entries } = await listLog({ store, prefix: objectPrefix(day.job) });
  const found = new Map<string, DayVersion>();
  const looked = new Set<number>();

  async function look(version: number): Promise<void> {
    if (looked.has(version)) return;
    looked.add(version);
    const add = await fileOfVersion(store, day, version).catch((error: unknown) => {
      if (!isTableFault(error)) throw error;
      return undefined;
    });
    if (add === undefined) return;
    const at = new Date(
      entries.find((entry) => entry.version === version)?.modifiedMs ?? add.modificationTime,
    );
    found.set(add.key, {
      version,
      at: at.toISOString(),
      rows: rowsOf(add),
      sizeBytes: add.size,
      isCurrent: add.key === receipt?.object?.key,
    });
  }

  if (receipt?.table !== undefined) await look(receipt.table.version);
  for (const { key, modifiedMs } of files) {
    const after = entries.filter((entry) => entry.modifiedMs >= modifiedMs - BEFORE_ENTRY_MS);
    for (const { version } of after.slice(0, MAX_ENTRIES)) {
      if (found.has(key)) break;
      await look(version);
    }
  }
  return [...found.values()].sort((a, b) => b.version - a.version);
}

function rowsOf({ stats }: AddFile): number | null {
  const count = /"numRecords":(\d{1,15})[,}]/.exec(stats ?? '')?.[1];
  return count === undefined ? null : Number(count);
}
