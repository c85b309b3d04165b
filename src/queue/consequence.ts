/** Error → what becomes of the vessel-day in the queue. Pure: the table of the fleet. */
import {
  CancelledError,
  CommitFailedError,
  CommitUnknownError,
  FencedError,
  RateLimitedError,
  RetriableError,
  VesselExportError,
} from '../errors.ts';
import { stopsAll } from './runner.ts';

/**
 *   hand-back    goes to the head of the queue at once                      costs no attempt
 *   wait         comes back after `delayMs`, holding no slot meanwhile      costs no attempt
 *   count-again  as wait, 5 min, 30 min, 2 h; then it fails                 costs no attempt
 *   retry        comes back after a growing delay; after 5 attempts it fails
 *   fail         into the failed set at once, with its reason
 *   hold         every other vessel-day would meet it too: the queue is put on hold
 */
export type Consequence =
  | { readonly kind: 'hand-back' | 'count-again' | 'retry' | 'fail' | 'hold' }
  | { readonly kind: 'wait'; readonly delayMs: number };

/** Delays before readings that did not match their counts are fetched again. */
export const COUNT_AGAIN_DELAYS_MS: readonly number[] = [300_000, 1_800_000, 7_200_000];

/** Attempts at a vessel-day whose failures may pass by themselves. */
export const MAX_ATTEMPTS = 5;

const LIMITED_DELAY_MS = 300_000;
const MAX_LIMITED_DELAY_MS = 3_600_000;
/** A live owner says so every 15 s, and a dead one's claim is stale after 60 s; to look costs two requests to the store. */
const FENCED_DELAY_MS = 10_000;

export function consequenceOf(error: unknown): Consequence {
  if (error instanceof CancelledError) return { kind: 'hand-back' };
  if (error instanceof RateLimitedError) {
    const delayMs = Math.min(error.retryAfterMs ?? LIMITED_DELAY_MS, MAX_LIMITED_DELAY_MS);
    return { kind: 'wait', delayMs };
  }
  if (error instanceof FencedError) return { kind: 'wait', delayMs: FENCED_DELAY_MS };
  if (stopsAll(error)) return { kind: 'hold' };
  if (error instanceof VesselExportError && error.code === 'counts-disagree') return { kind: 'count-again' };
  if (mayPass(error)) return { kind: 'retry' };
  return { kind: 'fail' };
}

/** A defect of ours may be one of a single process: it deserves another attempt. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof VesselExportError)) return true;
  return (
    error instanceof RetriableError ||
    error instanceof CommitFailedError ||
    error instanceof CommitUnknownError
  );
}

/** Delay before attempt `attemptsMade + 1`: 30 s, 1 min, 2 min, 4 min, each with up to half as much again. */
export function backoffMs(attemptsMade: number, random: () => number): number {
  return 30_000 * 2 ** Math.min(attemptsMade - 1, 6) * (1 + random() / 2);
}
