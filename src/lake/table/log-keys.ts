/** The names in a table's log: the one place that makes them and takes them apart. */

const VERSION_DIGITS = 20;
const ENTRY = /^(\d{20})\.json$/;
/** Newer tables name theirs by a UUID. */
const NEWER_CHECKPOINT = /^(\d{20})\.checkpoint\.[0-9a-f-]{36}\.(?:json|parquet)$/;
const CHECKPOINT = /^(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet$/;

/** All files of the log of a table whose files begin with `prefix` (`<job>/`). */
export function logPrefix(prefix: string): string {
  return `${prefix}_delta_log/`;
}

export function entryKey(prefix: string, version: number): string {
  return `${logPrefix(prefix)}${versionText(version)}.json`;
}

export function checkpointKey(prefix: string, version: number): string {
  return `${logPrefix(prefix)}${versionText(version)}.checkpoint.parquet`;
}

/** Those of a checkpoint in so many parts, as other writers make them. */
export function checkpointKeys(prefix: string, version: number, parts: number): string[] {
  if (parts === 1) return [checkpointKey(prefix, version)];
  const number = (count: number) => String(count).padStart(10, '0');
  const start = `${logPrefix(prefix)}${versionText(version)}.checkpoint`;
  return Array.from({ length: parts }, (_, at) => `${start}.${number(at + 1)}.${number(parts)}.parquet`);
}

/** Names the newest checkpoint, or one that was it a moment ago. */
export function lastCheckpointKey(prefix: string): string {
  return `${logPrefix(prefix)}_last_checkpoint`;
}

/** Entries and checkpoints of so many versions from `version` on, a power of ten of them, begin with this. */
export function versionsPrefix(prefix: string, version: number, digits: number): string {
  return `${logPrefix(prefix)}${versionText(version).slice(0, VERSION_DIGITS - digits)}`;
}

type LogFile =
  | { readonly kind: 'entry'; readonly version: number }
  | { readonly kind: 'checkpoint'; readonly version: number; readonly part: number; readonly parts: number }
  | { readonly kind: 'newer-checkpoint'; readonly version: number };

export function parseLogKey(prefix: string, key: string): LogFile | undefined {
  const name = key.slice(logPrefix(prefix).length);
  const entry = ENTRY.exec(name);
  if (entry !== null) return versioned(entry[1]!, (version) => ({ kind: 'entry', version }));
  const newer = NEWER_CHECKPOINT.exec(name);
  if (newer !== null) return versioned(newer[1]!, (version) => ({ kind: 'newer-checkpoint', version }));
  const checkpoint = CHECKPOINT.exec(name);
  if (checkpoint === null) return undefined;
  const [, text, part = '1', parts = '1'] = checkpoint;
  const numbers = { part: Number(part), parts: Number(parts) };
  return versioned(text!, (version) => ({ kind: 'checkpoint', version, ...numbers }));
}

/** A version beyond what a number holds is none that we or anyone else ever came to. */
function versioned<T>(text: string, make: (version: number) => T): T | undefined {
  const version = Number(text);
  return Number.isSafeInteger(version) ? make(version) : undefined;
}

function versionText(version: number): string {
  return String(version).padStart(VERSION_DIGITS, '0');
}
