/**
 * A job's data as a Delta table: what it holds at a version, and the one way to change it. An instance is one view, of
 * one process; what it is asked is done one after the other. Any number of processes may commit to the same table:
 * of those that write the same version one wins, and the others learn what it did before they try again.
 */
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/model/index.ts';
import type { Action } from './actions.ts';
import { cleanLog } from './cleanup.ts';
import type { TableRetention } from './retention.ts';
import { retentionOf, TABLE_RETENTION } from './retention.ts';
import type { TableContent } from './schema.ts';
import { checkTable, extendedMetadata, newTableMetadata, PROTOCOL } from './schema.ts';
import type { TableLogPorts } from './table-log.ts';
import { commitEntry, logTimeMs, NO_VERSION, readLastCheckpoint } from './table-log.ts';
import type { TableView } from './table-view.ts';
import { applyEntry, currentFiles, openView, viewOf } from './table-view.ts';

/** Loaded when a table needs them: a plain lake never does, and they write Parquet of their own. */
const loadCheckpoints = () => import('./checkpoint.ts');

export interface TablePorts extends TableLogPorts {
  readonly log: Log;
  /** Only tests have another. */
  readonly retention?: TableRetention;
}

export interface Table extends TableView {
  /** By our clock, or that of whoever wrote the newest entry where ours is behind: what is removed now is not old at once. */
  nowMs(): number;
  /** As the table's own configuration says. */
  retentionNow(): ReturnType<typeof retentionOf>;
  /**
   * What must be committed before, or with, files of `content`: protocol and columns of a new table, or the columns
   * that are missing, or nothing. Throws RefusedError `table-schema`, FatalError `unsupported-table`.
   */
  preparation(content: TableContent): Action[];
  /**
   * Commit the version after `afterVersion`, which is what the actions were decided upon. True: it is committed, and
   * this view has come to it. False: someone else's version is there, or has come and gone: `refresh`, and decide again.
   * Throws CommitUnknownError when the outcome could not be learned: `refresh` tells.
   */
  commit(afterVersion: number, operation: string, actions: readonly Action[]): Promise<boolean>;
  /** Checkpoint and cleanup, where they are due. Never throws: a table is right without. Commits go on meanwhile. */
  tidy(): Promise<void>;
  /** A checkpoint at this version, due or not; throws what goes wrong. */
  checkpoint(): Promise<void>;
}

/**
 * The table at its newest version. Throws DataError `damaged-log` where its log does not say what the table is,
 * FatalError `unsupported-table` where it needs more than we know.
 */
export async function openTable(ports: TablePorts): Promise<Table> {
  const { clock, log, prefix, retention = TABLE_RETENTION } = ports;
  const view = await openView(ports);
  const { alone } = view;

  async function commit(
    afterVersion: number,
    operation: string,
    actions: readonly Action[],
  ): Promise<boolean> {
    const { state } = view;
    if (afterVersion !== state.version || view.isDoubted) return false;
    const version = afterVersion + 1;
    view.isDoubted = true;
    const outcome = await commitEntry(ports, version, operation, actions);
    view.isDoubted = outcome === 'below';
    if (outcome !== 'committed') return false;
    applyEntry(state, { version, actions });
    return true;
  }

  const retentionNow = () => retentionOf(view.state.metadata, retention);

  /** Of the table as it is at one moment: whoever commits does not wait for it to be written. */
  async function checkpoint(): Promise<void> {
    const newest = await readLastCheckpoint(ports);
    const timeMs = await logTimeMs(ports, view.state.version);
    const { state, base } = await alone(async () => {
      view.state.dropTombstones(timeMs - retentionNow().filesMs);
      // The one that this view began with may have been cleaned away since.
      const isOfUse = newest !== undefined && newest.version !== view.brokenVersion;
      if (isOfUse && newest.version <= view.state.version) view.base = newest;
      return { state: view.state.copy(), base: view.base };
    });
    if (state.version === NO_VERSION) return;
    const { writeCheckpoint } = await loadCheckpoints();
    await writeCheckpoint(ports, state, currentFiles(ports, state, base));
  }

  async function tidy(): Promise<void> {
    const { version } = view.state;
    try {
      const { checkpointDue } = await loadCheckpoints();
      if (!(await checkpointDue(ports, version, retention.checkpointVersions))) return;
      const { entriesMs, faults } = retentionNow();
      if (faults.length > 0) log.warn({ table: prefix, faults }, 'nothing of the table is cleaned up');
      await checkpoint();
      await cleanLog(ports, entriesMs);
    } catch (error) {
      log.warn({ table: prefix, version, error: messageOf(error) }, 'no checkpoint could be written');
    }
  }

  return Object.assign(viewOf(view), {
    preparation(content: TableContent): Action[] {
      const { protocol, metadata } = view.state;
      if (protocol === undefined || metadata === undefined)
        return [{ protocol: PROTOCOL }, { metaData: newTableMetadata(content, clock.nowMs()) }];
      checkTable(content.job, protocol, metadata);
      const metaData = extendedMetadata(metadata, content);
      return metaData === undefined ? [] : [{ metaData }];
    },
    commit: (afterVersion: number, operation: string, actions: readonly Action[]) =>
      alone(() => commit(afterVersion, operation, actions)),
    tidy,
    checkpoint,
    retentionNow,
    nowMs: () => Math.max(clock.nowMs(), view.state.writtenMs),
  });
}

interface PrepareOptions {
  /** Versions that others may win in a row; absent: any number. */
  readonly maxRounds?: number;
  /** Called after a version is seen and before the next one is put. */
  readonly beforeCommit?: () => Promise<void>;
}

/**
 * Make a table, or give it more columns, until it can take files of `content`. False: others have won all rounds. Throws
 * what `preparation` and `commit` throw.
 */
export async function prepareTable(
  table: Pick<Table, 'version' | 'preparation' | 'commit' | 'refresh'>,
  content: TableContent,
  { maxRounds = Number.POSITIVE_INFINITY, beforeCommit }: PrepareOptions = {},
): Promise<boolean> {
  for (let round = 0; ; round++) {
    const actions = table.preparation(content);
    if (actions.length === 0) return true;
    if (round === maxRounds) return false;
    const { version } = table;
    await beforeCommit?.();
    const operation = version < 0 ? 'CREATE TABLE' : 'ADD COLUMNS';
    if (!(await table.commit(version, operation, actions))) await table.refresh();
  }
}
