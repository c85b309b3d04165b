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

const KINDS = [
  ['entry', ENTRY],
  ['checkpoint', CHECKPOINT],
  ['newer-checkpoint', NEWER_CHECKPOINT],
] as const;

/** What a file of the log is; of a checkpoint that comes in several parts it is one of so many. */
export function parseLogKey(prefix: string, key: string) {
  const name = key.slice(logPrefix(prefix).length);
  for (const [kind, pattern] of KINDS) {
    const match = pattern.exec(name);
    const version = Number(match?.[1]);
    // A version beyond what a number holds is none that we or anyone else ever came to.
    if (match !== null && Number.isSafeInteger(version))
      return { kind, version, parts: Number(match[3] ?? 1) };
  }
  return undefined;
}

function versionText(version: number): string {
  return String(version).padStart(VERSION_DIGITS, '0');
}
