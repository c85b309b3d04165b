/** Attempts that are under way, or were left: no damage, and to be told apart from it. */
import type { ClaimFile, Receipt, VesselDay } from '../model/index.ts';
import { claimPrefix, parseClaimKey } from '../model/index.ts';
import type { ReadableStore } from './object-check.ts';

/** The newest claim of a vessel-day. */
export interface Unfinished {
  readonly day: VesselDay;
  readonly epoch: number;
  /** When its owner last said that it lives; undefined where it cannot be read. */
  readonly heartbeatMs: number | undefined;
  /** Where the day is verified, and only publish and receipt remain. */
  readonly sealed: { readonly object: Receipt['object'] } | undefined;
}

/** The newest claim of a vessel-day, if there is one. */
export async function readUnfinished(store: ReadableStore, day: VesselDay): Promise<Unfinished | undefined> {
  const epochs: { epoch: number; key: string }[] = [];
  for await (const { key } of store.list(claimPrefix(day))) {
    const claim = parseClaimKey(key);
    if (claim !== undefined) epochs.push({ epoch: claim.epoch, key });
  }
  const newest = epochs.sort((a, b) => b.epoch - a.epoch)[0];
  if (newest === undefined) return undefined;
  const object = await store.get(newest.key);
  if (object === undefined) return undefined;
  const file = parseClaim(object.bytes);
  const draft = file?.sealed?.draft;
  return {
    day,
    epoch: newest.epoch,
    heartbeatMs: file?.heartbeatMs,
    sealed: draft === undefined ? undefined : { object: draft.object },
  };
}

function parseClaim(bytes: Uint8Array): ClaimFile | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as ClaimFile;
  } catch {
    return undefined;
  }
}

/** `attempt 3 was last alive at 2026-01-06T06:20:00.000Z` */
export function describeUnfinished({ epoch, heartbeatMs, sealed }: Unfinished): string {
  const alive =
    heartbeatMs === undefined
      ? 'has a claim that cannot be read'
      : heartbeatMs === 0
        ? 'gave the day back; the next run goes on'
        : `was last alive at ${new Date(heartbeatMs).toISOString()}`;
  return `attempt ${epoch} ${alive}${sealed === undefined ? '' : '; it has verified the day and publishes it'}`;
}
