/**
 * A job's data as a Delta table: what it holds at a version, and the one way to change it. An instance is one view, of
 * one process; what it is asked is done one after the other. Any number of processes may commit to the same table:
 * of those that write the same version one wins, and the others learn what it did before they try again.
 */
import { DataError, messageOf } from '../errors.ts';
import type { Log } from '../model/index.ts';
import type { Action, AddFile, Protocol, TableMetadata } from './actions.ts';
import { damagedLog } from './actions.ts';
import { checkpointDue, writeCheckpoint } from './checkpoint.ts';
import { readCheckpoint } from './checkpoint-read.ts';
import { cleanLog } from './cleanup.ts';
import { logPrefix } from './log-keys.ts';
import type { TableContent } from './schema.ts';
import { checkTable, extendedMetadata, newTableMetadata, PROTOCOL } from './schema.ts';
import type { FoundCheckpoint, LogEntry, TableLogPorts } from './table-log.ts';
import {
  commitEntry,
  entriesAfter,
  listLog,
  missingEntry,
  NO_VERSION,
  readLastCheckpoint,
} from './table-log.ts';
import type { TableFile, Tombstone } from './table-state.ts';
import { TableState } from './table-state.ts';

/** How long files and entries are kept for readers of older versions, and how often a checkpoint is written. */
export interface TableRetention {
  /** A file that was removed from the table stays so long. */
  readonly filesMs: number;
  /** Entries stay so long, even where a checkpoint has what they say. */
  readonly entriesMs: number;
  /** Versions from one checkpoint to the next. */
  readonly checkpointVersions: number;
}

const DAY_MS = 24 * 3_600_000;
export const TABLE_RETENTION: TableRetention = {
  filesMs: 7 * DAY_MS,
  entriesMs: 30 * DAY_MS,
  checkpointVersions: 100,
};

export interface TablePorts extends TableLogPorts {
  readonly log: Log;
  /** Only tests have another. */
  readonly retention?: TableRetention;
}

export interface Table {
  /** The version that this view has come to; NO_VERSION (-1) where there is no table yet. */
  readonly version: number;
  readonly metadata: TableMetadata | undefined;
  readonly protocol: Protocol | undefined;
  readonly fileCount: number;
  /** Files of a vessel-day, at `version`: one at most, unless something is wrong or files were compacted. */
  filesOf(vessel: string, date: string): readonly TableFile[];
  /** Vessel-days with files, at `version`. */
  days(): Iterable<{ readonly vessel: string; readonly date: string; readonly files: readonly TableFile[] }>;
  /** Files that left the table within the retention: readers of older versions may want them. */
  tombstones(): Iterable<Tombstone>;
  /** Every file with its statistics, read again from the log; keeps none. No commit goes on meanwhile. */
  files(): AsyncGenerator<AddFile>;
  /** Come to the newest version; the entries on the way, in order. One request where there are none. */
  refresh(): Promise<readonly LogEntry[]>;
  /**
   * What must be committed before, or with, files of `content`: protocol and columns of a new table, or the columns
   * that are missing, or nothing. Throws RefusedError `table-schema`, FatalError `unsupported-table`.
   */
  preparation(content: TableContent): Action[];
  /**
   * Commit the version after `afterVersion`, which is what the actions were decided upon. True: it is committed, and
   * this view has come to it. False: someone else's version is there: `refresh`, and decide again. Throws
   * CommitUnknownError when the outcome could not be learned: `refresh` tells.
   */
  commit(afterVersion: number, operation: string, actions: readonly Action[]): Promise<boolean>;
  /** Checkpoint and cleanup, where they are due. Never throws: a table is right without. */
  tidy(): Promise<void>;
  /** A checkpoint at this version, due or not; throws what goes wrong. */
  checkpoint(): Promise<void>;
}

/** A view longer out of use begins anew: entries that it would go on from may be gone. */
const MAX_IDLE_MS = DAY_MS;

/**
 * The table at its newest version. Throws DataError `damaged-log` where its log does not say what the table is,
 * FatalError `unsupported-table` where it needs more than we know.
 */
export async function openTable(ports: TablePorts): Promise<Table> {
  const { clock, log, prefix, retention = TABLE_RETENTION } = ports;
  let { state, base } = await load(ports);
  let readMs = clock.monotonicMs();
  let turn: Promise<unknown> = Promise.resolve();
  /** One after the other: what is decided must not change while it is done. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  }

  async function refresh(): Promise<readonly LogEntry[]> {
    if (clock.monotonicMs() - readMs > MAX_IDLE_MS) ({ state, base } = await load(ports));
    const found: LogEntry[] = [];
    for await (const entry of entriesAfter(ports, state.version)) {
      applyEntry(state, entry);
      found.push(entry);
    }
    if (found.length > 0) checkState(ports, state);
    readMs = clock.monotonicMs();
    return found;
  }

  async function commit(
    afterVersion: number,
    operation: string,
    actions: readonly Action[],
  ): Promise<boolean> {
    if (afterVersion !== state.version) return false;
    const version = afterVersion + 1;
    if (!(await commitEntry(ports, version, operation, actions))) return false;
    applyEntry(state, { version, actions });
    return true;
  }

  async function* files(): AsyncGenerator<AddFile> {
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const held = alone(() => {
      begun.resolve();
      return gate.promise;
    });
    await begun.promise;
    try {
      yield* currentFiles(ports, state, base);
    } finally {
      gate.resolve();
      await held;
    }
  }

  async function checkpoint(): Promise<void> {
    if (state.version === NO_VERSION) return;
    state.dropTombstones(clock.nowMs() - retention.filesMs);
    // The one that this view began with may have been cleaned away since.
    const newest = await readLastCheckpoint(ports);
    if (newest !== undefined && newest.version <= state.version) base = newest;
    await writeCheckpoint(ports, state, currentFiles(ports, state, base));
  }

  async function tidy(): Promise<void> {
    try {
      if (!(await checkpointDue(ports, state.version, retention.checkpointVersions))) return;
      await checkpoint();
      await cleanLog(ports, retention.entriesMs);
    } catch (error) {
      log.warn(
        { table: prefix, version: state.version, error: messageOf(error) },
        'no checkpoint could be written',
      );
    }
  }

  return {
    get version() {
      return state.version;
    },
    get metadata() {
      return state.metadata;
    },
    get protocol() {
      return state.protocol;
    },
    get fileCount() {
      return state.fileCount;
    },
    filesOf: (vessel, date) => state.filesOf(vessel, date),
    days: () => state.allDays(),
    tombstones: () => state.tombstones.values(),
    files,
    refresh: () => alone(refresh),
    preparation(content) {
      if (state.protocol === undefined || state.metadata === undefined)
        return [{ protocol: PROTOCOL }, { metaData: newTableMetadata(content, clock.nowMs()) }];
      checkTable(content.job, state.protocol, state.metadata);
      const metaData = extendedMetadata(state.metadata, content);
      return metaData === undefined ? [] : [{ metaData }];
    },
    commit: (afterVersion, operation, actions) => alone(() => commit(afterVersion, operation, actions)),
    tidy: () => alone(tidy),
    checkpoint: () => alone(checkpoint),
  };
}

interface Loaded {
  readonly state: TableState;
  /** The checkpoint that the state began with. */
  readonly base: FoundCheckpoint | undefined;
}

/** By what `_last_checkpoint` says, and where that does not hold by what the log has. */
async function load(ports: TablePorts): Promise<Loaded> {
  const named = await readLastCheckpoint(ports);
  if (named !== undefined) {
    try {
      return await loadFrom(ports, named);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      ports.log.warn(
        { table: ports.prefix, version: named.version, error: messageOf(error) },
        'the last checkpoint is damaged: reading the log without it',
      );
    }
  }
  return await loadFromListing(ports);
}

/** The newest checkpoint that can be read, or the first entry. */
async function loadFromListing(ports: TablePorts): Promise<Loaded> {
  const { entries, checkpoints } = await listLog(ports);
  let fault: unknown;
  for (const checkpoint of checkpoints) {
    try {
      return await loadFrom(ports, checkpoint);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      fault ??= error;
    }
  }
  const first = entries[0];
  if (first !== undefined && first.version > 0) throw fault ?? missingEntry(ports.prefix, 0, first.version);
  return await loadFrom(ports, undefined);
}

async function loadFrom(ports: TablePorts, base: FoundCheckpoint | undefined): Promise<Loaded> {
  const state = new TableState(base?.version ?? NO_VERSION);
  if (base !== undefined)
    for await (const action of readCheckpoint(ports, base, false)) state.apply(action, base.version);
  for await (const entry of entriesAfter(ports, state.version)) applyEntry(state, entry);
  await expectNoGap(ports, state.version);
  if (state.version !== NO_VERSION) checkState(ports, state);
  return { state, base };
}

/** An entry that was taken away would be written anew, under those that are there. */
async function expectNoGap(ports: TablePorts, version: number): Promise<void> {
  const { entries } = await listLog(ports, version + 1);
  const beyond = entries.find((entry) => entry.version > version + 1);
  const next = entries.some((entry) => entry.version === version + 1);
  if (beyond !== undefined && !next) throw missingEntry(ports.prefix, version + 1, beyond.version);
}

function applyEntry(state: TableState, { version, actions }: LogEntry): void {
  for (const action of actions) state.apply(action, version);
  state.version = version;
}

function checkState({ prefix }: TablePorts, { protocol, metadata, version }: TableState): void {
  if (protocol === undefined || metadata === undefined)
    throw damagedLog(
      logPrefix(prefix),
      `no ${protocol === undefined ? 'protocol' : 'metaData'} up to version ${version}`,
      'both in the first entry',
    );
  checkTable(prefix.slice(0, -1), protocol, metadata);
}

/** The files of a state with their statistics, out of the checkpoint that it began with and the entries since. */
async function* currentFiles(
  ports: TablePorts,
  state: TableState,
  base: FoundCheckpoint | undefined,
): AsyncGenerator<AddFile> {
  if (base !== undefined)
    for await (const action of readCheckpoint(ports, base, true))
      if ('add' in action && cameBefore(state.addedIn(action.add), base.version)) yield action.add;
  for await (const { version, actions } of entriesAfter(ports, base?.version ?? NO_VERSION)) {
    if (version > state.version) return;
    for (const action of actions)
      if ('add' in action && state.addedIn(action.add) === version) yield action.add;
  }
}

/** Is a file of a checkpoint still the same? One that left and came again is in an entry after it. */
function cameBefore(addedIn: number | undefined, version: number): boolean {
  return addedIn !== undefined && addedIn <= version;
}
