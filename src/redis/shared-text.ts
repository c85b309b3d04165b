/** One text that processes share, replaced only by who has read it. Bounded, and lost with Redis. */
import type { RedisConnection } from './connection.ts';

interface SharedText {
  /** '' where there is none, or too much. Rejects while Redis is out of reach. */
  read(): Promise<string>;
  /** False: it is another one by now. Rejects while Redis is out of reach. */
  replace(before: string, after: string): Promise<boolean>;
}

const MAX_BYTES = 1 << 20;

const READ = `
if redis.call('strlen', KEYS[1]) > tonumber(ARGV[1]) then return '' end
return redis.call('get', KEYS[1]) or ''`;

const REPLACE = `
local now = redis.call('strlen', KEYS[1]) > tonumber(ARGV[3]) and '' or redis.call('get', KEYS[1]) or ''
if now ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[2])
return 1`;

export function createSharedText(connection: Pick<RedisConnection, 'run'>, key: string): SharedText {
  return {
    read: async () => String(await connection.run(READ, [key], [String(MAX_BYTES)])),
    replace: async (before, after) =>
      (await connection.run(REPLACE, [key], [before, after, String(MAX_BYTES)])) === 1,
  };
}
