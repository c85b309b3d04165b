/**
 * What a log needs no more: entries and checkpoints before a checkpoint that is itself older than the retention. So every
 * version within the retention can still be read. Files of the table are gc's, and kept by another retention.
 */
import { checkpointKey, checkpointPartKey } from './log-keys.ts';
import type { FoundCheckpoint, TableLogPorts } from './table-log.ts';
import { listLog } from './table-log.ts';

/** How many keys went. The oldest go first: whoever is stopped in between leaves a log that begins later. */
export async function cleanLog(ports: TableLogPorts, retentionMs: number): Promise<number> {
  const { store, clock, prefix } = ports;
  const { entries, checkpoints } = await listLog(ports);
  const beforeMs = clock.nowMs() - retentionMs;
  // As old as the entry of the same version: a checkpoint may have been written much later.
  const oldEnough = new Set(
    entries.filter(({ modifiedMs }) => modifiedMs < beforeMs).map(({ version }) => version),
  );
  const base = checkpoints.find(({ version }) => oldEnough.has(version));
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
