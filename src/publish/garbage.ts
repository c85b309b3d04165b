/**
 * What unfinished exports leave behind: claims and uploads that nobody will go on with, notes of days that have been
 * published since. No reader of the lake ever sees it; it costs space, and on S3 money.
 *
 * A claim that a living process owns is never touched, nor what belongs to it. A claim whose day is published and
 * lacks only its receipt is kept too: the next run of that day finishes it; without it the object would be an orphan.
 * Everything is looked at again right before it is removed.
 */
import { DataError } from '../errors.ts';
import type { ClaimFile, Clock, ProcessId, Receipt, VesselDay } from '../model/index.ts';
import { claimKey, formatVesselDay, noteKey, objectKey, parseClaimKey } from '../model/index.ts';
import type { ObjectStore, UploadRef } from '../store/store.ts';
import { isLive } from './claim.ts';
import { parseJson } from './json.ts';
import { readNote, readReceipt } from './ledger.ts';

/** Claims and uploads are left alone for so long: whoever stopped an export may go on with it tomorrow. */
export const GARBAGE_AGE_MS = 24 * 3_600_000;

export interface GarbagePorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly self: ProcessId;
}

/** One thing that can go, or that is kept although it looks like it. */
export interface GarbageItem {
  readonly kind: 'claim' | 'upload' | 'note';
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
      if (item.keep) kept.add(objectKey(day));
      yield item;
    }
  }
  yield* uploadItems(ports, kept);
  yield* noteItems(ports);
}

async function claimedDays(store: ObjectStore): Promise<VesselDay[]> {
  const days = new Map<string, VesselDay>();
  for await (const { key } of store.list('_checkpoints/')) {
    const claim = parseClaimKey(key);
    if (claim !== undefined) days.set(formatVesselDay(claim.day), claim.day);
  }
  return [...days.values()];
}

interface ListedClaim {
  readonly key: string;
  readonly epoch: number;
  /** Undefined where the file cannot be read. */
  readonly file: ClaimFile | undefined;
  /** When its owner last wrote it: giving a day back is a write too, and leaves a heartbeat of 0. */
  readonly touchedMs: number;
}

/** The claims of a vessel-day, the highest epoch first. */
async function listClaims(store: ObjectStore, day: VesselDay): Promise<ListedClaim[]> {
  const claims: ListedClaim[] = [];
  const prefix = claimKey(day, 0).replace(/0\.json$/, '');
  for await (const { key, modifiedMs } of store.list(prefix)) {
    const epoch = parseClaimKey(key)?.epoch;
    const object = epoch === undefined ? undefined : await store.get(key);
    if (epoch === undefined || object === undefined) continue;
    const file = await unlessDamaged(() => parseJson<ClaimFile>(object.bytes, key));
    claims.push({ key, epoch, file, touchedMs: Math.max(modifiedMs, file?.heartbeatMs ?? 0) });
  }
  return claims.sort((a, b) => b.epoch - a.epoch);
}

/** Undefined for a file that is damaged: that is for verify to find. */
async function unlessDamaged<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof DataError) return undefined;
    throw error;
  }
}

/** The highest epoch first: while a claim is kept, those that it overtook may still be its to inherit. */
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
      await ports.store.remove(key);
      return true;
    },
  }));
}

async function judgeClaims(
  ports: GarbagePorts,
  day: VesselDay,
): Promise<{ key: string; why: string; keep: boolean }[]> {
  const claims = await listClaims(ports.store, day);
  const receipt = await unlessDamaged(() => readReceipt(ports.store, day));
  const judged: { key: string; why: string; keep: boolean }[] = [];
  for (const claim of claims) {
    const verdict = await judgeClaim(ports, claim, receipt);
    const inherited = judged.some(({ keep }) => keep) && !isOvertaken(claim, receipt);
    judged.push({
      key: claim.key,
      ...(inherited ? { why: 'a newer claim may go on with it', keep: true } : verdict),
    });
  }
  return judged;
}

function isOvertaken(claim: ListedClaim, receipt: Receipt | undefined): boolean {
  return receipt !== undefined && receipt.epoch >= claim.epoch;
}

async function judgeClaim(
  { store, clock, self }: GarbagePorts,
  claim: ListedClaim,
  receipt: Receipt | undefined,
): Promise<{ why: string; keep: boolean }> {
  const { file } = claim;
  if (file !== undefined && isLive(file, { clock, self }))
    return { why: 'a live process owns it', keep: true };
  if (isOvertaken(claim, receipt))
    return { why: `attempt ${receipt?.epoch} has published the day`, keep: false };
  const ageMs = clock.nowMs() - claim.touchedMs;
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
  const uploads: (UploadRef & { startedMs: number })[] = [];
  for await (const upload of store.listUploads('')) if (OBJECT_KEY.test(upload.key)) uploads.push(upload);
  for (const upload of uploads) {
    const ageMs = clock.nowMs() - upload.startedMs;
    const [, job, vessel, date] = OBJECT_KEY.exec(upload.key)!;
    const day = { job: job!, vessel: vessel!, date: date! };
    const base = { kind: 'upload' as const, key: upload.key };
    const none = async () => false;
    if (kept.has(upload.key)) yield { ...base, why: 'a claim may go on with it', keep: true, remove: none };
    else if (ageMs < GARBAGE_AGE_MS)
      yield { ...base, why: `begun ${describeAge(ageMs)} ago`, keep: true, remove: none };
    else
      yield {
        ...base,
        why: `begun ${describeAge(ageMs)} ago, and no claim goes on with it`,
        keep: false,
        async remove() {
          if ((await listClaims(store, day)).length > 0) return false;
          await store.abortUpload(upload);
          return true;
        },
      };
  }
}

const OBJECT_KEY = /^([a-z0-9][a-z0-9_-]*)\/vessel=(IMO\d{7})\/date=(\d{4}-\d{2}-\d{2})\/data\.parquet$/;

/** Notes that are older than their day's receipt: what they tell of has been mended since. */
async function* noteItems({ store }: GarbagePorts): AsyncGenerator<GarbageItem> {
  const keys: string[] = [];
  for await (const { key } of store.list('_notes/')) keys.push(key);
  for (const key of keys) {
    const [, job, date, vessel] = NOTE_KEY.exec(key) ?? [];
    if (job === undefined || date === undefined || vessel === undefined) continue;
    const day = { job, vessel, date };
    if (!(await isOutlived(store, day))) continue;
    yield {
      kind: 'note',
      key: noteKey(day),
      why: 'the day has been published since',
      keep: false,
      async remove() {
        if (!(await isOutlived(store, day))) return false;
        await store.remove(noteKey(day));
        return true;
      },
    };
  }
}

const NOTE_KEY = /^_notes\/([^/]+)\/date=(\d{4}-\d{2}-\d{2})\/vessel=(IMO\d{7})\.json$/;

async function isOutlived(store: ObjectStore, day: VesselDay): Promise<boolean> {
  const receipt = await unlessDamaged(() => readReceipt(store, day));
  const note = receipt && (await unlessDamaged(() => readNote(store, day)));
  return receipt !== undefined && note !== undefined && note.at < receipt.finishedAt;
}

function describeAge(ageMs: number): string {
  const hours = Math.max(0, Math.floor(ageMs / 3_600_000));
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
