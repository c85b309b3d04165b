/**
 * What unfinished exports leave behind: claims and uploads that nobody will go on with, notes of days that have been
 * published since. No reader of the lake ever sees it; it costs space, and on S3 money.
 *
 * A claim that a living process owns is never touched, nor what belongs to it. A claim whose day is published and
 * lacks only its receipt is kept too: the next run of that day finishes it; without it the object would be an orphan.
 * Everything is looked at again right before it is removed.
 */

import type { Clock, Note, ProcessId, Receipt, VesselDay } from '../../core/model/index.ts';
import { isOvertaken } from '../../core/model/index.ts';
import { PROBE_PREFIX } from '../../store/key.ts';
import type { ObjectStore, UploadRef, Version } from '../../store/store.ts';
import { isEnded } from '../claims/claim.ts';
import type { FoundClaim } from '../claims/claims.ts';
import { claimedDays, findClaims, heartbeatOf, isLive } from '../claims/claims.ts';
import { unlessDamaged } from '../json.ts';
import { dayPrefix, isCheckpointKey, keyPrefix, noteKey, parseDayFileKey, parseNoteKey } from '../keys.ts';
import { readLayout } from '../lake-file.ts';
import { readNote, readReceipt } from '../ledger/ledger.ts';
import { removeNote } from '../notes.ts';
import { findTableGarbage } from './table-garbage.ts';

/** Claims and uploads are left alone for so long: whoever stopped an export may go on with it tomorrow. */
const GARBAGE_AGE_MS = 24 * 3_600_000;

interface GarbagePorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly self: ProcessId;
}

/** One thing that can go, or that is kept although it looks like it. */
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
  for (const day of await claimedDays(ports.store)) {
    for (const item of await claimItems(ports, day)) {
      if (item.keep) kept.add(dayPrefix(day));
      yield item;
    }
  }
  yield* uploadItems(ports, kept);
  yield* fileItems(ports);
  yield* noteItems(ports);
  yield* probeItems(ports);
}

/** The highest epoch first: what is kept may still inherit from the claims below it, so they stay too. */
async function claimItems(ports: GarbagePorts, day: VesselDay): Promise<GarbageItem[]> {
  const judged = await judgeClaims(ports, day);
  return judged.map(({ key, why, keep }) => ({
    kind: 'claim',
    key,
    why,
    keep,
    async remove() {
      const now = (await judgeClaims(ports, day)).find((claim) => claim.key === key);
      if (now === undefined || now.keep) return false;
      // Whoever takes over in between writes into it first.
      return await ports.store.removeIf(key, now.version);
    },
  }));
}

async function judgeClaims(
  ports: GarbagePorts,
  day: VesselDay,
): Promise<{ key: string; version: Version; why: string; keep: boolean }[]> {
  const claims = await findClaims(ports.store, day);
  const receipt = await unlessDamaged(readReceipt(ports.store, day));
  const judged: { key: string; version: Version; why: string; keep: boolean }[] = [];
  for (const claim of claims) {
    const verdict = await judgeClaim(ports, claim, receipt);
    const inherited = judged.some(({ keep }) => keep) && !isEnded(claim, receipt);
    judged.push({
      key: claim.key,
      version: claim.version,
      ...(inherited ? { why: 'a newer claim may go on with it', keep: true } : verdict),
    });
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
  // Its owner wrote it last then: giving a day back is a write too, and leaves a heartbeat of 0.
  const nowMs = clock.nowMs();
  const ageMs = nowMs - Math.max(claim.modifiedMs, heartbeatOf(file, nowMs));
  if (ageMs < GARBAGE_AGE_MS)
    return { why: `${describeAge(ageMs)} old: the next run goes on with it`, keep: true };
  const sealed = file?.sealed;
  if (sealed && (sealed.upload === null || (await store.publishedBy(sealed.upload, sealed.parts))))
    return { why: 'the day is published and lacks only its receipt: run it again', keep: true };
  return { why: `abandoned ${describeAge(ageMs)} ago`, keep: false };
}

/** Uploads of ours that no claim keeps. Others may keep things in the same bucket: only keys of ours are looked at. */
async function* uploadItems(
  { store, clock }: GarbagePorts,
  kept: ReadonlySet<string>,
): AsyncGenerator<GarbageItem> {
  const uploads: { upload: UploadRef & { startedMs: number }; day: VesselDay | undefined }[] = [];
  for await (const upload of store.listUploads('')) {
    const day = parseDayFileKey(upload.key);
    if (day !== undefined || isCheckpointKey(upload.key)) uploads.push({ upload, day });
  }
  for (const { upload, day } of uploads) {
    const ageMs = clock.nowMs() - upload.startedMs;
    const isKept = day !== undefined && kept.has(dayPrefix(day));
    const begun = `begun ${describeAge(ageMs)} ago`;
    const keep = isKept || ageMs < GARBAGE_AGE_MS;
    yield {
      kind: 'upload',
      key: upload.key,
      why: isKept ? 'a claim may go on with it' : keep ? begun : `${begun}, and no claim goes on with it`,
      keep,
      async remove() {
        if (keep || (day !== undefined && (await findClaims(store, day)).length > 0)) return false;
        await store.abortUpload(upload);
        return true;
      },
    };
  }
}

/** Files that a delta lake's tables need no more. */
async function* fileItems(ports: GarbagePorts): AsyncGenerator<GarbageItem> {
  if ((await readLayout(ports.store)) === 'plain') return;
  for await (const file of findTableGarbage(ports, GARBAGE_AGE_MS)) yield { kind: 'file', ...file };
}

/** What a process left that was killed while it tried what it may; nobody else uses these names. */
async function* probeItems({ store, clock }: GarbagePorts): AsyncGenerator<GarbageItem> {
  const item = (key: string, sinceMs: number, remove: () => Promise<void>): GarbageItem => {
    const ageMs = clock.nowMs() - sinceMs;
    const keep = ageMs < GARBAGE_AGE_MS;
    const why = `left by a probe ${describeAge(ageMs)} ago`;
    const removed = async () => {
      if (!keep) await remove();
      return !keep;
    };
    return { kind: 'probe', key, why, keep, remove: removed };
  };
  const items: GarbageItem[] = [];
  for await (const upload of store.listUploads(PROBE_PREFIX))
    items.push(item(upload.key, upload.startedMs, () => store.abortUpload(upload)));
  for await (const { key, modifiedMs } of store.list(PROBE_PREFIX))
    items.push(item(key, modifiedMs, () => store.remove(key)));
  yield* items;
}

/** Notes that are older than their day's receipt: what they tell of has been mended since. */
async function* noteItems({ store }: GarbagePorts): AsyncGenerator<GarbageItem> {
  const days: VesselDay[] = [];
  for await (const { key } of store.list(keyPrefix('note'))) {
    const day = parseNoteKey(key);
    if (day !== undefined) days.push(day);
  }
  for (const day of days) {
    // A receipt that cannot be read outlives nothing.
    const receipt = await unlessDamaged(readReceipt(store, day));
    const isOutlived = (note: Note) => receipt !== undefined && isOvertaken(note, receipt);
    const note = receipt && (await unlessDamaged(readNote(store, day)));
    if (note === undefined || !isOutlived(note)) continue;
    yield {
      kind: 'note',
      key: noteKey(day),
      why: 'the day has been published since',
      keep: false,
      remove: () => removeNote(store, day, isOutlived),
    };
  }
}

function describeAge(ageMs: number): string {
  const hours = Math.max(0, Math.floor(ageMs / 3_600_000));
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
