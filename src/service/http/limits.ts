/** The two limits of the contract: requests per minute and client address, and requests at once per credential. */
import { HttpError } from './http-error.ts';

const MINUTE_MS = 60_000;
/** Addresses remembered at most; beyond that the idle ones are forgotten. */
const MAX_ADDRESSES = 10_000;

/** A token bucket per address: `ratePerMinute` at once, refilled evenly. What it gives takes one; throws 429 with Retry-After. */
export function createRateLimit(ratePerMinute: number | undefined) {
  const buckets = new Map<string, { tokens: number; atMs: number }>();
  return (address: string, nowMs: number): void => {
    if (ratePerMinute === undefined) return;
    const bucket = buckets.get(address) ?? { tokens: ratePerMinute, atMs: nowMs };
    const refilled = bucket.tokens + ((nowMs - bucket.atMs) * ratePerMinute) / MINUTE_MS;
    Object.assign(bucket, { tokens: Math.min(ratePerMinute, refilled), atMs: nowMs });
    buckets.delete(address);
    buckets.set(address, bucket);
    if (buckets.size > MAX_ADDRESSES) buckets.delete(buckets.keys().next().value!);
    if (bucket.tokens < 1) {
      const seconds = Math.max(1, Math.ceil(((1 - bucket.tokens) * MINUTE_MS) / ratePerMinute / 1000));
      const found = `more than ${ratePerMinute} requests a minute from this address`;
      throw new HttpError(429, `${found}; try again in ${seconds} s`, { 'retry-after': String(seconds) });
    }
    bucket.tokens -= 1;
  };
}

/** Requests at once per credential, counted until what this gives is called. Throws 429. */
export function createConcurrencyLimit(max: number = Infinity) {
  const open = new Map<string, number>();
  return (clientId: string): (() => void) => {
    const count = open.get(clientId) ?? 0;
    if (count >= max) {
      const found = `more than ${max} requests at once with this credential`;
      throw new HttpError(429, `${found}; wait for one to end`);
    }
    open.set(clientId, count + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const now = open.get(clientId)! - 1;
      if (now === 0) open.delete(clientId);
      else open.set(clientId, now);
    };
  };
}
