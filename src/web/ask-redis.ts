/** The one wait for Redis of who looks at the page: a Redis that is away or frozen costs what only it knows, and soon. */
import { endsWithin } from '../core/concurrency.ts';
import { messageOf } from '../core/errors.ts';
import type { Clock } from '../core/model/index.ts';
import type { WebPorts } from './ports.ts';
import { WebError } from './web-error.ts';

/** It answers in milliseconds, or is away. */
const PATIENCE_MS = 2_000;

interface RedisQuestion<T> {
  /** The connection that is asked. */
  readonly redis: Pick<NonNullable<WebPorts['fleet']>['redis'], 'status'>;
  readonly clock: Clock;
  readonly asked: Promise<T>;
  /** What is not known, or not done, without an answer: the end of a sentence. */
  readonly without: string;
}

/** What Redis answers. Throws WebError 503: `redis-away`, or `redis-refuses` where it is there and will not. */
export async function askRedis<T>({ redis, clock, asked, without }: RedisQuestion<T>): Promise<T> {
  const isAnswered = await endsWithin(asked, PATIENCE_MS, clock);
  try {
    if (isAnswered) return await asked;
  } catch (error) {
    if (redis.status === 'ready')
      throw new WebError(503, 'redis-refuses', `Redis refuses (${messageOf(error)}): ${without}`);
  }
  throw new WebError(503, 'redis-away', `Redis is out of reach: ${without}`);
}
