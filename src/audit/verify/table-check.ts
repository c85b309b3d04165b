/** A job's table in a delta lake against receipts and objects: what its log names, and what it says of it. */
import type { FileMetaData } from 'hyparquet';
import { DataError } from '../../core/errors.ts';
import { type Log, type Receipt, systemClock, type VesselDay } from '../../core/model/index.ts';
import { logKeyPrefix, objectPrefix, receiptKey } from '../../lake/keys.ts';
import { expectLog } from '../../lake/publish/table-files.ts';
import { columnsOf } from '../../lake/table/file-footer.ts';
import { faultText, isTableFault } from '../../lake/table/parse-actions.ts';
import { type DatasetColumn, schemaFaults } from '../../lake/table/schema.ts';
import { readStatisticsDigests, statisticsDigest, statisticsText } from '../../lake/table/statistics.ts';
import { openTableView, type TableView } from '../../lake/table/table-view.ts';
import { type Difference, difference, differenceOf, firstFew } from './findings.ts';
import { isWanted, type WalkRange } from './lake-walk.ts';
import type { ReadableStore } from './object-check.ts';

interface TableFile {
  readonly key: string;
  readonly sizeBytes: number;
}

/** A table as verify reads it. */
export interface CheckedTable {
  /** The version that it has come to. */
  readonly version: number;
  /** Vessel-days of the range that it has files of. */
  days(): Iterable<VesselDay>;
  filesOf(day: VesselDay): readonly TableFile[];
  /** What table and receipt say differently of a vessel-day; undefined: there is no receipt. */
  compare(day: VesselDay, receipt: Receipt | undefined): Promise<Difference[]>;
  /** The statistics of a file against its footer. */
  compareStatistics(key: string, footer: FileMetaData): Difference[];
  /** What was found of the table as a whole, by all that was compared. */
  findings(): Difference[];
  /** Come to the newest version. */
  refresh(): Promise<void>;
}

interface TablePorts {
  readonly store: ReadableStore;
  readonly log: Log;
}

/** The table of a job, where its log can be read, and what is wrong with the log. */
export async function openCheckedTable(
  ports: TablePorts,
  range: WalkRange,
): Promise<{ readonly table: CheckedTable | undefined; readonly found: readonly Difference[] }> {
  const { job } = range;
  const where = logKeyPrefix(job);
  try {
    const view = await openTableView({ ...ports, clock: systemClock, prefix: objectPrefix(job) });
    await expectLog(ports.store, job, view);
    if (view.metadata !== undefined) schemaFaults(view.metadata, [], job);
    const digests = new Map<string, string>();
    const fault = view.checkpointFault ?? (await damageOf(readDigests(view, range, digests)));
    const table = checkedTable(ports.store, view, range, digests);
    if (fault === undefined) return { table, found: [] };
    const expected = 'a checkpoint that readers can read';
    return { table, found: [difference('checkpoint-damaged', where, faultText(fault), expected)] };
  } catch (error) {
    if (!isTableFault(error)) throw error;
    const name = error instanceof DataError ? 'log-damaged' : 'table-unsupported';
    const found = difference(name, where, faultText(error), 'a log that vessel-export can read');
    return { table: undefined, found: [found] };
  }
}

async function damageOf(reading: Promise<void>): Promise<DataError | undefined> {
  try {
    await reading;
    return undefined;
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
}

function readDigests(view: TableView, range: WalkRange, digests: Map<string, string>): Promise<void> {
  return readStatisticsDigests(view, digests, (day) => isWanted(range, { job: range.job, ...day }));
}

function checkedTable(
  store: ReadableStore,
  view: TableView,
  range: WalkRange,
  digests: Map<string, string>,
): CheckedTable {
  const { job } = range;
  const prefix = objectPrefix(job);
  /** The columns of the files that were compared. */
  const columns = new Map<string, DatasetColumn>();
  let newest: Receipt | undefined;
  /** Does it name a version that the log does not have? That is told once, of the newest. */
  async function isLost(receipt: Receipt | undefined): Promise<boolean> {
    const version = receipt?.table?.version ?? -1;
    if (version > view.version) await refresh();
    if (version <= view.version) return false;
    if ((newest?.table?.version ?? -1) < version) newest = receipt;
    return true;
  }

  async function refresh(): Promise<void> {
    const entries = await view.refresh();
    if (entries === undefined) await readDigests(view, range, digests);
    for (const { actions } of entries ?? [])
      for (const action of actions)
        if ('add' in action) digests.set(action.add.path, statisticsDigest(action.add.stats));
  }

  const filesOf = ({ vessel, date }: VesselDay): TableFile[] =>
    view.filesOf(vessel, date).map(({ path, sizeBytes }) => ({ key: `${prefix}${path}`, sizeBytes }));

  async function compare(day: VesselDay, receipt: Receipt | undefined): Promise<Difference[]> {
    if (await isLost(receipt)) return [];
    const files = filesOf(day);
    const object = receipt?.object ?? undefined;
    const [file] = files;
    const version = `version ${view.version} of the table`;
    if (file === undefined) {
      if (object === undefined) return [];
      return [difference('not-in-table', object.key, `no file of the day in ${version}`, 'this object')];
    }
    const names = firstFew(files.map(({ key }) => key));
    if (receipt === undefined)
      return [difference('receipt-missing', file.key, `${names} in ${version}, and no receipt`, 'a receipt')];
    for (const { key } of files)
      if (key !== object?.key && (await store.head(key)) === undefined)
        return [difference('table-file-missing', key, 'no object', `a file, as ${version} says`)];
    const expected = object === undefined ? 'no file: 0 rows' : `${object.key}, ${object.sizeBytes} bytes`;
    const isSame = files.length === 1 && file.key === object?.key && file.sizeBytes === object.sizeBytes;
    if (isSame) return [];
    const sizes = firstFew(files.map(({ sizeBytes }) => `${sizeBytes} bytes`));
    const found = `${names}, ${sizes} in ${version}`;
    return [difference('table-differs', file.key, found, `${expected}, as the receipt says`)];
  }

  return {
    get version() {
      return view.version;
    },
    *days() {
      for (const { vessel, date } of view.days()) {
        const day = { job: range.job, vessel, date };
        if (isWanted(range, day)) yield day;
      }
    },
    filesOf,
    compare,
    compareStatistics(key, footer) {
      for (const column of columnsOf(footer, key)) columns.set(`${column.name} ${column.type}`, column);
      const digest = digests.get(key.slice(prefix.length));
      const expected = statisticsText(footer);
      if (digest === undefined || digest === statisticsDigest(expected)) return [];
      return [difference('table-statistics-differ', key, 'other statistics in the log', expected)];
    },
    findings() {
      const where = logKeyPrefix(job);
      const found: Difference[] = [];
      if (newest !== undefined && newest.table!.version > view.version) {
        const expected = `version ${newest.table!.version}, as ${receiptKey(newest)} says`;
        found.push(difference('log-damaged', where, `versions up to ${view.version}`, expected));
      }
      const faults = view.metadata && schemaFaults(view.metadata, [...columns.values()], job);
      return [...found, ...differenceOf('table-schema-differs', where, faults ?? [])];
    },
    refresh,
  };
}
