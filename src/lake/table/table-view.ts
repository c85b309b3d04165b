/** What a table holds at a version, read from its log: for those who only read, and for those who commit (table.ts). */
import { DataError, messageOf } from '../../core/errors.ts';
import type { Clock, Log } from '../../core/model/index.ts';
import type { Action, AddFile, TableMetadata } from './actions.ts';
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
import type { TableFile, Tombstone } from './table-state.ts';
import { TableState } from './table-state.ts';

interface TableViewPorts extends TableReadPorts {
  readonly clock: Clock;
  readonly log: Log;
}

/** A table for those who only read. */
export interface TableView {
  /** The version that this view has come to; NO_VERSION (-1) where there is no table yet. */
  readonly version: number;
  readonly metadata: TableMetadata | undefined;
  readonly fileCount: number;
  /** Files of a vessel-day, at `version`: one at most, unless something is wrong or files were compacted. */
  filesOf(vessel: string, date: string): readonly TableFile[];
  /** Vessel-days with files, at `version`. */
  days(): Iterable<{ readonly vessel: string; readonly date: string; readonly files: readonly TableFile[] }>;
  /** Files that left the table within the retention: readers of older versions may want them. */
  tombstones(): Iterable<Tombstone>;
  tombstoneOf(path: string): Tombstone | undefined;
  /** Every file with its statistics, read again from the log; keeps none. No commit goes on meanwhile. */
  files(): AsyncGenerator<AddFile>;
  /** Why `_last_checkpoint`, or the checkpoint that it names, could not be read; the view does without. */
  readonly checkpointFault: DataError | undefined;
  /**
   * Come to the newest version; the entries on the way, in order, or undefined where the view began anew. Two requests
   * where there are none.
   */
  refresh(): Promise<readonly LogEntry[] | undefined>;
}

/** A view longer out of use, by either clock, begins anew: entries that it would go on from may be gone. */
const MAX_IDLE_MS = 24 * 3_600_000;

/** The same for those who only read: nothing is written. */
export async function openTableView(ports: TableViewPorts): Promise<TableView> {
  return viewOf(await openView(ports));
}

/** What a view is about, and its turns: what is decided must not change while it is done. */
interface OpenView extends Loaded {
  readonly ports: TableViewPorts;
  /** When the log was last read to its end, by the monotonic clock and by the other, which a sleeping machine does not stop. */
  read: readonly [monotonicMs: number, nowMs: number];
  /** The log may have something else: the next look begins anew, and nothing is committed before. */
  isDoubted: boolean;
  alone<T>(work: () => Promise<T>): Promise<T>;
}

export async function openView(ports: TableViewPorts): Promise<OpenView> {
  let turn: Promise<unknown> = Promise.resolve();
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  };
  return { ...(await load(ports)), ports, read: timesOf(ports), isDoubted: false, alone };
}

function timesOf({ clock }: TableViewPorts): OpenView['read'] {
  return [clock.monotonicMs(), clock.nowMs()];
}

export function viewOf(view: OpenView): TableView {
  return {
    get version() {
      return view.state.version;
    },
    get metadata() {
      return view.state.metadata;
    },
    get fileCount() {
      return view.state.fileCount;
    },
    get checkpointFault() {
      return view.checkpointFault;
    },
    filesOf: (vessel, date) => view.state.filesOf(vessel, date),
    days: () => view.state.allDays(),
    tombstones: () => view.state.tombstones.values(),
    tombstoneOf: (path) => view.state.tombstones.get(path),
    files: () => filesInTurn(view),
    refresh: () => view.alone(() => refresh(view)),
  };
}

async function refresh(view: OpenView): Promise<readonly LogEntry[] | undefined> {
  const times = timesOf(view.ports);
  const isIdle = times.some((ms, i) => Math.abs(ms - view.read[i]!) > MAX_IDLE_MS);
  const isOfUse = !isIdle && !view.isDoubted;
  // Also where this throws: a table that cannot be read is not written to.
  view.isDoubted = true;
  const found = isOfUse ? await readNewer(view) : undefined;
  if (found === undefined) Object.assign(view, await load(view.ports));
  Object.assign(view, { isDoubted: false, read: times });
  return found;
}

/** The entries that have come since; undefined where that cannot be told from this view. */
async function readNewer({ ports, state }: OpenView): Promise<readonly LogEntry[] | undefined> {
  const found: LogEntry[] = [];
  try {
    for await (const entry of applyNewer(ports, state)) found.push(entry);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return undefined;
  }
  // Below a checkpoint versions may have been cleaned away: that looks as though nobody had come to them yet.
  return (await isBelowCheckpoint(ports, state.version)) ? undefined : found;
}

/** Nothing else is done with the view until the last file is taken. */
async function* filesInTurn(view: OpenView): AsyncGenerator<AddFile> {
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = view.alone(() => {
    begun.resolve();
    return over.promise;
  });
  await begun.promise;
  try {
    for await (const files of currentFiles(view.ports, view.state, view.base)) yield* files;
  } finally {
    over.resolve();
    await held;
  }
}

interface Loaded {
  state: TableState;
  /** A checkpoint that the state goes on from. */
  base: FoundCheckpoint | undefined;
  checkpointFault?: DataError | undefined;
  /** Of the checkpoint that is named, and could not be read. */
  brokenVersion?: number | undefined;
}

/** In place of what a view knew before. */
const SOUND = { checkpointFault: undefined, brokenVersion: undefined };

/** By what `_last_checkpoint` says, and where that does not hold by what the log has. */
async function load(ports: TableViewPorts): Promise<Loaded> {
  const named = await findLastCheckpoint(ports);
  if (named === undefined || named instanceof DataError)
    return { ...SOUND, ...(await loadFromListing(ports)), checkpointFault: named };
  try {
    return { ...SOUND, ...(await loadFrom(ports, named)) };
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
    return { ...loaded, checkpointFault: error, brokenVersion: named.version };
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

/** Loaded when there is a checkpoint to read: a plain lake has none. */
const loadReader = () => import('./checkpoint-read.ts');

async function loadFrom(ports: TableViewPorts, base: FoundCheckpoint | undefined): Promise<Loaded> {
  const state = new TableState(base?.version ?? NO_VERSION);
  if (base !== undefined) {
    const { readCheckpoint } = await loadReader();
    for await (const actions of readCheckpoint(ports, base, false))
      for (const action of actions) state.apply(action, base.version);
  }
  if (base !== undefined) checkState(ports, state);
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

/**
 * The files of a state with their statistics, out of the checkpoint that it began with and the entries since: those of a
 * row group or an entry at a time.
 */
export async function* currentFiles(
  ports: TableViewPorts,
  state: TableState,
  base: FoundCheckpoint | undefined,
): AsyncGenerator<AddFile[]> {
  const filesWhere = (actions: readonly Action[], isCurrent: (addedIn: number | undefined) => boolean) =>
    actions.flatMap((action) =>
      'add' in action && isCurrent(state.addedIn(action.add)) ? [action.add] : [],
    );
  if (base !== undefined) {
    const { readCheckpoint } = await loadReader();
    for await (const actions of readCheckpoint(ports, base, true))
      yield filesWhere(actions, (addedIn) => cameBefore(addedIn, base.version));
  }
  for await (const { version, actions } of entriesAfter(ports, base?.version ?? NO_VERSION)) {
    if (version > state.version) return;
    yield filesWhere(actions, (addedIn) => addedIn === version);
  }
}

/** Is a file of a checkpoint still the same? One that left and came again is in an entry after it. */
function cameBefore(addedIn: number | undefined, version: number): boolean {
  return addedIn !== undefined && addedIn <= version;
}
