/** Why a question to the page's server is not answered; and the one wait for Redis: one that is away or frozen costs what only it knows, and soon. */
import { endsWithin } from '../core/concurrency.ts';
import { messageOf, VesselExportError } from '../core/errors.ts';
import type { Clock } from '../core/model/index.ts';

/** `status` 4xx or 5xx. The message is shown to who asked: what was found, what was expected, what to do next. */
export class WebError extends VesselExportError {
  readonly status: number;
  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.status = status;
  }
}

/** It answers in milliseconds, or is away. */
const PATIENCE_MS = 2_000;

/**
 * What Redis answers. `without`: what is not known, or not done, without an answer: the end of a sentence. Throws WebError
 * 503: `redis-away`, or `redis-refuses` where it is there and will not.
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
