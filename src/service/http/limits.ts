/** The two limits of the contract: requests per minute and client address, and requests at once per credential. */
import { HttpError } from './http-error.ts';

const MINUTE_MS = 60_000;
/** Addresses remembered at most; beyond that the idle ones are forgotten. */
const MAX_ADDRESSES = 10_000;

/** A token bucket per address: `ratePerMinute` at once, refilled evenly. Throws 429 with Retry-After. */
export class RateLimit {
  readonly #ratePerMinute: number | undefined;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(ratePerMinute: number | undefined) {
    this.#ratePerMinute = ratePerMinute;
  }

  take(address: string, nowMs: number): void {
    const rate = this.#ratePerMinute;
    if (rate === undefined) return;
    const bucket = this.#buckets.get(address) ?? { tokens: rate, atMs: nowMs };
    bucket.tokens = Math.min(rate, bucket.tokens + ((nowMs - bucket.atMs) * rate) / MINUTE_MS);
    bucket.atMs = nowMs;
    this.#buckets.delete(address);
    this.#buckets.set(address, bucket);
    if (this.#buckets.size > MAX_ADDRESSES) this.#buckets.delete(this.#buckets.keys().next().value!);
    if (bucket.tokens < 1) {
      const seconds = Math.max(1, Math.ceil(((1 - bucket.tokens) * MINUTE_MS) / rate / 1000));
      throw new HttpError(
        429,
        `more than ${rate} requests a minute from this address; try again in ${seconds} s`,
        { 'retry-after': String(seconds) },
      );
    }
    bucket.tokens -= 1;
  }
}

/** Requests at once per credential, counted until their answer has been sent. Throws 429. */
export class ConcurrencyLimit {
  readonly #max: number | undefined;
  readonly #open = new Map<string, number>();

  constructor(max: number | undefined) {
    this.#max = max;
  }

  /** Returns what ends the request's count; calling it again does nothing. */
  enter(clientId: string): () => void {
    const open = this.#open.get(clientId) ?? 0;
    if (this.#max !== undefined && open >= this.#max)
      throw new HttpError(
        429,
        `more than ${this.#max} requests at once with this credential; wait for one to end`,
      );
    this.#open.set(clientId, open + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const now = (this.#open.get(clientId) ?? 1) - 1;
      if (now === 0) this.#open.delete(clientId);
      else this.#open.set(clientId, now);
    };
  }
}
