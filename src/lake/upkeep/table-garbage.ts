/**
 * Files of a delta lake that no reader needs any more: those that left the table longer ago than its retention, and those of
 * attempts that uploaded and never committed.
 *
 * A file is removed only if no attempt can still commit it. An attempt reads its claim between reading a version and writing
 * the next one (job-table.ts). So three conditions are checked in order, for all files of a job at once: their vessel-days have
 * no claim; the next version is filled; the table still does not have them. An attempt that reads its claim after that finds it
 * gone, and one that read it before has lost its version. No name is used twice, so no later attempt adds them again. The entry
 * that fills the version also gives the store's time, so a clock of this machine that is ahead removes nothing.
 */
import { DataError } from '../../core/errors.ts';
import { type Clock, silentLog, type VesselDay } from '../../core/model/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import { findClaims } from '../claims/claims.ts';
import { orDamage } from '../json.ts';
import { logKeyPrefix, objectPrefix, parseDayFileKey } from '../keys.ts';
import { readReceipt } from '../ledger/ledger.ts';
import { tablePath } from '../publish/table-files.ts';
import { faultText, isTableFault } from '../table/parse-actions.ts';
import { openTable, type Table } from '../table/table.ts';
import { logTimeMs } from '../table/table-log.ts';

const DAY_MS = 86_400_000;

interface TableGarbagePorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** First characters of job names; the lake's own folders begin with others, and are not listed. */
const FIRST_OF_JOB_NAMES = 'abcdefghijklmnopqrstuvwxyz0123456789';

interface DayFile {
  readonly key: string;
  readonly day: VesselDay;
  readonly ageMs: number;
}

/** Files that no version within the retention names, or why a table's files are kept. Files younger than `leastAgeMs` are kept. */
export async function* findTableGarbage(ports: TableGarbagePorts, leastAgeMs: number) {
  const { store, clock } = ports;
  for (const first of FIRST_OF_JOB_NAMES) {
    const files: DayFile[] = [];
    for await (const { key, modifiedMs } of store.list(first)) {
      const day = parseDayFileKey(key);
      const ageMs = clock.nowMs() - modifiedMs;
      if (day !== undefined && ageMs >= leastAgeMs) files.push({ key, day, ageMs });
    }
    for (const [job, ofJob] of Map.groupBy(files, ({ day }) => day.job)) yield* garbageOf(ports, job, ofJob);
  }
}

async function* garbageOf(ports: TableGarbagePorts, job: string, files: readonly DayFile[]) {
  const opened = await openIfSound(ports, job);
  const kept = (why: string) => ({ key: logKeyPrefix(job), why, keep: true, remove: async () => false });
  if (typeof opened === 'string') {
    yield kept(opened);
    return;
  }
  const { filesMs, faults } = opened.retentionNow();
  for (const fault of faults) yield kept(fault);
  const nowMs = ports.clock.nowMs();
  const unnamed: DayFile[] = [];
  for (const file of files)
    if (!isNamed(opened, file, nowMs) && !(await isOfReceipt(ports.store, file))) unnamed.push(file);
  let removable: Promise<ReadonlySet<string>> | undefined;
  for (const { key, day, ageMs } of unnamed) {
    const isClaimed = (await findClaims(ports.store, day)).length > 0;
    const of = Number.isFinite(filesMs) ? ` of the last ${Math.ceil(filesMs / DAY_MS)} days` : '';
    const old = `${Math.floor(ageMs / DAY_MS)} days old, and no version${of} has it`;
    yield {
      key,
      why: isClaimed ? 'an attempt may continue it' : old,
      keep: isClaimed,
      async remove() {
        removable ??= findRemovable(ports, opened, unnamed);
        if (!(await removable).has(key)) return false;
        await ports.store.remove(key);
        return true;
      },
    };
  }
}

/** The table; or why none of its files is touched. */
async function openIfSound({ store, clock }: TableGarbagePorts, job: string): Promise<Table | string> {
  try {
    const table = await openTable({ store, clock, log: silentLog, prefix: objectPrefix(job) });
    return table.version >= 0 ? table : 'there is no log, so it is unknown which files are needed: verify';
  } catch (error) {
    if (!isTableFault(error)) throw error;
    return `it is unknown which files are needed: verify (${faultText(error)})`;
  }
}

function isNamed(table: Table, { key, day }: DayFile, nowMs: number): boolean {
  const path = tablePath(day, key);
  if (table.filesOf(day.vessel, day.date).some((file) => file.path === path)) return true;
  const goneMs = table.tombstones.get(path)?.deletionTimestamp;
  return goneMs !== undefined && goneMs >= nowMs - table.retentionNow().filesMs;
}

/** If a table lacks the object of a receipt, that is damage, which verify finds, and not garbage. An unreadable receipt may name any object. */
async function isOfReceipt(store: ObjectStore, { key, day }: DayFile): Promise<boolean> {
  const receipt = await orDamage(readReceipt(store, day));
  return receipt instanceof DataError || receipt?.object?.key === key;
}

async function findRemovable(
  ports: TableGarbagePorts,
  table: Table,
  files: readonly DayFile[],
): Promise<ReadonlySet<string>> {
  const unclaimed: DayFile[] = [];
  for (const file of files) if ((await findClaims(ports.store, file.day)).length === 0) unclaimed.push(file);
  do await table.refresh();
  while (!(await table.commit(table.version, 'FENCE', [])));
  const prefix = objectPrefix(files[0]!.day.job);
  const nowMs = await logTimeMs({ ...ports, prefix }, table.version);
  const removable = new Set<string>();
  for (const file of unclaimed)
    if (!isNamed(table, file, nowMs) && !(await isOfReceipt(ports.store, file))) removable.add(file.key);
  return removable;
}
