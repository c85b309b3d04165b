/** Definitions of backfills, in the lake, so that a lost queue costs only time. They are removed once the range is covered. */
import { createHash } from 'node:crypto';
import { DataError } from '../core/errors.ts';
import type { VesselDay } from '../core/model/index.ts';
import type { ObjectStore } from '../store/store.ts';
import { removeFinishedClaims } from './claims/claims.ts';
import { jsonBytes, orDamage } from './json.ts';
import { BACKFILL_PREFIX, backfillKey, parseBackfillKey } from './keys.ts';
import { BACKFILL_FILE, readFile, shown } from './shapes.ts';

export interface Backfill {
  readonly backfillVersion: 1;
  /** Derived from what it covers: the same command twice is the same backfill. */
  readonly id: string;
  readonly job: string;
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** Empty: the job's own. */
  readonly vessels: readonly string[];
  readonly allowShrink: boolean;
  readonly paused: boolean;
  readonly createdAt: string;
}

export type BackfillRequest = Pick<Backfill, 'job' | 'from' | 'to' | 'vessels' | 'allowShrink'>;

/** `measurements-2026-01-01-2026-02-01`, with a short digest if it does not cover the whole job. */
export function backfillId(request: BackfillRequest): string {
  const { job, from, to, vessels, allowShrink } = request;
  const whole = `${job}-${from}-${to}`;
  if (vessels.length === 0 && !allowShrink) return whole;
  const narrower = createHash('sha256').update(JSON.stringify([vessels.toSorted(), allowShrink]));
  return `${whole}-${narrower.digest('hex').slice(0, 6)}`;
}

export async function readBackfill(store: ObjectStore, id: string): Promise<Backfill | undefined> {
  return (await readVersion(store, id))?.file;
}

/** A definition with its version: a change replaces only this version. */
async function readVersion(store: ObjectStore, id: string) {
  const key = backfillKey(id);
  const read = await readFile<Backfill>(store, key, BACKFILL_FILE);
  if (read === undefined || read.file.backfillVersion === 1)
    return read && { ...read, file: { ...read.file, id } };
  throw new DataError(
    'unknown-backfill-version',
    `${key}: got backfillVersion ${shown(read.file.backfillVersion)}, expected 1; a newer vessel-export wrote it: use that one`,
  );
}

/** Every backfill that is not covered yet, the oldest first. Without `onDamaged` an invalid file throws its DataError. */
export async function listBackfills(
  store: ObjectStore,
  onDamaged: (id: string, error: DataError) => void = (_, error) => {
    throw error;
  },
): Promise<Backfill[]> {
  const backfills: Backfill[] = [];
  for await (const { key } of store.list(BACKFILL_PREFIX)) {
    const id = parseBackfillKey(key);
    if (id === undefined) continue;
    const backfill = await orDamage(readBackfill(store, id));
    if (backfill instanceof DataError) onDamaged(id, backfill);
    else if (backfill !== undefined) backfills.push(backfill);
  }
  return backfills.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}

/**
 * Replace a definition by what `change` returns for the present one; if it returns undefined, nothing is written. If another
 * process replaces or removes the definition at the same time, it is read, and `change` called, again. Returns the definition
 * before and after. Throws what the store and `change` throw.
 */
export async function updateBackfill(
  store: ObjectStore,
  id: string,
  change: (defined: Backfill | undefined) => Backfill | undefined,
): Promise<{ readonly before: Backfill | undefined; readonly now: Backfill | undefined }> {
  for (;;) {
    const read = await readVersion(store, id);
    const before = read?.file;
    const now = change(before);
    if (now === undefined) return { before, now: before };
    const written = await store.putIf(backfillKey(id), jsonBytes(now, 2), read?.version ?? null);
    if (written !== undefined) return { before, now };
  }
}

export async function removeBackfill(store: ObjectStore, id: string): Promise<void> {
  await store.remove(backfillKey(id));
}

/** End a covered backfill: remove its definition, and the claims of workers that died after the receipt. */
export async function endBackfill(store: ObjectStore, { id, job }: Backfill): Promise<void> {
  await removeFinishedClaims(store, job);
  await removeBackfill(store, id);
}

export function belongsTo(
  backfill: Pick<Backfill, 'job' | 'from' | 'to' | 'vessels'>,
  day: VesselDay,
): boolean {
  const { job, from, to, vessels } = backfill;
  const isVessel = vessels.length === 0 || vessels.includes(day.vessel);
  return day.job === job && day.date >= from && day.date < to && isVessel;
}
