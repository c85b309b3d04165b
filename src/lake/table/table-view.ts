/** What a table holds at a version, read from its log: for those who only read, and for those who commit (table.ts). */
import { DataError, messageOf } from '../../core/errors.ts';
import type { Clock, Log } from '../../core/model/index.ts';
import type { Action, AddFile, RemoveFile, TableMetadata } from './actions.ts';
import { readCheckpoint } from './checkpoint-read.ts';
import { lastCheckpointKey, logPrefix } from './log-keys.ts';
import { damagedLog, unsupportedTable } from './parse-actions.ts';
import { checkTable } from './schema.ts';
import type { FoundCheckpoint, LogEntry, TableReadPorts } from './table-log.ts';
import {
  entriesAfter,
  expectEntry,
  findLastCheckpoint,
  isBelowCheckpoint,
  listLog,
  missingEntry,
  NO_VERSION,
  readLastCheckpoint,
} from './table-log.ts';
import { type TableFile, TableState } from './table-state.ts';

interface TableViewPorts extends TableReadPorts {
  readonly clock: Clock;
  readonly log: Log;
}

interface Loaded {
  readonly state: TableState;
  readonly base: FoundCheckpoint | undefined;
  /** Why `_last_checkpoint`, or the checkpoint that it names, could not be read. */
  readonly fault?: DataError | undefined;
  readonly brokenVersion?: number | undefined;
}

/** A view longer out of use, by either clock, begins anew: entries that it would go on from may be gone. */
const MAX_IDLE_MS = 24 * 3_600_000;

/** A table for those who only read; table.ts has the one for those who commit. */
export async function openTableView(ports: TableViewPorts): Promise<TableView> {
  const view = new TableView(ports);
  await view.refresh();
  return view;
}

/** What a table holds at a version. What it is asked is done one after the other: what is decided must not change meanwhile. */
export class TableView {
  protected loaded: Loaded = { state: new TableState(NO_VERSION), base: undefined };
  /** The log may have something else: the next look begins anew, and nothing is committed before. */
  protected isDoubted = true;
  readonly #ports: TableViewPorts;
  /** When the log was last read to its end, by the monotonic clock and by the other, which a sleeping machine does not stop. */
  #readAt: readonly number[] = [0, 0];
  #turn: Promise<unknown> = Promise.resolve();

  /** Knows nothing before the first `refresh`. */
  constructor(ports: TableViewPorts) {
    this.#ports = ports;
  }

  /** The version that this view has come to; NO_VERSION (-1) where there is no table yet. */
  get version(): number {
    return this.loaded.state.version;
  }

  get metadata(): TableMetadata | undefined {
    return this.loaded.state.metadata;
  }

  get fileCount(): number {
    return this.loaded.state.fileCount;
  }

  /** Why `_last_checkpoint`, or the checkpoint that it names, could not be read; the view does without. */
  get checkpointFault(): DataError | undefined {
    return this.loaded.fault;
  }

  /** Files of a vessel-day, at `version`: one at most, unless something is wrong or files were compacted. */
  filesOf(vessel: string, date: string): readonly TableFile[] {
    return this.loaded.state.filesOf(vessel, date);
  }

  days(): ReturnType<TableState['allDays']> {
    return this.loaded.state.allDays();
  }

  /** Files that left the table within the retention, by path: readers of older versions may want them. */
  get tombstones(): ReadonlyMap<string, RemoveFile> {
    return this.loaded.state.tombstones;
  }

  /** Every file with its statistics, read again from the log; keeps none. Nothing else is done with the view meanwhile. */
  async *files(): AsyncGenerator<AddFile> {
    const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held = this.alone(() => {
      begun.resolve();
      return over.promise;
    });
    await begun.promise;
    try {
      for await (const files of currentFiles(this.#ports, this.loaded)) yield* files;
    } finally {
      over.resolve();
      await held;
    }
  }

  /**
   * Come to the newest version; the entries on the way, in order, or undefined where the view began anew. Two requests
   * where there are none. Throws DataError `damaged-log` where the log does not say what the table is, FatalError
   * `unsupported-table` where it needs more than we know.
   */
  refresh(): Promise<readonly LogEntry[] | undefined> {
    return this.alone(async () => {
      const { clock } = this.#ports;
      const now = [clock.monotonicMs(), clock.nowMs()];
      const isIdle = now.some((ms, i) => Math.abs(ms - this.#readAt[i]!) > MAX_IDLE_MS);
      const isOfUse = !isIdle && !this.isDoubted;
      // Also where this throws: a table that cannot be read is not written to.
      this.isDoubted = true;
      const found = isOfUse ? await this.#readNewer() : undefined;
      if (found === undefined) this.loaded = await load(this.#ports);
      this.isDoubted = false;
      this.#readAt = now;
      return found;
    });
  }

  /** The entries that have come since; undefined where that cannot be told from this view. */
  async #readNewer(): Promise<readonly LogEntry[] | undefined> {
    const found: LogEntry[] = [];
    const { state } = this.loaded;
    try {
      for await (const entry of applyNewer(this.#ports, state)) found.push(entry);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      return undefined;
    }
    // Below a checkpoint versions may have been cleaned away: that looks as though nobody had come to them yet.
    return (await isBelowCheckpoint(this.#ports, state.version)) ? undefined : found;
  }

  protected alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }
}

/** Load what `_last_checkpoint` names, and where that does not hold what the log has. */
async function load(ports: TableViewPorts): Promise<Loaded> {
  const named = await findLastCheckpoint(ports);
  if (named === undefined || named instanceof DataError)
    return { ...(await loadFromListing(ports)), fault: named };
  try {
    return await loadFrom(ports, named);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    // It may have been cleaned away while it was read: then another one is named.
    if ((await readLastCheckpoint(ports))?.version !== named.version) return await load(ports);
    ports.log.warn(
      { table: ports.prefix, version: named.version, error: messageOf(error) },
      'the last checkpoint is damaged: reading the log without it',
    );
    const loaded = await loadFromListing(ports);
    const { version } = loaded.state;
    // It is written after the entry of its version.
    if (version < named.version)
      throw damagedLog(
        lastCheckpointKey(ports.prefix),
        `version ${named.version}`,
        `no version beyond ${version}, the last that is there: the newest entries are lost`,
      );
    return { ...loaded, fault: error, brokenVersion: named.version };
  }
}

/** The newest checkpoint that can be read, or the first entry. */
async function loadFromListing(ports: TableViewPorts): Promise<Loaded> {
  const { entries, checkpoints, hasNewer } = await listLog(ports);
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
  if (hasNewer && first?.version !== 0)
    throw unsupportedTable(
      logPrefix(ports.prefix),
      'checkpoints of a newer protocol',
      'those of protocol 1/2',
    );
  if (first !== undefined && first.version > 0) throw fault ?? missingEntry(ports.prefix, 0, first.version);
  return await loadFrom(ports, undefined);
}

async function loadFrom(ports: TableViewPorts, base: FoundCheckpoint | undefined): Promise<Loaded> {
  const state = new TableState(base?.version ?? NO_VERSION);
  if (base !== undefined) {
    for await (const actions of readCheckpoint(ports, base, false))
      for (const action of actions) state.apply(action, base.version);
    checkState(ports, state);
  }
  for await (const _ of applyNewer(ports, state));
  await expectNoGap(ports, state.version);
  if (state.version !== NO_VERSION) checkState(ports, state);
  return { state, base };
}

/** An entry that was taken away would be written anew, under those that are there. */
async function expectNoGap(ports: TableViewPorts, version: number): Promise<void> {
  const { entries } = await listLog(ports, version + 1);
  const beyond = entries.find((entry) => entry.version > version + 1);
  const next = entries.some((entry) => entry.version === version + 1);
  if (beyond !== undefined && !next) await expectEntry(ports, version + 1, beyond.version);
}

export function applyEntry(state: TableState, { version, actions }: LogEntry): void {
  for (const action of actions) state.apply(action, version);
  state.version = version;
}

/** The entries that have come since, applied in turn; the first that makes the table what we do not know is the last. */
async function* applyNewer(ports: TableViewPorts, state: TableState): AsyncGenerator<LogEntry> {
  for await (const entry of entriesAfter(ports, state.version)) {
    applyEntry(state, entry);
    if (entry.actions.some((action) => 'protocol' in action || 'metaData' in action))
      checkState(ports, state);
    yield entry;
  }
}

function checkState(ports: TableViewPorts, { protocol, metadata, version }: TableState): void {
  if (protocol === undefined || metadata === undefined)
    throw damagedLog(
      logPrefix(ports.prefix),
      `no ${protocol === undefined ? 'protocol' : 'metaData'} up to version ${version}`,
      'both in the first entry',
    );
  checkTable(ports.prefix.slice(0, -1), protocol, metadata);
}

/** The files of a state with statistics, from its checkpoint and the entries since, a row group or an entry at a time. */
export async function* currentFiles(
  ports: TableViewPorts,
  { state, base }: Pick<Loaded, 'state' | 'base'>,
): AsyncGenerator<AddFile[]> {
  const filesWhere = (actions: readonly Action[], isCurrent: (addedIn: number | undefined) => boolean) =>
    actions.flatMap((action) =>
      'add' in action && isCurrent(state.addedIn(action.add)) ? [action.add] : [],
    );
  if (base !== undefined) {
    // One that left and came again is in an entry after it.
    for await (const actions of readCheckpoint(ports, base, true))
      yield filesWhere(actions, (addedIn) => addedIn !== undefined && addedIn <= base.version);
  }
  for await (const { version, actions } of entriesAfter(ports, base?.version ?? NO_VERSION)) {
    if (version > state.version) return;
    yield filesWhere(actions, (addedIn) => addedIn === version);
  }
}
