/** Error → what becomes of the vessel-day in the queue. Pure: the table of the fleet. */
import {
  CancelledError,
  FencedError,
  mayPass,
  NotDueError,
  NotYetError,
  RateLimitedError,
  stopsAll,
  VesselExportError,
} from '../../core/errors.ts';

/**
 *   hand-back    goes to the head of the queue at once                      costs no attempt
 *   wait         comes back after `delayMs`; others are performed meanwhile costs no attempt
 *   count-again  as wait, 5 min, 30 min, 2 h; then it fails                 costs no attempt
 *   retry        comes back after a growing delay; after 5 attempts it fails
 *   fail         into the failed set at once, with its reason
 *   hold         every other vessel-day may meet it too: if a probe fails as well the queue is put on hold, else retry
 */
export type Consequence =
  | { readonly kind: 'hand-back' | 'count-again' | 'retry' | 'fail' | 'hold' }
  | { readonly kind: 'wait'; readonly delayMs: number };

/** Attempts at a vessel-day whose failures may pass by themselves. */
export const MAX_ATTEMPTS = 5;

const LIMITED_DELAY_MS = 300_000;
const MAX_LIMITED_DELAY_MS = 3_600_000;
/** The service's clock may be set right meanwhile. */
const MIN_NOT_DUE_DELAY_MS = 60_000;
const MAX_NOT_DUE_DELAY_MS = 3_600_000;
/** A live owner says so every 15 s, and a dead one's claim is stale after 60 s; to look costs two requests to the store. */
const FENCED_DELAY_MS = 10_000;

export function consequenceOf(error: unknown): Consequence {
  if (error instanceof CancelledError) return { kind: 'hand-back' };
  if (error instanceof RateLimitedError) {
    const delayMs = Math.min(error.retryAfterMs ?? LIMITED_DELAY_MS, MAX_LIMITED_DELAY_MS);
    return { kind: 'wait', delayMs };
  }
  if (error instanceof FencedError) return { kind: 'wait', delayMs: FENCED_DELAY_MS };
  if (error instanceof NotYetError) return { kind: 'wait', delayMs: error.delayMs };
  if (error instanceof NotDueError) {
    const delayMs = Math.min(Math.max(error.delayMs, MIN_NOT_DUE_DELAY_MS), MAX_NOT_DUE_DELAY_MS);
    return { kind: 'wait', delayMs };
  }
  if (stopsAll(error)) return { kind: 'hold' };
  if (error instanceof VesselExportError && error.code === 'counts-disagree') return { kind: 'count-again' };
  // A defect of ours may be that of a single process.
  if (mayPass(error) || !(error instanceof VesselExportError)) return { kind: 'retry' };
  return { kind: 'fail' };
}

/** Delay before attempt `attemptsMade + 1`: 30 s, 1 min, 2 min, 4 min, each with up to half as much again. */
export function backoffMs(attemptsMade: number, random: () => number): number {
  return 30_000 * 2 ** Math.min(attemptsMade - 1, 6) * (1 + random() / 2);
}
