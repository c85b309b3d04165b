/** How long a table keeps what left it: as its own configuration says, in the words that Delta has for it. */
import { shortName } from '../../core/errors.ts';
import type { TableMetadata } from './actions.ts';
import { checkpointKeys } from './log-keys.ts';
import { listLog, readLastCheckpoint, type TableLogPorts } from './table-log.ts';

/** How long files and entries are kept for readers of older versions, and how often a checkpoint is written. */
export interface TableRetention {
  /** A file that was removed from the table stays so long. */
  readonly filesMs: number;
  /** Entries stay so long, even where a checkpoint has what they say. */
  readonly entriesMs: number;
  readonly checkpointVersions: number;
}

const DAY_MS = 24 * 3_600_000;
export const TABLE_RETENTION: TableRetention = {
  filesMs: 7 * DAY_MS,
  entriesMs: 30 * DAY_MS,
  checkpointVersions: 100,
};

const UNITS_MS: Readonly<Record<string, number>> = {
  ...{ week: 7 * DAY_MS, day: DAY_MS, hour: 3_600_000, minute: 60_000, second: 1_000 },
  ...{ millisecond: 1, microsecond: 1e-3, nanosecond: 1e-6 },
};
const TERM = /^\s*'?(\d{1,12}(?:\.\d{1,9})?)'?\s*([a-z]+?)s?\s*(?=[\d']|$)/i;

/** Milliseconds of an `interval 1 week 2 days`; undefined for anything else, and for months and years, which have no one length. */
export function parseInterval(text: string): number | undefined {
  let rest = text.trim().replace(/^interval\b/i, '');
  let sumMs: number | undefined;
  for (let term = TERM.exec(rest); term !== null; term = TERM.exec(rest)) {
    const unitMs = UNITS_MS[term[2]!.toLowerCase()];
    if (unitMs === undefined) return undefined;
    sumMs = (sumMs ?? 0) + Number(term[1]) * unitMs;
    rest = rest.slice(term[0].length);
  }
  return rest.trim() === '' ? sumMs : undefined;
}

/** What a table keeps. What its configuration says unreadably is kept for ever, and is in `faults`; entries too where their clean-up is off. */
export function retentionOf(
  metadata: TableMetadata | undefined,
  usual: TableRetention,
): TableRetention & { readonly faults: readonly string[] } {
  const configuration = metadata?.configuration ?? {};
  const faults: string[] = [];
  function interval(name: string, usualMs: number): number {
    const text = configuration[name];
    if (text === undefined) return usualMs;
    const ms = parseInterval(text);
    if (ms === undefined)
      faults.push(
        `${name} '${shortName(text)}' is no interval such as 'interval 7 days': nothing goes by it`,
      );
    return ms ?? Number.POSITIVE_INFINITY;
  }
  const filesMs = interval('delta.deletedFileRetentionDuration', usual.filesMs);
  const entriesMs = interval('delta.logRetentionDuration', usual.entriesMs);
  const isCleaned = configuration['delta.enableExpiredLogCleanup']?.toLowerCase() !== 'false';
  return { ...usual, filesMs, entriesMs: isCleaned ? entriesMs : Number.POSITIVE_INFINITY, faults };
}

/**
 * Remove what a log needs no more: entries and checkpoints before a checkpoint that is itself older than the retention. So
 * every version within the retention can still be read. Files of the table are gc's, and kept by another retention. Returns
 * how many keys went. The oldest go first: whoever is stopped in between leaves a log that begins later. Age counts to the
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
    ...checkpoints.flatMap(({ version, parts }) =>
      version < base.version ? checkpointKeys(prefix, version, parts) : [],
    ),
  ];
  if (keys.length > 0) await store.removeAll(keys);
  return keys.length;
}
