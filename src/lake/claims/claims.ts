/** Claims in the lake: listing and reading them, becoming the owner of a vessel-day, and removing claims that a receipt has ended. */

import { DataError, FencedError } from '../../core/errors.ts';
import type { ClaimFile, Clock, ProcessId, Receipt, VesselDay } from '../../core/model/index.ts';
import { formatVesselDay } from '../../core/model/index.ts';
import { isKnownDead } from '../../core/process/process-id.ts';
import { uniqueId } from '../../core/unique-id.ts';
import type { ObjectStore, Version } from '../../store/store.ts';
import { jsonBytes, unlessDamaged } from '../json.ts';
import { claimKey, claimPrefix, keyPrefix, noteKey, parseClaimKey } from '../keys.ts';
import { readReceipt } from '../ledger/ledger.ts';
import { CLAIM_FILE, parseFile } from '../shapes.ts';
import { Claim, type ClaimPorts, isEnded, type ListedClaim } from './claim.ts';
import type { OwnClaimFile } from './claim-file.ts';

/** A claim whose heartbeat is older than this has no owner any more. */
const CLAIM_STALE_MS = 60_000;
/** How far the clocks of two hosts may differ. A heartbeat further in the future is ignored. */
const CLOCK_SKEW_MS = 300_000;

export type FoundClaim = ListedClaim & { readonly version: Version } & (
    | { readonly file: ClaimFile; readonly damage?: undefined }
    | { readonly file?: undefined; readonly damage: DataError }
  );

type FencedClaim = Extract<FoundClaim, { readonly file: ClaimFile }>;

/** The claims whose keys begin with a prefix (`claimPrefix`, `keyPrefix`), in key order. */
async function listClaims(store: Pick<ObjectStore, 'list'>, prefix: string): Promise<ListedClaim[]> {
  const claims: ListedClaim[] = [];
  for await (const { key, modifiedMs } of store.list(prefix)) {
    const claim = parseClaimKey(key);
    if (claim !== undefined) claims.push({ ...claim, key, modifiedMs });
  }
  return claims;
}

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

/** The present content of a listed claim; undefined if it is gone. */
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

/** Time of the owner's last heartbeat; 0 if it is in the future, which cannot be right. */
export function heartbeatOf(claim: ClaimFile | undefined, nowMs: number): number {
  const heartbeatMs = claim?.heartbeatMs ?? 0;
  return heartbeatMs <= nowMs + CLOCK_SKEW_MS ? heartbeatMs : 0;
}

/** Whether a process that may still live owns the claim, and no other has taken over. */
export function isLive(
  claim: ClaimFile,
  { clock, self }: { readonly clock: Clock; readonly self: ProcessId },
): boolean {
  const nowMs = clock.nowMs();
  const isFresh = nowMs - heartbeatOf(claim, nowMs) < CLAIM_STALE_MS;
  return isFresh && claim.fencedBy === undefined && !isKnownDead(claim.owner, self);
}

/**
 * Remove the claims of a job that a receipt has ended, which a crash after step 10 leaves; returns how many. It costs one list,
 * which is mostly empty. A claim whose receipt cannot be read stays: the next export of that day reports it. Throws what the
 * store throws.
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

interface ClaimOptions {
  /**
   * Called once our claim is written and is the only one, with the earlier receipt, which may be replaced meanwhile. If a
   * predecessor has sealed the day, or may live, it is not called: then nothing must begin early.
   */
  readonly onAlone?: ((before: Receipt | undefined) => void) | undefined;
  /** Called once our claim is visible, before anything depends on it; if it throws, the claim is withdrawn. */
  readonly onClaimed?: (() => Promise<void>) | undefined;
  readonly settingsHash: string;
  /** Take a vessel-day even from an owner that seems to be alive. */
  readonly takeover: boolean;
}

export interface Inheritance {
  readonly receipt: Receipt | undefined;
  /** The file of the predecessor with the most progress, if it has any and the same settings. */
  readonly predecessor: ClaimFile | undefined;
  /** The sealed file of the predecessor with the most progress, whatever its settings: it may have published. */
  readonly sealedBefore?: ClaimFile;
}

/**
 * Become the owner of a vessel-day. Throws FencedError `running-elsewhere` when a live process owns it. The
 * predecessors' files stay, fenced, until `Claim.inherit` or `Claim.startClean` has made their progress ours.
 *
 * At least one of two attempts sees the other, because each puts its own claim and lists the others afterwards. The
 * first epoch that may be free is tried at once: no live attempt has a lower one, so that nobody is fenced by it.
 */
export async function takeClaim(
  ports: ClaimPorts,
  day: VesselDay,
  options: ClaimOptions,
): Promise<{ claim: Claim; inheritance: Inheritance }> {
  const { store } = ports;
  let highest = 0;
  for (let round = 0; round < 10; round++) {
    const before = await readReceipt(store, day);
    const file: OwnClaimFile = {
      ...{ claimVersion: 1, epoch: 1 + Math.max(before?.epoch ?? 0, highest), attempt: uniqueId() },
      ...{ owner: ports.self, settingsHash: options.settingsHash, heartbeatMs: ports.clock.nowMs() },
      ...{ checkpoint: null, sealed: null },
    };
    const key = claimKey(day, file.epoch);
    const version = await store.putIf(key, jsonBytes(file), null);
    const withdraw = async () => {
      if (version !== undefined) await store.removeIf(key, version);
    };
    try {
      const others = await findClaims(store, day, version === undefined ? undefined : key);
      highest = Math.max(highest, ...others.map(({ epoch }) => epoch));
      checkOwner(ports, day, options, others, before);
      if (version === undefined || highest > file.epoch) {
        await withdraw();
        continue;
      }
      if (others.length === 0) options.onAlone?.(before);
      await options.onClaimed?.();
      const open = others.filter((claim) => !isEnded(claim, before));
      const fenced = await fenceAll(ports, day, options, open, file.epoch);
      const older = others.map((one) => fenced.find(({ key }) => key === one.key) ?? one);
      const claim = new Claim(ports, day, { file, version, older });
      const isNew = before === undefined && others.length === 0;
      const receipt = await claim.lookAgain({ isNew });
      return { claim, inheritance: inheritanceOf(receipt, fenced, options) };
    } catch (error) {
      await withdraw();
      // Another process has finished the day between our read and our write: read again.
      if (!(error instanceof FencedError) || error.code !== 'fenced') throw error;
    }
  }
  throw new FencedError(
    'running-elsewhere',
    `${formatVesselDay(day)}: other processes keep claiming it; let them finish, or stop them and run again`,
  );
}

/** Throws FencedError `running-elsewhere` when one of the claims has a live owner, DataError when one is damaged. */
function checkOwner(
  ports: ClaimPorts,
  day: VesselDay,
  { takeover }: ClaimOptions,
  claims: readonly FoundClaim[],
  receipt: Receipt | undefined,
): void {
  for (const claim of claims) {
    if (claim.file === undefined) throw claim.damage;
    if (takeover || isEnded(claim, receipt) || !isLive(claim.file, ports)) continue;
    const { heartbeatMs, owner } = claim.file;
    const age = Math.max(0, Math.round((ports.clock.nowMs() - heartbeatMs) / 1000));
    throw new FencedError(
      'running-elsewhere',
      `${formatVesselDay(day)}: running elsewhere (host ${owner.host.split('/')[0]}, pid ${owner.pid}, heartbeat ${age} s ago); wait for it, or stop it and run again, or use --takeover`,
    );
  }
}

/** Fence the owners of these claims, and read their progress, highest epoch first. An owner that writes meanwhile is alive. */
async function fenceAll(
  ports: ClaimPorts,
  day: VesselDay,
  options: ClaimOptions,
  claims: readonly FoundClaim[],
  epoch: number,
): Promise<FencedClaim[]> {
  const fenced: FencedClaim[] = [];
  for (const found of claims) {
    for (let claim: FoundClaim | undefined = found; claim !== undefined; ) {
      checkOwner(ports, day, options, [claim], undefined);
      const file: ClaimFile = { ...claim.file!, fencedBy: epoch };
      const version = await ports.store.putIf(claim.key, jsonBytes(file), claim.version);
      if (version !== undefined) {
        fenced.push({ ...claim, file, version, damage: undefined });
        break;
      }
      claim = await readClaim(ports.store, claim);
    }
  }
  return fenced;
}

function inheritanceOf(
  receipt: Receipt | undefined,
  fenced: readonly FencedClaim[],
  { settingsHash }: ClaimOptions,
): Inheritance {
  // A claim no later than the receipt is over: to publish it once more would bring back what it once read.
  const open = fenced.flatMap(({ file }) => (isEnded(file, receipt) ? [] : [file]));
  const hasProgress = (file: ClaimFile) => file.checkpoint !== null || file.sealed !== null;
  const predecessor = open.find((file) => file.settingsHash === settingsHash && hasProgress(file));
  const sealedBefore = open.find((file) => file.sealed !== null);
  return { receipt, predecessor, ...(sealedBefore && { sealedBefore }) };
}
