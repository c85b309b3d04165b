/** Earlier versions of a vessel-day in a delta lake: files that an entry of the table's log still names. */
import { formatVesselDay, type Receipt, type VesselDay } from '../core/model/index.ts';
import { dayPrefix, objectPrefix, parseDayFileKey } from '../lake/keys.ts';
import type { AddFile } from '../lake/table/actions.ts';
import { isTableFault } from '../lake/table/parse-actions.ts';
import { listLog, readEntry } from '../lake/table/table-log.ts';
import type { ListedObject, ObjectStore } from '../store/store.ts';
import type { VesselDayAnswer } from './answers.ts';

type DayVersion = VesselDayAnswer['versions'][number];

/** A file is put a moment before the entry that names it, and clocks of a store are not exact. */
const BEFORE_ENTRY_MS = 10_000;
/** Entries that are read to find the one of a file: days that are finished within a second share one. */
const MAX_ENTRIES = 64;
/** Files that a day may have had: more are not looked for. */
const MAX_FILES = 50;

type ReadStore = Pick<ObjectStore, 'get' | 'getRange' | 'head' | 'list'>;

/** The file by which an entry brought a vessel-day; undefined where it did not. Throws DataError `damaged-log`. */
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

/** Is it a name that an object of this vessel-day may have? A log or receipt may have been written by anybody. */
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
    const at = new Date(entries.find((entry) => entry.version === version)?.modifiedMs ?? add.modifiedMs);
    found.set(add.key, {
      version,
      at: at.toISOString(),
      rows: rowsOf(add),
      sizeBytes: add.sizeBytes,
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

/** As the entry's statistics say. */
function rowsOf({ stats }: AddFile): number | null {
  const count = /"numRecords":(\d{1,15})[,}]/.exec(stats ?? '')?.[1];
  return count === undefined ? null : Number(count);
}
