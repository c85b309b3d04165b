/** A job's table in a delta lake against receipts and objects: what its log names, and what it says of it. */
import type { FileMetaData } from 'hyparquet';
import { DataError } from '../../core/errors.ts';
import { type Log, type Receipt, systemClock, type VesselDay } from '../../core/model/index.ts';
import { orDamage } from '../../lake/json.ts';
import { logKeyPrefix, objectPrefix, receiptKey } from '../../lake/keys.ts';
import { expectLog, tablePath } from '../../lake/publish/table-files.ts';
import { columnsOf } from '../../lake/table/file-footer.ts';
import { faultText, isTableFault } from '../../lake/table/parse-actions.ts';
import { type DatasetColumn, schemaFaults } from '../../lake/table/schema.ts';
import { readStatisticsDigests, statisticsDigest, statisticsText } from '../../lake/table/statistics.ts';
import { openTableView, type TableView } from '../../lake/table/table-view.ts';
import { type Difference, difference, differenceOf, firstFew } from './findings.ts';
import { isWanted, type ReadableStore, type WalkRange } from './lake-walk.ts';

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
    const table = new CheckedTable(ports.store, view, range);
    const fault = view.checkpointFault ?? (await orDamage(table.readDigests()));
    if (!(fault instanceof DataError)) return { table, found: [] };
    const expected = 'a checkpoint that readers can read';
    return { table, found: [difference('checkpoint-damaged', where, faultText(fault), expected)] };
  } catch (error) {
    if (!isTableFault(error)) throw error;
    const name = error instanceof DataError ? 'log-damaged' : 'table-unsupported';
    const found = difference(name, where, faultText(error), 'a log that vessel-export can read');
    return { table: undefined, found: [found] };
  }
}

export class CheckedTable {
  readonly #store: ReadableStore;
  readonly #view: TableView;
  readonly #range: WalkRange;
  /** Of what the log says of the rows of each file, by path. */
  readonly #digests = new Map<string, string>();
  /** The columns of the files that were compared. */
  readonly #columns = new Map<string, DatasetColumn>();
  /** The newest receipt that names a version which the log does not have: that is told once. */
  #newest: Receipt | undefined;

  constructor(store: ReadableStore, view: TableView, range: WalkRange) {
    this.#store = store;
    this.#view = view;
    this.#range = range;
  }

  get version(): number {
    return this.#view.version;
  }

  *days(): Generator<VesselDay> {
    for (const { vessel, date } of this.#view.days()) {
      const day = { job: this.#range.job, vessel, date };
      if (isWanted(this.#range, day)) yield day;
    }
  }

  filesOf({ vessel, date }: VesselDay): { readonly key: string; readonly sizeBytes: number }[] {
    const prefix = objectPrefix(this.#range.job);
    return this.#view
      .filesOf(vessel, date)
      .map(({ path, sizeBytes }) => ({ key: `${prefix}${path}`, sizeBytes }));
  }

  /** Throws DataError where the log has files that cannot be read. */
  readDigests(): Promise<void> {
    const { job } = this.#range;
    return readStatisticsDigests(this.#view, this.#digests, (day) => isWanted(this.#range, { job, ...day }));
  }

  async refresh(): Promise<void> {
    const entries = await this.#view.refresh();
    if (entries === undefined) await this.readDigests();
    for (const { actions } of entries ?? [])
      for (const action of actions)
        if ('add' in action) this.#digests.set(action.add.path, statisticsDigest(action.add.stats));
  }

  async #isLost(receipt: Receipt | undefined): Promise<boolean> {
    const version = receipt?.table?.version ?? -1;
    if (version > this.version) await this.refresh();
    if (version <= this.version) return false;
    if ((this.#newest?.table?.version ?? -1) < version) this.#newest = receipt;
    return true;
  }

  /** What table and receipt say differently of a vessel-day; undefined: there is no receipt. */
  async compare(day: VesselDay, receipt: Receipt | undefined): Promise<Difference[]> {
    if (await this.#isLost(receipt)) return [];
    const files = this.filesOf(day);
    const object = receipt?.object ?? undefined;
    const [file] = files;
    const version = `version ${this.version} of the table`;
    if (file === undefined) {
      if (object === undefined) return [];
      return [difference('not-in-table', object.key, `no file of the day in ${version}`, 'this object')];
    }
    const names = firstFew(files.map(({ key }) => key));
    if (receipt === undefined)
      return [difference('receipt-missing', file.key, `${names} in ${version}, and no receipt`, 'a receipt')];
    for (const { key } of files)
      if (key !== object?.key && (await this.#store.head(key)) === undefined)
        return [difference('table-file-missing', key, 'no object', `a file, as ${version} says`)];
    const expected = object === undefined ? 'no file: 0 rows' : `${object.key}, ${object.sizeBytes} bytes`;
    const isSame = files.length === 1 && file.key === object?.key && file.sizeBytes === object.sizeBytes;
    if (isSame) return [];
    const sizes = firstFew(files.map(({ sizeBytes }) => `${sizeBytes} bytes`));
    const found = `${names}, ${sizes} in ${version}`;
    return [difference('table-differs', file.key, found, `${expected}, as the receipt says`)];
  }

  compareStatistics(key: string, footer: FileMetaData): Difference[] {
    for (const column of columnsOf(footer, key)) this.#columns.set(`${column.name} ${column.type}`, column);
    const digest = this.#digests.get(tablePath(this.#range, key));
    const expected = statisticsText(footer);
    if (digest === undefined || digest === statisticsDigest(expected)) return [];
    return [difference('table-statistics-differ', key, 'other statistics in the log', expected)];
  }

  /** What was found of the table as a whole, by all that was compared. */
  findings(): Difference[] {
    const { job } = this.#range;
    const where = logKeyPrefix(job);
    const found: Difference[] = [];
    if (this.#newest !== undefined && this.#newest.table!.version > this.version) {
      const expected = `version ${this.#newest.table!.version}, as ${receiptKey(this.#newest)} says`;
      found.push(difference('log-damaged', where, `versions up to ${this.version}`, expected));
    }
    const { metadata } = this.#view;
    const faults = metadata && schemaFaults(metadata, [...this.#columns.values()], job);
    return [...found, ...differenceOf('table-schema-differs', where, faults ?? [])];
  }
}
