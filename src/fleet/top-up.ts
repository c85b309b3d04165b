/** Fills the queue with open vessel-days, a few thousand at a time: a million would only fill Redis. */
import type { VesselDay } from '../model/index.ts';
import { formatVesselDay } from '../model/index.ts';
import type { QueuedDay, QueuedKind, VesselDayQueue } from '../queue/vessel-day-queue.ts';

/**
 * Vessel-days that may wait in the queue: nightly ones never have to wait behind others to get in, nor those that
 * a look-back found behind a backfill.
 */
export const MOST_WAITING = { nightly: 4_000, reconcile: 3_000, backfill: 2_000 } as const;

/** How many more of a kind may enter. */
export async function roomFor(queue: VesselDayQueue, kind: QueuedKind): Promise<number> {
  const { waiting, prioritized, delayed } = await queue.depth();
  const taken = (kind === 'nightly' ? waiting : prioritized) + delayed;
  return Math.max(0, MOST_WAITING[kind] - taken);
}

export interface TopUp {
  readonly added: number;
  /** Those that stand in the queue or in its failed set now, among the first of the open ones. */
  readonly queued: readonly VesselDay[];
  /** Not looked at, or without room. */
  readonly left: number;
}

/** Looked at in one round trip. */
const CHUNK = 1_000;

/**
 * Add open vessel-days that are not in the queue, in their order, as many as there is room for. `before`: those
 * that were in the queue when the ledger was read; they count as queued.
 */
export async function topUp(
  queue: VesselDayQueue,
  open: readonly VesselDay[],
  room: number,
  how: Omit<QueuedDay, keyof VesselDay>,
  before: ReadonlySet<string> = new Set(),
): Promise<TopUp> {
  const queued: VesselDay[] = [];
  let added = 0;
  // More than can be waiting need not be looked at when there is no room for them anyway.
  const most = added < room ? open.length : Math.min(open.length, MOST_WAITING.nightly + CHUNK);
  for (let at = 0; at < most; at += CHUNK) {
    const chunk = open.slice(at, at + CHUNK);
    const known = await queue.known(chunk);
    const isKnown = (day: VesselDay) => known.has(formatVesselDay(day)) || before.has(formatVesselDay(day));
    const fresh = chunk.filter((day) => !isKnown(day)).slice(0, room - added);
    await queue.add(fresh.map((day) => ({ ...day, ...how })));
    added += fresh.length;
    queued.push(...chunk.filter(isKnown), ...fresh);
    if (added === room && room > 0) break;
  }
  return { added, queued, left: open.length - queued.length };
}
