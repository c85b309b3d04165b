/**
 * The record of what was reported is in the lake, with a copy in Redis. A lake that is full, closed or unreachable has to be
 * reported, but takes no writes then: so the copy holds the record until the lake accepts the next change.
 */
import { hash } from 'node:crypto';
import type { ObjectStore, Version } from '../../store/store.ts';

type NoticeStore = Pick<ObjectStore, 'get' | 'putIf'>;

const MAX_BYTES = 1 << 20;

const READ = `
if redis.call('strlen', KEYS[1]) > tonumber(ARGV[1]) then return '' end
return redis.call('get', KEYS[1]) or ''`;

const REPLACE = `
local now = redis.call('strlen', KEYS[1]) > tonumber(ARGV[3]) and '' or redis.call('get', KEYS[1]) or ''
if now ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[2])
return 1`;

/** One text in Redis, of bounded length; it is lost with Redis. `run` is that of a connection. */
export function createSharedText(
  run: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>,
  key: string,
) {
  return {
    /** '' if there is none, or if it is too long. Rejects while Redis is unreachable. */
    read: async () => String(await run(READ, [key], [String(MAX_BYTES)])),
    /** False: another process has changed it. Rejects while Redis is unreachable. */
    replace: async (before: string, after: string) =>
      (await run(REPLACE, [key], [before, after, String(MAX_BYTES)])) === 1,
  };
}

/** State of the copy in Redis: the lake has the same text, or it has not accepted it yet. */
const SAME = '=';
const AHEAD = '+';
const OTHER = 'other-place:';

/** For one key. Throws what the store throws, unless the copy in Redis can stand in. */
export function withOtherPlace(store: NoticeStore, other: ReturnType<typeof createSharedText>): NoticeStore {
  /** The copy as it was read last; undefined: Redis was unreachable. */
  let text: string | undefined;

  const read = async () => {
    text = await other.read().catch(() => undefined);
    return text;
  };
  const found = (kept: string) => ({ bytes: bytesOf(kept), version: versionOf(kept) });
  /** Undefined: Redis is unreachable. */
  const replace = async (after: string) => {
    if (text === undefined) return undefined;
    const isReplaced = await other.replace(text, after).catch(() => undefined);
    if (isReplaced) text = after;
    return isReplaced;
  };
  /** Marks the copy as accepted by the lake; nothing depends on it while the lake can be read. */
  const keepSame = async (bytes: Uint8Array) => {
    const same = textOf(SAME, bytes);
    if (await replace(same)) return;
    await read();
    await replace(same);
  };

  return {
    async get(key) {
      const kept = await read();
      if (kept?.startsWith(AHEAD)) return found(kept);
      try {
        return await store.get(key);
      } catch (error) {
        // The record is lost: reporting twice is better than not at all.
        if (kept === '') return undefined;
        if (kept === undefined) throw error;
        return found(kept);
      }
    },
    async putIf(key, bytes, expected) {
      const isInLake = expected === null || !expected.startsWith(OTHER);
      try {
        const inLake = isInLake ? expected : await lakeVersion(key, expected);
        if (inLake === undefined) return undefined;
        const written = await store.putIf(key, bytes, inLake);
        if (written !== undefined) await keepSame(bytes);
        return written;
      } catch (error) {
        const ahead = textOf(AHEAD, bytes);
        const isReplaced = await replace(ahead);
        if (isReplaced === undefined) throw error;
        return isReplaced ? versionOf(ahead) : undefined;
      }
    },
  };

  /** Version of the lake's file that a write replaces; undefined: it is not known. */
  async function lakeVersion(key: string, expected: Version): Promise<Version | null | undefined> {
    const kept = await read();
    if (kept === undefined || versionOf(kept) !== expected) return undefined;
    const inLake = await store.get(key);
    if (kept.startsWith(AHEAD)) return inLake?.version ?? null;
    return inLake && bytesOf(kept).equals(inLake.bytes) ? inLake.version : undefined;
  }
}

function textOf(mark: string, bytes: Uint8Array): string {
  return `${mark}${Buffer.from(bytes).toString('utf8')}`;
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(1));
}

function versionOf(text: string): Version {
  return `${OTHER}${hash('sha256', text)}`;
}
