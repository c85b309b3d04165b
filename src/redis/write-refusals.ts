/** Why Redis refuses writes, or one command: its error replies, and what to do about each. */
import { ConfigError, cleanForeignText, RetriableError } from '../core/errors.ts';

const REFUSALS: Readonly<Record<string, readonly [code: string, advice: string]>> = {
  OOM: ['redis-full', 'its memory is full: raise its maxmemory, or find what else fills it; the queue stays'],
  READONLY: ['redis-read-only', 'it is a replica: name its primary in REDIS_URL, or finish the failover'],
  NOREPLICAS: [
    'redis-too-few-replicas',
    'fewer replicas are in reach than its min-replicas-to-write: start them, or lower that',
  ],
  MISCONF: [
    'redis-cannot-save',
    'it cannot write to its disk, and so it refuses writes: make room there; its log has details',
  ],
};
/** The first word of the reply; before Redis 7 the reply of a script has it further on. */
const CODE = /^(?:ERR Error running script.*?-)?(OOM|READONLY|NOREPLICAS|MISCONF) /s;

/** Of a script: Redis 7 omits the code, Redis 8 and Valkey 9 say it in other words. */
const NO_RIGHTS = /^NOPERM |^ERR ACL failure in script: |^ERR .*The user executing the script can't /s;

/** RetriableError for a write that is refused, ConfigError for a command that is not allowed; else `error` itself. */
export function nameRefusal(error: Error, shown: string): Error {
  if (NO_RIGHTS.test(error.message)) {
    const text = `REDIS_URL: Redis at ${shown} does not let its user do what is needed: ${cleanForeignText(error.message)}`;
    const advice = 'docs/operating.md, Redis, has the rights to give it';
    return new ConfigError('redis-refused', `${text}; ${advice}`, { cause: error });
  }
  const [code, advice] = REFUSALS[CODE.exec(error.message)?.[1] ?? ''] ?? [];
  if (code === undefined) return error;
  return new RetriableError(code, `REDIS_URL: Redis at ${shown} takes no writes: ${advice}`, {
    cause: error,
  });
}
