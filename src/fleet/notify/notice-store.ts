/**
 * Where it stands what was told: in the lake, and beside it in what the processes share. A lake that is full, closed or
 * out of reach is what people have to be told of, and then it is neither read nor written: so what was told is kept in the
 * other place until the lake takes the next change.
 */
import { hash } from 'node:crypto';
import type { ObjectStore, Version } from '../../store/store.ts';

type NoticeStore = Pick<ObjectStore, 'get' | 'putIf'>;

/** What processes share besides the lake. Both reject while it is out of reach. */
interface OtherPlace {
  /** '' where nothing is. */
  read(): Promise<string>;
  /** False: it is another one by now. */
  replace(before: string, after: string): Promise<boolean>;
}

/** Of the text in the other place: the lake has the same, or it has not taken it. */
const SAME = '=';
const AHEAD = '+';
const OTHER = 'other-place:';

/** For one key. Throws what the store throws where the other place does not help. */
export function withOtherPlace(store: NoticeStore, other: OtherPlace): NoticeStore {
  /** As it was read last; undefined: out of reach. */
  let text: string | undefined;

  const read = async () => {
    text = await other.read().catch(() => undefined);
    return text;
  };
  const found = (kept: string) => ({ bytes: bytesOf(kept), version: versionOf(kept) });
  /** Undefined: it is out of reach. */
  const replace = async (after: string) => {
    if (text === undefined) return undefined;
    const isReplaced = await other.replace(text, after).catch(() => undefined);
    if (isReplaced) text = after;
    return isReplaced;
  };
  /** What the lake has taken; nothing depends on it while the lake can be read. */
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
        // Nothing is known of what was told before: better twice than not at all.
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

  /** Of the lake's file that is to be replaced; undefined: it is not known any more what is replaced. */
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
