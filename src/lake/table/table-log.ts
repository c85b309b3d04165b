/**
 * The log of a table as files: one entry a version, put where there is none, so that of any number of writers one wins
 * each version; and the checkpoints that spare a reader the entries before them. What entries mean is table.ts's.
 */

import { CommitUnknownError, DataError, RetriableError, shortName } from '../../core/errors.ts';
import type { Clock } from '../../core/model/index.ts';
import { uniqueId } from '../../core/unique-id.ts';
import { expectConditionalPut, type ListedObject, type ObjectStore } from '../../store/store.ts';
import { type Action, formatActions } from './actions.ts';
import { entryKey, lastCheckpointKey, logPrefix, parseLogKey, versionsPrefix } from './log-keys.ts';
import { damagedLog, parseActions } from './parse-actions.ts';

export const NO_VERSION = -1;

/** An entry that readers take in whole, without trouble: some 10,000 files. */
const MAX_ENTRY_BYTES = 16 << 20;
/** Tries of a commit whose answer was lost; each is read before the next is written. */
const COMMIT_TRIES = 5;
const MAX_LANES = 4;

export interface TableReadPorts {
  readonly store: Pick<ObjectStore, 'get' | 'getRange' | 'head' | 'list'>;
  /** All files of the table begin with this: `<job>/`. */
  readonly prefix: string;
}

export interface TableLogPorts extends TableReadPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

export interface LogEntry {
  readonly version: number;
  readonly actions: readonly Action[];
}

export interface FoundCheckpoint {
  readonly version: number;
  /** Files that it is made of. */
  readonly parts: number;
}

interface LogListing {
  readonly entries: readonly (Omit<ListedObject, 'tag'> & { readonly version: number })[];
  /** Whole ones, the newest first. */
  readonly checkpoints: readonly FoundCheckpoint[];
  /** Are there checkpoints that only newer readers understand? */
  readonly hasNewer: boolean;
}

/**
 * Put the entry of a version. `committed`: it is ours. `taken`: someone else's is there, and must be read. `below`: it is
 * ours, and may lie below what readers begin with. Throws CommitUnknownError when that could not be learned: the entry may
 * be there, or come to be there, so that whoever goes on reads the log before writing to it. Throws RangeError for an entry
 * that is too large.
 */
export async function commitEntry(
  ports: TableLogPorts,
  version: number,
  operation: string,
  actions: readonly Action[],
): Promise<'committed' | 'taken' | 'below'> {
  // Unique, so that an entry is known again as ours whatever became of the answer.
  const { store, clock, prefix } = ports;
  const commitInfo = { timestamp: clock.nowMs(), operation, txnId: uniqueId() };
  const bytes = Buffer.from(formatActions([{ commitInfo }, ...actions]));
  if (bytes.length > MAX_ENTRY_BYTES)
    throw new RangeError(`got an entry of ${bytes.length} bytes, expected at most ${MAX_ENTRY_BYTES}`);
  const key = entryKey(prefix, version);
  await expectConditionalPut(store, 'a table');
  for (let attempt = 1; ; attempt++) {
    try {
      if (!(await store.putIfAbsent(key, bytes))) return 'taken';
      return (await isInLog(ports, version)) ? 'committed' : 'below';
    } catch (cause) {
      if (!(cause instanceof RetriableError || cause instanceof CommitUnknownError)) throw cause;
      if (attempt === COMMIT_TRIES)
        throw new CommitUnknownError(
          'commit-unknown',
          `${key}: the store did not say whether version ${version} was written: ${cause.message}`,
          { cause },
        );
      await clock.sleep(500 * attempt);
    }
  }
}

/** An entry, or undefined where there is none. Throws DataError `damaged-log`. */
export async function readEntry(
  { store, prefix }: Pick<TableReadPorts, 'prefix'> & { readonly store: Pick<ObjectStore, 'get'> },
  version: number,
): Promise<LogEntry | undefined> {
  const key = entryKey(prefix, version);
  const found = await store.get(key);
  return found && { version, actions: parseActions(found.bytes, key) };
}

/**
 * The entries after a version, in order: one request where there is none. Throws DataError `damaged-log` for an entry
 * that is damaged, or missing while a later one is there.
 */
export async function* entriesAfter(ports: TableReadPorts, after: number): AsyncGenerator<LogEntry> {
  let lanes = 1;
  for (let next = after + 1; ; ) {
    const versions = Array.from({ length: lanes }, (_, lane) => next + lane);
    const found = await Promise.all(versions.map((version) => readEntry(ports, version)));
    const end = found.indexOf(undefined);
    yield* (end < 0 ? found : found.slice(0, end)) as LogEntry[];
    next += end < 0 ? lanes : end;
    lanes = Math.min(2 * lanes, MAX_LANES);
    if (end < 0) continue;
    const beyond = found.slice(end).find((entry) => entry !== undefined);
    if (beyond === undefined) return;
    await expectEntry(ports, next, beyond.version);
  }
}

/** Throws `damaged-log` where an entry is still missing that `beyond` builds on: read beside each other, it may have come since. */
export async function expectEntry(ports: TableReadPorts, version: number, beyond: number): Promise<void> {
  if ((await ports.store.head(entryKey(ports.prefix, version))) === undefined)
    throw missingEntry(ports.prefix, version, beyond);
}

/** Does `_last_checkpoint` name a later version? Nothing is cleaned away beyond the one that it names. */
export async function isBelowCheckpoint(ports: TableReadPorts, version: number): Promise<boolean> {
  return ((await readLastCheckpoint(ports))?.version ?? NO_VERSION) > version;
}

/** Does an entry that was put go on from the one before? Else that one is gone, and no reader comes to ours. */
async function isInLog(ports: TableReadPorts, version: number): Promise<boolean> {
  const before = version - 1;
  const [found, last] = await Promise.all([
    before === NO_VERSION || ports.store.head(entryKey(ports.prefix, before)),
    readLastCheckpoint(ports),
  ]);
  const lastVersion = last?.version ?? NO_VERSION;
  return lastVersion === before || (found !== undefined && lastVersion < version);
}

/** What `_last_checkpoint` says; undefined where there is none, or none of use: then the log is listed. */
export async function readLastCheckpoint(ports: TableReadPorts): Promise<FoundCheckpoint | undefined> {
  const found = await findLastCheckpoint(ports);
  return found instanceof DataError ? undefined : found;
}

/** The same; where it is of no use, why. */
export async function findLastCheckpoint({
  store,
  prefix,
}: TableReadPorts): Promise<FoundCheckpoint | DataError | undefined> {
  const key = lastCheckpointKey(prefix);
  const found = await store.get(key);
  if (found === undefined) return undefined;
  const text = Buffer.from(found.bytes).toString('utf8');
  try {
    const { version, parts = 1 } = JSON.parse(text);
    const isRight = [version, parts].every((count) => Number.isSafeInteger(count) && count >= 0);
    if (isRight && parts > 0) return { version, parts };
  } catch {}
  return damagedLog(key, shortName(text), 'the version of a checkpoint, and its parts');
}

/**
 * What the log has from version `from` on: a request or two, since versions are asked for by the digits that they begin
 * with, unless checkpoints have been left out for long.
 */
export async function listLog(ports: TableReadPorts, from = 0): Promise<LogListing> {
  const { store, prefix } = ports;
  const entries: LogListing['entries'][number][] = [];
  const parts = new Map<string, FoundCheckpoint & { found: number }>();
  let hasNewer = false;
  const objects = from === 0 ? store.list(logPrefix(prefix)) : versionsFrom(ports, from);
  for await (const { key, modifiedMs, sizeBytes } of objects) {
    const file = parseLogKey(prefix, key);
    if (file === undefined || file.version < from) continue;
    const { version } = file;
    if (file.kind === 'entry') entries.push({ version, key, modifiedMs, sizeBytes });
    else if (file.kind === 'newer-checkpoint') hasNewer = true;
    else {
      const id = `${version}/${file.parts}`;
      parts.set(id, { version, parts: file.parts, found: (parts.get(id)?.found ?? 0) + 1 });
    }
  }
  const whole = [...parts.values()].filter((checkpoint) => checkpoint.found === checkpoint.parts);
  return { entries, hasNewer, checkpoints: whole.sort((a, b) => b.version - a.version) };
}

/** What time it is by the store, which has dated the entry of `version`, or by our clock where that is behind. */
export async function logTimeMs(ports: TableLogPorts, version: number): Promise<number> {
  const { entries } = await listLog(ports, version);
  return Math.min(ports.clock.nowMs(), entries.at(-1)?.modifiedMs ?? Number.NEGATIVE_INFINITY);
}

/** Versions of a hundred after the other, until one has none. */
async function* versionsFrom({ store, prefix }: TableReadPorts, from: number) {
  for (let hundred = from - (from % 100); ; hundred += 100) {
    let isEmpty = true;
    for await (const object of store.list(versionsPrefix(prefix, hundred, 2))) {
      isEmpty = false;
      yield object;
    }
    if (isEmpty) return;
  }
}

export function missingEntry(prefix: string, version: number, beyond: number): Error {
  return damagedLog(entryKey(prefix, version), 'no file', `version ${version}, since ${beyond} is there`);
}
