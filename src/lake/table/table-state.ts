/** What a table is at one version, as far as writers and checks must know it: held small, for there may be a million files. */
import type { Action, AddFile, Protocol, RemoveFile, TableMetadata, Transaction } from './actions.ts';

export interface TableFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** Version of the entry that added it, or of the checkpoint that it was read from. */
  readonly addedIn: number;
}

type DayFiles = TableFile | TableFile[];

/** Names that are never encoded: a partition is the same text as in the path. */
const PARTITION_PATH = /^vessel=(\w+)\/date=([\d-]+)\//;

export class TableState {
  version: number;
  protocol: Protocol | undefined;
  metadata: TableMetadata | undefined;
  fileCount = 0;
  /** When the newest entry that was read was written, by the clock of its writer. */
  writtenMs = 0;
  /** Files that are not of the table any more, and are kept for readers of older versions, by path. */
  readonly tombstones = new Map<string, RemoveFile>();
  readonly transactions = new Map<string, Transaction>();
  /** By vessel and date. Dates are few: each is kept once. */
  private readonly days = new Map<string, Map<string, DayFiles>>();
  private readonly dates = new Map<string, string>();

  constructor(version: number) {
    this.version = version;
  }

  /** Files of a vessel-day: one, unless something is wrong or files were compacted. */
  filesOf(vessel: string, date: string): readonly TableFile[] {
    const files = this.days.get(vessel)?.get(date);
    return files === undefined ? [] : Array.isArray(files) ? files : [files];
  }

  *allDays(): Generator<{ vessel: string; date: string; files: readonly TableFile[] }> {
    for (const [vessel, dates] of this.days)
      for (const date of dates.keys()) yield { vessel, date, files: this.filesOf(vessel, date) };
  }

  /** Version of the entry or checkpoint by which a file has come; undefined where it is none of the table's. */
  addedIn({ path, partitionValues }: AddFile): number | undefined {
    const { vessel, date } = partitionOf(path, partitionValues);
    return this.filesOf(vessel, date).find((file) => file.path === path)?.addedIn;
  }

  apply(action: Action, version: number): void {
    if ('add' in action) this.add(action.add, version);
    else if ('remove' in action) this.remove(action.remove);
    else if ('metaData' in action) this.metadata = action.metaData;
    else if ('protocol' in action) this.protocol = action.protocol;
    else if ('commitInfo' in action) this.writtenMs = action.commitInfo.timestamp;
    else if ('txn' in action) this.transactions.set(action.txn.appId, action.txn);
  }

  /** The same, which does not change when this one does; files themselves never change. */
  copy(): TableState {
    const copy = new TableState(this.version);
    const { protocol, metadata, fileCount } = this;
    Object.assign(copy, { protocol, metadata, fileCount });
    for (const [path, tombstone] of this.tombstones) copy.tombstones.set(path, tombstone);
    for (const [appId, transaction] of this.transactions) copy.transactions.set(appId, transaction);
    for (const [vessel, dates] of this.days) copy.days.set(vessel, new Map(dates));
    return copy;
  }

  /** Forget tombstones older than what is kept for readers. */
  dropTombstones(beforeMs: number): void {
    for (const [path, { deletionTimestamp }] of this.tombstones)
      if (deletionTimestamp < beforeMs) this.tombstones.delete(path);
  }

  private add({ path, partitionValues, size: sizeBytes }: AddFile, version: number): void {
    this.tombstones.delete(path);
    const { vessel, date } = partitionOf(path, partitionValues);
    const others = this.filesOf(vessel, date).filter((file) => file.path !== path);
    this.setFiles(vessel, date, [...others, { path, sizeBytes, addedIn: version }]);
  }

  private remove(file: RemoveFile): void {
    const { path, partitionValues } = file;
    this.tombstones.set(path, file);
    const { vessel, date } = partitionOf(path, partitionValues);
    const files = this.filesOf(vessel, date);
    const kept = files.filter((file) => file.path !== path);
    if (kept.length < files.length) this.setFiles(vessel, date, kept);
  }

  private setFiles(vessel: string, date: string, files: TableFile[]): void {
    let dates = this.days.get(vessel);
    if (dates === undefined) {
      dates = new Map();
      this.days.set(vessel, dates);
    }
    this.fileCount += files.length - this.filesOf(vessel, date).length;
    if (files.length === 0) dates.delete(date);
    else dates.set(this.oneOf(date), files.length === 1 ? files[0]! : files);
    if (dates.size === 0) this.days.delete(vessel);
  }

  private oneOf(date: string): string {
    const known = this.dates.get(date);
    if (known !== undefined) return known;
    this.dates.set(date, date);
    return date;
  }
}

/** The partition that a path of ours names; undefined for any other. */
export function partitionOfPath(path: string): AddFile['partitionValues'] | undefined {
  const named = PARTITION_PATH.exec(path);
  return named === null ? undefined : { vessel: named[1]!, date: named[2]! };
}

/** The values where there are any, as the protocol asks; a `remove` may have none, and then the path tells. */
function partitionOf(path: string, values = partitionOfPath(path)): { vessel: string; date: string } {
  return { vessel: values?.vessel ?? '', date: values?.date ?? '' };
}
