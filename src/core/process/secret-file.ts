/** A setting that may come from a file: the one place that reads what `<NAME>_FILE` names. */
import { type BigIntStats, readFileSync, statSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import { type Clock, type Log, systemClock } from '../model/ports.ts';

/** Settings by their names, as text. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `text` is '' where the file is empty. */
type FoundText = { readonly origin: 'environment' | `file ${string}` } & (
  | { readonly text: string }
  | { readonly fault: string }
);

/** No secret is longer; who names a larger file means another. */
const MAX_SECRET_BYTES = 65_536;

/** What `name` or its `_FILE` says, without the last line end; undefined where neither does. A fault never shows the content. */
export function findSecret(name: string, env: Environment): FoundText | undefined {
  const text = env[name] || undefined;
  const path = env[`${name}_FILE`] || undefined;
  if (text !== undefined && path !== undefined)
    return { fault: `${name} and ${name}_FILE: both are set, expected one of them`, origin: 'environment' };
  if (path === undefined) return text === undefined ? undefined : { text, origin: 'environment' };
  const origin = `file ${path}` as const;
  try {
    const { size } = statSync(path);
    const expected = `expected a secret of at most ${MAX_SECRET_BYTES}`;
    if (size > MAX_SECRET_BYTES)
      return { fault: `${name}_FILE: '${path}' has ${size} bytes, ${expected}`, origin };
    return { text: readFileSync(path, 'utf8').replace(/\r?\n$/, ''), origin };
  } catch (error) {
    return { fault: `${name}_FILE: cannot read '${path}': ${adviceOn(error)}`, origin };
  }
}

function adviceOn(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EACCES') return `permission denied; uid ${process.getuid?.()} must be allowed to read it`;
  if (code === 'EISDIR')
    return 'it is a folder, expected a file (Docker creates a folder if the file to mount does not exist)';
  if (code === 'ENOENT') return 'there is no such file';
  return messageOf(error);
}

/** Files are polled so often; a file may be half written for so long after its last change. */
const [POLL_MS, SETTLE_MS] = [1_000, 1_000];

/**
 * Follow the files that `<name>_FILE` names, through links: the present value, looked up at most once a second. `readAgain` is called when a file has
 * changed, or another took its place, a second ago: with what was and the environment, without what comes from a pipe, which comes once.
 */
export function followSecrets<T>(
  names: readonly string[],
  env: Environment,
  first: T,
  readAgain: (last: T, env: Environment) => { readonly value: T; readonly faults: readonly string[] },
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'> = systemClock,
): (log: Log) => T {
  const files = names.map((name) => `${name}_FILE`).filter((name) => env[name] && !isPipe(env[name]));
  const followed = { ...env };
  for (const name of names) if (!files.includes(`${name}_FILE`)) followed[`${name}_FILE`] = undefined;
  const look = () => files.map((name) => markOf(env[name]!)).join('\n');
  let value = first;
  const atStart = look();
  let seen = atStart;
  let known: string | undefined;
  let [polledMs, seenMs] = [clock.monotonicMs(), Number.NEGATIVE_INFINITY];
  return (log) => {
    const atMs = clock.monotonicMs();
    if (files.length === 0 || atMs - polledMs < POLL_MS) return value;
    polledMs = atMs;
    const marks = look();
    const isNew = marks !== atStart || known !== undefined;
    if (marks !== seen) [seen, seenMs] = [marks, atMs];
    // By the clock of the file system; a file that is gone may be about to come back.
    const changedMs = Math.max(...files.map((name) => Number(statsOf(env[name]!)?.ctimeMs ?? Infinity)));
    const isSettled = atMs - seenMs >= SETTLE_MS || clock.nowMs() - changedMs > SETTLE_MS;
    if (marks === known || !isSettled) return value;
    const read = readAgain(value, followed);
    // Written to meanwhile.
    if (look() !== marks) return value;
    [known, value] = [marks, read.value];
    for (const fault of read.faults)
      log.warn({ code: 'secret-not-read' }, `${fault}; what was read before still holds`);
    if (isNew && read.faults.length === 0)
      log.info({}, 'secrets were read again: a file of them has changed');
    return value;
  };
}

function statsOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Can what it holds be read once only? */
export function isPipe(path: string): boolean {
  const stats = statsOf(path);
  return stats !== undefined && !stats.isFile() && !stats.isDirectory();
}

/** Another one for another file, for one that was written to, and for none. */
function markOf(path: string): string {
  const stats = statsOf(path);
  return stats === undefined
    ? 'none'
    : [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
}
