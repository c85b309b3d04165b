/** Errors of the page's server, and the wait for Redis: if it is unreachable or hangs, only what it alone knows is missing, after a short time. */
import { endsWithin } from '../core/concurrency.ts';
import { messageOf, VesselExportError } from '../core/errors.ts';
import type { Clock } from '../core/model/index.ts';

/** `status` 4xx or 5xx. The message is shown to the user: what was found, what was expected, what to do next. */
export class WebError extends VesselExportError {
  readonly status: number;
  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.status = status;
  }
}

/** Redis replies in milliseconds, or counts as unreachable. */
const PATIENCE_MS = 2_000;

/**
 * What Redis replies. `without`: the end of a sentence that says what is not known, or not done, without a reply. Throws
 * WebError 503: `redis-away`, or `redis-refuses` if it replies with an error.
 */
export async function askRedis<T>(
  asked: Promise<T>,
  without: string,
  redis: { readonly status: string },
  clock: Clock,
): Promise<T> {
  const isAnswered = await endsWithin(asked, PATIENCE_MS, clock);
  try {
    if (isAnswered) return await asked;
  } catch (error) {
    if (redis.status === 'ready')
      throw new WebError(503, 'redis-refuses', `Redis refuses (${messageOf(error)}): ${without}`);
  }
  throw new WebError(503, 'redis-away', `Redis is out of reach: ${without}`);
}
