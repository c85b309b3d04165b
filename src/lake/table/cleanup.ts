/**
 * What a log needs no more: entries and checkpoints before a checkpoint that is itself older than the retention. So every
 * version within the retention can still be read. Files of the table are gc's, and kept by another retention.
 */
import { checkpointKey, checkpointPartKey } from './log-keys.ts';
import type { FoundCheckpoint, TableLogPorts } from './table-log.ts';
import { listLog, readLastCheckpoint } from './table-log.ts';

/**
 * How many keys went. The oldest go first: whoever is stopped in between leaves a log that begins later. Age counts to the
 * newest entry, both as the store has them, or to our clock where that is behind.
 */
export async function cleanLog(ports: TableLogPorts, retentionMs: number): Promise<number> {
  const { store, clock, prefix } = ports;
  const last = await readLastCheckpoint(ports);
  const { entries, checkpoints } = await listLog(ports);
  const beforeMs = Math.min(clock.nowMs(), entries.at(-1)?.modifiedMs ?? 0) - retentionMs;
  // As old as the entry of the same version: a checkpoint may have been written much later.
  const oldEnough = new Set(
    entries.filter(({ modifiedMs }) => modifiedMs < beforeMs).map(({ version }) => version),
  );
  // Not beyond the one that is named: by that others see that they are below it.
  const base = checkpoints.find(({ version }) => oldEnough.has(version) && version <= (last?.version ?? 0));
  if (base === undefined) return 0;
  const keys = [
    ...entries.filter(({ version }) => version < base.version).map(({ key }) => key),
    ...checkpoints.filter(({ version }) => version < base.version).flatMap((old) => partKeys(prefix, old)),
  ];
  if (keys.length > 0) await store.removeAll(keys);
  return keys.length;
}

function partKeys(prefix: string, { version, parts }: FoundCheckpoint): string[] {
  if (parts === 1) return [checkpointKey(prefix, version)];
  return Array.from({ length: parts }, (_, part) => checkpointPartKey(prefix, version, part + 1, parts));
}
