/** Why a Redis that answers takes no writes: what it says of that, by Redis' protocol, and what to do. */
import { RetriableError } from '../errors.ts';

const REFUSALS: Readonly<Record<string, readonly [code: string, advice: string]>> = {
  OOM: [
    'redis-full',
    'its memory is full: raise its maxmemory, or look who else fills it; what is in the queue stays',
  ],
  READONLY: ['redis-read-only', 'it is a replica: name its primary in REDIS_URL, or finish the failover'],
  NOREPLICAS: [
    'redis-too-few-replicas',
    'fewer replicas are in reach than its min-replicas-to-write: start them, or lower that',
  ],
  MISCONF: [
    'redis-cannot-save',
    'it cannot write to its disk, and so stops: make room there; its log says more',
  ],
};
/** First word of the answer; of a script, for Redis before 7, further on. */
const CODE = /^(?:ERR Error running script.*?-)?(OOM|READONLY|NOREPLICAS|MISCONF) /s;

/** A RetriableError (`redis-full`, `redis-read-only`, …) for an answer that refuses a write; any other error as it is. */
export function nameWriteRefusal(error: Error, shown: string): Error {
  const [code, advice] = REFUSALS[CODE.exec(error.message)?.[1] ?? ''] ?? [];
  if (code === undefined) return error;
  return new RetriableError(code, `REDIS_URL: Redis at ${shown} takes no writes: ${advice}`, {
    cause: error,
  });
}
