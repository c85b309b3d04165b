/** Fills the queue with open vessel-days, a few thousand at a time: a million would only fill Redis. */
import type { VesselDay } from '../core/model/index.ts';
import { formatVesselDay } from '../core/model/index.ts';
import type { OpenDays } from './open-days.ts';
import type { QueuedDay, QueuedKind, VesselDayQueue } from './queue/vessel-day-queue.ts';

/**
 * Vessel-days that may wait in the queue before no more of a kind enter. What is more urgent may wait in greater
 * number: a queue that is full of a backfill still takes what a look-back found, and nightly vessel-days.
 */
export const MAX_WAITING = { nightly: 4_000, reconcile: 3_000, backfill: 2_000 } as const;

/** How many more of a kind may enter. */
export async function roomFor(queue: VesselDayQueue, kind: QueuedKind): Promise<number> {
  const { waiting, prioritized, delayed } = await queue.depth();
  const taken = (kind === 'nightly' ? waiting : prioritized) + delayed;
  return Math.max(0, MAX_WAITING[kind] - taken);
}

export interface TopUp {
  readonly added: number;
  /** Those of the open ones, as far as was looked, that stand in the queue or in its failed set now. */
  readonly queued: readonly VesselDay[];
  /** Not looked at, or without room. */
  readonly left: number;
}

/** Looked at in one round trip. */
const CHUNK = 1_000;

/**
 * Add open vessel-days that are not in the queue, in their order, as many as there is room for, with what `entryOf`
 * says of it. `before`: those that were in the queue when the ledger was read; they count as queued.
 */
export async function topUp(
  queue: VesselDayQueue,
  open: OpenDays,
  room: number,
  entryOf: (day: VesselDay) => Omit<QueuedDay, keyof VesselDay>,
  before: ReadonlySet<string> = new Set(),
): Promise<TopUp> {
  const queued: VesselDay[] = [];
  let added = 0;
  // Without room it only matters which are in the queue already, and no more than these can be.
  let most = room > 0 ? open.length : Math.min(open.length, MAX_WAITING.nightly + CHUNK);
  for (const chunk of chunksOf(open)) {
    if (most <= 0) break;
    most -= chunk.length;
    const known = await queue.known(chunk);
    const isKnown = (day: VesselDay) => known.has(formatVesselDay(day)) || before.has(formatVesselDay(day));
    const fresh = chunk.filter((day) => !isKnown(day)).slice(0, room - added);
    await queue.add(fresh.map((day) => ({ ...day, ...entryOf(day) })));
    added += fresh.length;
    queued.push(...chunk.filter(isKnown), ...fresh);
    if (added === room && room > 0) break;
  }
  return { added, queued, left: open.length - queued.length };
}

function* chunksOf(days: Iterable<VesselDay>): Iterable<VesselDay[]> {
  let chunk: VesselDay[] = [];
  for (const day of days) {
    if (chunk.push(day) < CHUNK) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
