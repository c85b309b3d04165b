/**
 * Finds what unfinished exports leave behind: claims and uploads that no process will continue, notes of days that were
 * published since, and files that the tables of a delta lake no longer need (table-garbage.ts). Readers of the lake never see
 * them, but they cost space, and on S3 money.
 *
 * A claim of a living process, and what belongs to it, is never touched. A claim whose day is published and lacks only its
 * receipt is kept too: the next run of that day finishes it; without the claim the object would be an orphan. Everything is
 * checked again right before it is removed.
 */

import type { Clock, ProcessId, Receipt, VesselDay } from '../../core/model/index.ts';
import { isOvertaken } from '../../core/model/index.ts';
import { PROBE_PREFIX } from '../../store/key.ts';
import type { ObjectStore } from '../../store/store.ts';
import { isEnded } from '../claims/claim.ts';
import { claimedDays, type FoundClaim, findClaims, heartbeatOf, isLive } from '../claims/claims.ts';
import { unlessDamaged } from '../json.ts';
import { dayPrefix, isCheckpointKey, keyPrefix, noteKey, parseDayFileKey, parseNoteKey } from '../keys.ts';
import { readLayout } from '../lake-file.ts';
import { readNote, readReceipt } from '../ledger/ledger.ts';
import { removeNote } from '../notes.ts';
import { findTableGarbage } from './table-garbage.ts';

/** Minimum age of claims and uploads: somebody who has stopped an export may continue it tomorrow. */
const GARBAGE_AGE_MS = 24 * 3_600_000;

interface GarbagePorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly self: ProcessId;
}

export interface GarbageItem {
  readonly kind: 'claim' | 'upload' | 'file' | 'note' | 'probe';
  readonly key: string;
  readonly why: string;
  readonly keep: boolean;
  /** Removes it, unless it is in use by now: then false. */
  readonly remove: () => Promise<boolean>;
}

/** Everything that an unfinished export left, in the order in which it is to be removed. */
export async function* findGarbage(ports: GarbagePorts): AsyncGenerator<GarbageItem> {
  const kept = new Set<string>();
  for (const day of await claimedDays(ports.store))
    for (const item of await claimItems(ports, day)) {
      if (item.keep) kept.add(dayPrefix(day));
      yield item;
    }
  yield* uploadItems(ports, kept);
  if ((await readLayout(ports.store)) === 'delta')
    for await (const file of findTableGarbage(ports, GARBAGE_AGE_MS)) yield { kind: 'file', ...file };
  yield* noteItems(ports);
  yield* probeItems(ports);
}

async function claimItems(ports: GarbagePorts, day: VesselDay): Promise<GarbageItem[]> {
  return (await judgeClaims(ports, day)).map(({ claim: { key }, ...verdict }) => ({
    ...{ kind: 'claim', key, ...verdict },
    async remove() {
      const now = (await judgeClaims(ports, day)).find(({ claim }) => claim.key === key);
      // A process that takes over in between writes into it first, so that the removal fails.
      return now !== undefined && !now.keep && (await ports.store.removeIf(key, now.claim.version));
    },
  }));
}

/** The highest epoch first: what is kept may still inherit from the claims below it, so they stay too. */
async function judgeClaims(ports: GarbagePorts, day: VesselDay) {
  const claims = await findClaims(ports.store, day);
  const receipt = await unlessDamaged(readReceipt(ports.store, day));
  const judged: { readonly claim: FoundClaim; readonly why: string; readonly keep: boolean }[] = [];
  for (const claim of claims) {
    const inherited = judged.some(({ keep }) => keep) && !isEnded(claim, receipt);
    const verdict = inherited
      ? { why: 'a newer claim may continue it', keep: true }
      : await judgeClaim(ports, claim, receipt);
    judged.push({ claim, ...verdict });
  }
  return judged;
}

async function judgeClaim(
  { store, clock, self }: GarbagePorts,
  claim: FoundClaim,
  receipt: Receipt | undefined,
): Promise<{ why: string; keep: boolean }> {
  const { file } = claim;
  if (file !== undefined && isLive(file, { clock, self }))
    return { why: 'a live process owns it', keep: true };
  if (isEnded(claim, receipt)) return { why: `attempt ${receipt?.epoch} has published the day`, keep: false };
  // The last write of its owner: handing a day back is a write too, and leaves a heartbeat of 0.
  const nowMs = clock.nowMs();
  const ageMs = nowMs - Math.max(claim.modifiedMs, heartbeatOf(file, nowMs));
  if (ageMs < GARBAGE_AGE_MS)
    return { why: `${describeAge(ageMs)} old: the next run continues it`, keep: true };
  const sealed = file?.sealed;
  if (sealed && (sealed.upload === null || (await store.publishedBy(sealed.upload, sealed.parts))))
    return { why: 'the day is published and lacks only its receipt: run it again', keep: true };
  return { why: `abandoned ${describeAge(ageMs)} ago`, keep: false };
}

/** Our uploads that no claim has. Other programs may use the same bucket, so only our keys are considered. */
async function* uploadItems(
  { store, clock }: GarbagePorts,
  kept: ReadonlySet<string>,
): AsyncGenerator<GarbageItem> {
  for (const upload of await Array.fromAsync(store.listUploads(''))) {
    const { key, startedMs } = upload;
    const day = parseDayFileKey(key);
    if (day === undefined && !isCheckpointKey(key)) continue;
    const ageMs = clock.nowMs() - startedMs;
    const isKept = day !== undefined && kept.has(dayPrefix(day));
    const keep = isKept || ageMs < GARBAGE_AGE_MS;
    const begun = `begun ${describeAge(ageMs)} ago${keep ? '' : ', and no claim goes on with it'}`;
    const why = isKept ? 'a claim may continue it' : begun;
    const remove = async () => {
      if (keep || (day !== undefined && (await findClaims(store, day)).length > 0)) return false;
      await store.abandon(upload);
      return true;
    };
    yield { kind: 'upload', key, why, keep, remove };
  }
}

/** Probes of processes that were killed while they tested their permissions; no other file has such a name. */
async function* probeItems({ store, clock }: GarbagePorts): AsyncGenerator<GarbageItem> {
  const item = (key: string, sinceMs: number, removeIt: () => Promise<void>): GarbageItem => {
    const ageMs = clock.nowMs() - sinceMs;
    const keep = ageMs < GARBAGE_AGE_MS;
    const remove = async () => {
      if (!keep) await removeIt();
      return !keep;
    };
    return { kind: 'probe', key, why: `left by a probe ${describeAge(ageMs)} ago`, keep, remove };
  };
  for (const upload of await Array.fromAsync(store.listUploads(PROBE_PREFIX)))
    yield item(upload.key, upload.startedMs, () => store.abandon(upload));
  for (const { key, modifiedMs } of await Array.fromAsync(store.list(PROBE_PREFIX)))
    yield item(key, modifiedMs, () => store.remove(key));
}

/** Notes that are older than their day's receipt: their failure was fixed since. */
async function* noteItems({ store }: GarbagePorts): AsyncGenerator<GarbageItem> {
  for (const { key } of await Array.fromAsync(store.list(keyPrefix('note')))) {
    const day = parseNoteKey(key);
    if (day === undefined) continue;
    // An unreadable receipt does not outdate a note.
    const receipt = await unlessDamaged(readReceipt(store, day));
    const note = receipt && (await unlessDamaged(readNote(store, day)));
    if (note === undefined || !isOvertaken(note, receipt!)) continue;
    const remove = () => removeNote(store, day, (now) => isOvertaken(now, receipt!));
    yield { kind: 'note', key: noteKey(day), why: 'the day has been published since', keep: false, remove };
  }
}

function describeAge(ageMs: number): string {
  const hours = Math.max(0, Math.floor(ageMs / 3_600_000));
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
