/** Claims as they lie in the lake: listing and reading them, and removing those that a receipt has ended. */

import { DataError } from '../../core/errors.ts';
import type { ClaimFile, Clock, ProcessId, Receipt, VesselDay } from '../../core/model/index.ts';
import { formatVesselDay } from '../../core/model/index.ts';
import { isKnownDead } from '../../core/process/process-id.ts';
import type { ObjectStore, Version } from '../../store/store.ts';
import { unlessDamaged } from '../json.ts';
import { claimPrefix, keyPrefix, noteKey, parseClaimKey } from '../keys.ts';
import { readReceipt } from '../ledger/ledger.ts';
import { CLAIM_FILE, parseFile } from '../shapes.ts';

/** A claim whose heartbeat is older than this belongs to nobody any more. */
const CLAIM_STALE_MS = 60_000;
/** By so much the clocks of two hosts may differ. A heartbeat further in the future says nothing. */
const CLOCK_SKEW_MS = 300_000;

export interface ListedClaim {
  readonly key: string;
  readonly day: VesselDay;
  readonly epoch: number;
  readonly modifiedMs: number;
}

/** A claim and its content, or what is wrong with that. */
export type FoundClaim = ListedClaim & { readonly version: Version } & (
    | { readonly file: ClaimFile; readonly damage?: undefined }
    | { readonly file?: undefined; readonly damage: DataError }
  );

/** The claims whose keys begin with a prefix (`claimPrefix`, `keyPrefix`), in key order. */
async function listClaims(store: Pick<ObjectStore, 'list'>, prefix: string): Promise<ListedClaim[]> {
  const claims: ListedClaim[] = [];
  for await (const { key, modifiedMs } of store.list(prefix)) {
    const claim = parseClaimKey(key);
    if (claim !== undefined) claims.push({ ...claim, key, modifiedMs });
  }
  return claims;
}

/** The vessel-days that have a claim, of a job or of all. */
export async function claimedDays(store: Pick<ObjectStore, 'list'>, job?: string): Promise<VesselDay[]> {
  const claims = await listClaims(store, keyPrefix('claim', job));
  return [...new Map(claims.map(({ day }) => [formatVesselDay(day), day])).values()];
}

/** The claims of a vessel-day, the highest epoch first, damaged ones among them; `ownKey` is left out. */
export async function findClaims(
  store: Pick<ObjectStore, 'list' | 'get'>,
  day: VesselDay,
  ownKey?: string,
): Promise<FoundClaim[]> {
  const claims: FoundClaim[] = [];
  for (const listed of await listClaims(store, claimPrefix(day))) {
    const claim = listed.key === ownKey ? undefined : await readClaim(store, listed);
    if (claim !== undefined) claims.push(claim);
  }
  return claims.sort((a, b) => b.epoch - a.epoch);
}

/** A claim that was listed, as it is now; undefined when it is gone. */
export async function readClaim(
  store: Pick<ObjectStore, 'get'>,
  listed: ListedClaim,
): Promise<FoundClaim | undefined> {
  const object = await store.get(listed.key);
  if (object === undefined) return undefined;
  const claim = { ...listed, version: object.version };
  try {
    return { ...claim, file: parseFile<ClaimFile>(object.bytes, listed.key, CLAIM_FILE) };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return { ...claim, damage: error };
  }
}

/** The claim files of a vessel-day, the highest epoch first. Throws DataError `damaged-file`. */
export async function readClaims(
  store: Pick<ObjectStore, 'list' | 'get'>,
  day: VesselDay,
): Promise<ClaimFile[]> {
  return (await findClaims(store, day)).map(({ file, damage }) => {
    if (file === undefined) throw damage;
    return file;
  });
}

/** When the owner last said that it lives, as far as that can be: 0 for a time that has not come yet. */
export function heartbeatOf(claim: ClaimFile | undefined, nowMs: number): number {
  const heartbeatMs = claim?.heartbeatMs ?? 0;
  return heartbeatMs <= nowMs + CLOCK_SKEW_MS ? heartbeatMs : 0;
}

/** Does a process that may still live own the claim, and has nobody taken over? */
export function isLive(
  claim: ClaimFile,
  { clock, self }: { readonly clock: Clock; readonly self: ProcessId },
): boolean {
  const nowMs = clock.nowMs();
  const isFresh = nowMs - heartbeatOf(claim, nowMs) < CLAIM_STALE_MS;
  return isFresh && claim.fencedBy === undefined && !isKnownDead(claim.owner, self);
}

/** Has an attempt of this epoch or a later one published the day? Then the claim is over. */
export function isEnded({ epoch }: Pick<ListedClaim, 'epoch'>, receipt: Receipt | undefined): boolean {
  return receipt !== undefined && receipt.epoch >= epoch;
}

/**
 * What a crash after step 10 leaves: remove the claims of a job that a receipt has ended; how many. One list, which
 * is empty most of the time. A claim whose receipt cannot be read stays: whoever works on that day will say so.
 * Throws what the store throws.
 */
export async function removeFinishedClaims(store: ObjectStore, job: string): Promise<number> {
  const receipts = new Map<string, Receipt | undefined>();
  let removed = 0;
  for (const claim of await listClaims(store, keyPrefix('claim', job))) {
    const { key, day } = claim;
    const name = formatVesselDay(day);
    if (!receipts.has(name)) receipts.set(name, await unlessDamaged(readReceipt(store, day)));
    if (!isEnded(claim, receipts.get(name))) continue;
    await store.removeAll([key, noteKey(day)]);
    removed++;
  }
  return removed;
}
