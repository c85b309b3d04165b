/** What the server answers: whether it refuses the login, and what it says of itself. */
import { type Redis, ReplyError } from 'ioredis';
import { ConfigError, cleanForeignText, messageOf } from '../core/errors.ts';
import type { Log } from '../core/model/ports.ts';
import type { Address } from './address.ts';

const MIN_VERSION = [6, 2] as const;

/** The first word of an error reply (`WRONGPASS`, `NOSCRIPT`, `ERR`): ioredis passes on only its text. */
export function replyCode(error: unknown): string | undefined {
  return error instanceof ReplyError ? messageOf(error).split(' ', 1)[0] : undefined;
}

const REFUSAL_CODES = new Set(['WRONGPASS', 'NOAUTH', 'NOPERM']);

/** Redis refuses the credentials, or has no database with that number, for which there is no code. */
export function isLoginRefused(error: unknown): boolean {
  const code = replyCode(error);
  if (code === undefined) return false;
  const { command } = error as { readonly command?: { readonly name: string } };
  return REFUSAL_CODES.has(code) || (code === 'ERR' && command?.name === 'select');
}

/** The policy under which no key of the queue is ever evicted. */
export const SAFE_EVICTION_POLICY = 'noeviction';

export async function describeRedis(client: Pick<Redis, 'info'>) {
  const info = await client.info();
  const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  return {
    version: value('redis_version') ?? '0',
    /** What it does when its memory is full; undefined if it does not say. */
    evictionPolicy: value('maxmemory_policy'),
    /** 0: no limit. */
    maxMemoryBytes: Number(value('maxmemory') ?? 0),
    usedMemoryBytes: Number(value('used_memory') ?? 0),
  };
}

/** Throws ConfigError (`redis-version`, `redis-refused`) and RetriableError `redis-unreachable`; warns of a policy that evicts keys. */
export async function checkServer(
  client: Redis,
  { shown, at, refused, unreachable }: Address,
  log: Log,
): Promise<void> {
  const { version, evictionPolicy: policy } = await describeRedis(client).catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    if (isLoginRefused(error)) throw refused(error);
    // For a command that was cut off ioredis only says how often it has tried.
    throw unreachable(error instanceof ReplyError ? error : undefined);
  });
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    const text = `${at} is version ${cleanForeignText(version)}, expected ${MIN_VERSION.join('.')} or later`;
    throw new ConfigError('redis-version', text);
  }
  if (policy !== undefined && policy !== SAFE_EVICTION_POLICY) {
    log.warn(
      { redis: shown, policy },
      'Redis may evict keys when its memory is full, and the queue with them: set maxmemory-policy noeviction',
    );
  }
}
