/**
 * A job's data as a Delta table: what it holds at a version, and the one way to change it. Any number of processes may
 * commit to the same table: of those that write the same version one wins, and the others learn what it did before they try
 * again.
 */
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/model/index.ts';
import type { Action } from './actions.ts';
import { checkpointDue, writeCheckpoint } from './checkpoint.ts';
import { cleanLog, retentionOf, TABLE_RETENTION, type TableRetention } from './retention.ts';
import { checkTable, extendedMetadata, newTableMetadata, PROTOCOL, type TableContent } from './schema.ts';
import { commitEntry, logTimeMs, NO_VERSION, readLastCheckpoint, type TableLogPorts } from './table-log.ts';
import { applyEntry, currentFiles, TableView } from './table-view.ts';

export interface TablePorts extends TableLogPorts {
  readonly log: Log;
  readonly retention?: TableRetention;
}

/** The table at its newest version. Throws as `refresh`. */
export async function openTable(ports: TablePorts): Promise<Table> {
  const table = new Table(ports);
  await table.refresh();
  return table;
}

export class Table extends TableView {
  readonly #ports: TablePorts;

  constructor(ports: TablePorts) {
    super(ports);
    this.#ports = ports;
  }

  /** By our clock, or that of whoever wrote the newest entry where ours is behind: what is removed now is not old at once. */
  nowMs(): number {
    return Math.max(this.#ports.clock.nowMs(), this.loaded.state.writtenMs);
  }

  retentionNow(): ReturnType<typeof retentionOf> {
    return retentionOf(this.metadata, this.#ports.retention ?? TABLE_RETENTION);
  }

  /**
   * What must be committed before, or with, files of `content`: protocol and columns of a new table, or the columns
   * that are missing, or nothing. Throws RefusedError `table-schema`, FatalError `unsupported-table`.
   */
  preparation(content: TableContent): Action[] {
    const { protocol, metadata } = this.loaded.state;
    if (protocol === undefined || metadata === undefined)
      return [{ protocol: PROTOCOL }, { metaData: newTableMetadata(content, this.#ports.clock.nowMs()) }];
    checkTable(content.job, protocol, metadata);
    const metaData = extendedMetadata(metadata, content);
    return metaData === undefined ? [] : [{ metaData }];
  }

  /**
   * Commit the version after `afterVersion`, which is what the actions were decided upon. True: it is committed, and
   * this view has come to it. False: someone else's version is there, or has come and gone: `refresh`, and decide again.
   * Throws CommitUnknownError when the outcome could not be learned: `refresh` tells.
   */
  commit(afterVersion: number, operation: string, actions: readonly Action[]): Promise<boolean> {
    return this.alone(async () => {
      const { state } = this.loaded;
      if (afterVersion !== state.version || this.isDoubted) return false;
      const version = afterVersion + 1;
      this.isDoubted = true;
      const outcome = await commitEntry(this.#ports, version, operation, actions);
      this.isDoubted = outcome === 'below';
      if (outcome !== 'committed') return false;
      applyEntry(state, { version, actions });
      return true;
    });
  }

  /** A checkpoint at this version, due or not, of the table at one moment: commits do not wait. Throws what goes wrong. */
  async checkpoint(): Promise<void> {
    const ports = this.#ports;
    const newest = await readLastCheckpoint(ports);
    const timeMs = await logTimeMs(ports, this.version);
    const copy = await this.alone(async () => {
      const { state, brokenVersion } = this.loaded;
      state.dropTombstones(timeMs - this.retentionNow().filesMs);
      // The one that this view began with may have been cleaned away since.
      const isOfUse = newest !== undefined && newest.version !== brokenVersion;
      if (isOfUse && newest.version <= state.version) this.loaded = { ...this.loaded, base: newest };
      return { state: state.copy(), base: this.loaded.base };
    });
    if (copy.state.version === NO_VERSION) return;
    await writeCheckpoint(ports, copy.state, currentFiles(ports, copy));
  }

  /** Checkpoint and cleanup, where they are due. Never throws: a table is right without. Commits go on meanwhile. */
  async tidy(): Promise<void> {
    const { version } = this;
    const { log, prefix } = this.#ports;
    try {
      const { entriesMs, faults, checkpointVersions } = this.retentionNow();
      if (!(await checkpointDue(this.#ports, version, checkpointVersions))) return;
      if (faults.length > 0) log.warn({ table: prefix, faults }, 'nothing of the table is cleaned up');
      await this.checkpoint();
      await cleanLog(this.#ports, entriesMs);
    } catch (error) {
      log.warn({ table: prefix, version, error: messageOf(error) }, 'no checkpoint could be written');
    }
  }
}

/**
 * Make a table, or give it more columns, until it can take files of `content`. False: others have won `maxRounds` versions in
 * a row. `beforeCommit` is called after a version is seen and before the next one is put. Throws what `preparation` and
 * `commit` throw.
 */
export async function prepareTable(
  table: Pick<Table, 'version' | 'preparation' | 'commit' | 'refresh'>,
  content: TableContent,
  { maxRounds = Infinity, beforeCommit = async () => {} } = {},
): Promise<boolean> {
  for (let round = 0; ; round++) {
    const actions = table.preparation(content);
    if (actions.length === 0) return true;
    if (round === maxRounds) return false;
    const { version } = table;
    await beforeCommit();
    const operation = version < 0 ? 'CREATE TABLE' : 'ADD COLUMNS';
    if (!(await table.commit(version, operation, actions))) await table.refresh();
  }
}
