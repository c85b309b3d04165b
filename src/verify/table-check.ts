/** A job's table in a delta lake against receipts and objects: what its log names, and what it says of it. */
import type { FileMetaData } from 'hyparquet';
import { DataError, FatalError, messageOf } from '../errors.ts';
import { logKeyPrefix, objectPrefix } from '../lake/keys.ts';
import type { Log, Receipt, VesselDay } from '../model/index.ts';
import { systemClock } from '../model/index.ts';
import { statisticsText } from '../table/statistics.ts';
import { readStatisticsDigests, statisticsDigest } from '../table/statistics-digests.ts';
import { openTableView, type TableView } from '../table/table-view.ts';
import type { Difference } from './findings.ts';
import { firstFew } from './findings.ts';
import type { WalkRange } from './lake-walk.ts';
import { isWanted } from './lake-walk.ts';
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
  /** Come to the newest version. */
  refresh(): Promise<void>;
}

interface TablePorts {
  readonly store: ReadableStore;
  readonly log: Log;
}

/** The table of a job, or what is wrong with its log. */
export async function openCheckedTable(
  ports: TablePorts,
  range: WalkRange,
): Promise<CheckedTable | Difference> {
  const prefix = objectPrefix(range.job);
  try {
    const view = await openTableView({ ...ports, clock: systemClock, prefix });
    const digests = await readStatisticsDigests(view, (day) => isWanted(range, { job: range.job, ...day }));
    return checkedTable(ports.store, view, range, digests);
  } catch (error) {
    const isDamage =
      error instanceof DataError || (error instanceof FatalError && error.code === 'unsupported-table');
    if (!isDamage) throw error;
    return {
      name: 'log-damaged',
      where: logKeyPrefix(range.job),
      found: messageOf(error),
      expected: 'a log that readers can read',
    };
  }
}

function checkedTable(
  store: ReadableStore,
  view: TableView,
  range: WalkRange,
  digests: Map<string, string>,
): CheckedTable {
  const prefix = objectPrefix(range.job);
  const filesOf = ({ vessel, date }: VesselDay): TableFile[] =>
    view.filesOf(vessel, date).map(({ path, sizeBytes }) => ({ key: `${prefix}${path}`, sizeBytes }));

  async function compare(day: VesselDay, receipt: Receipt | undefined): Promise<Difference[]> {
    const files = filesOf(day);
    const object = receipt?.object ?? undefined;
    const [file] = files;
    if (file === undefined) return object === undefined ? [] : [notInTable(object.key)];
    const version = `version ${view.version} of the table`;
    const names = firstFew(files.map(({ key }) => key));
    if (receipt === undefined)
      return [
        {
          name: 'receipt-missing',
          where: file.key,
          found: `${names} in ${version}, and no receipt`,
          expected: 'a receipt',
        },
      ];
    for (const { key } of files)
      if (key !== object?.key && (await store.head(key)) === undefined)
        return [
          {
            name: 'table-file-missing',
            where: key,
            found: 'no object',
            expected: `a file, as ${version} says`,
          },
        ];
    const expected = object === undefined ? 'no file: 0 rows' : `${object.key}, ${object.sizeBytes} bytes`;
    const isSame = files.length === 1 && file.key === object?.key && file.sizeBytes === object.sizeBytes;
    if (isSame) return [];
    const sizes = firstFew(files.map(({ sizeBytes }) => `${sizeBytes} bytes`));
    return [
      {
        name: 'table-differs',
        where: file.key,
        found: `${names}, ${sizes} in ${version}`,
        expected: `${expected}, as the receipt says`,
      },
    ];
  }

  function notInTable(key: string): Difference {
    return {
      name: 'not-in-table',
      where: key,
      found: `no file of the day in version ${view.version} of the table`,
      expected: 'this object',
    };
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
      const digest = digests.get(key.slice(prefix.length));
      const expected = statisticsText(footer);
      if (digest === undefined || digest === statisticsDigest(expected)) return [];
      return [
        { name: 'table-statistics-differ', where: key, found: 'other statistics in the log', expected },
      ];
    },
    async refresh() {
      for (const { actions } of await view.refresh())
        for (const action of actions)
          if ('add' in action) digests.set(action.add.path, statisticsDigest(action.add.stats));
    },
  };
}
