/**
 * The object store of a simulated world: one in memory, every call of which has a moment of asking, one of effect and one of
 * answer. Any of them may come late; a request may be lost, its answer too, and it may arrive twice. What is idempotent is
 * asked again here, as the port has it.
 */
import { CommitUnknownError, RetriableError } from '../../src/core/errors.ts';
import {
  type ObjectStore,
  objectChanged,
  type PartRef,
  type UploadRef,
  type Version,
} from '../../src/store/store.ts';
import { chance, type Draw, pick } from './random.ts';
import { type Life, type Scheduler, shortDelay } from './scheduler.ts';

/** Of a hundred calls, so many meet each fault. */
export interface StoreFaults {
  /** The request never arrives. */
  readonly lost: number;
  /** It has arrived, and nobody hears of it. */
  readonly unanswered: number;
  /** Nobody waits for it any more when it arrives, up to twenty minutes later. */
  readonly late: number;
  /** It arrives once more, up to twenty minutes later. */
  readonly doubled: number;
  /** Somebody else is writing there, the store says. */
  readonly conflict: number;
  /** It is done, and the answer names no version: a page of somebody in between. */
  readonly unnamed: number;
}

export const NO_STORE_FAULTS: StoreFaults = {
  ...{ lost: 0, unanswered: 0, late: 0, doubled: 0, conflict: 0, unnamed: 0 },
};

/** What a store can do: all, no condition on completing and removing, nor on replacing, nor where there is nothing. */
export const ABILITIES = ['all', 'no-complete', 'no-replace', 'no-put'] as const;
export type Abilities = (typeof ABILITIES)[number];

const TIMEOUT_MS = 5_000;
const LATEST_MS = 20 * 60_000;
const TRIES = 3;

interface StoreWorld {
  readonly scheduler: Scheduler;
  readonly disk: ObjectStore;
  readonly faults: () => StoreFaults;
  readonly draw: Draw;
  readonly abilities?: Abilities;
  /** Told of each effect right before it is. */
  readonly onEffect: (life: Life, call: string, how: How, askedMs: number) => void;
}

/** `again`: it came twice; `unanswered`: nobody hears of it. */
export type How = 'once' | 'late' | 'again' | 'unanswered';

/** `replace`: without a condition, where the store knows none. */
type Kind = 'read' | 'write' | 'conditional' | 'replace' | 'part' | 'complete';

/** The store as one process has it. */
export function storeOf(life: Life, world: StoreWorld): ObjectStore {
  const { scheduler, disk, faults, draw, abilities = 'all', onEffect } = world;
  const can = {
    conditionalPut: abilities !== 'no-put',
    conditionalReplace: abilities === 'all' || abilities === 'no-complete',
    conditionalComplete: abilities === 'all',
  };

  /** One request. */
  function ask<T>(call: string, kind: Kind, act: () => Promise<T>): Promise<T> {
    if (scheduler.onAsk(life, call))
      return new Promise((resolve, reject) => {
        scheduler.at(scheduler.nowMs, () => ask(call, kind, act).then(resolve, reject), life);
      });
    // As many throws of the dice whatever comes, so that a world with fewer faults is the same otherwise.
    const [throwOf, lateMs] = [draw(100), draw(LATEST_MS)];
    const [thereMs, backMs] = [shortDelay(draw), shortDelay(draw)];
    const { nowMs } = scheduler;
    // What somebody sends while he dies or falls asleep may be on its way for long.
    const isStopped = life.isDead || life.pausedUntilMs > nowMs;
    const isLate = isStopped && kind !== 'read' && kind !== 'replace' && lateMs % 2 === 0;
    const fate = isLate ? 'late' : fateOf(throwOf, kind, faults());
    return new Promise<T>((resolve, reject) => {
      const effect = (how: How) => {
        onEffect(life, call, how, nowMs);
        return act();
      };
      const arrive = (afterMs: number, how: How) =>
        scheduler.at(nowMs + afterMs, () => void effect(how).catch(() => {}));
      const fail = (afterMs: number, error: Error) =>
        scheduler.at(nowMs + afterMs, () => reject(error), life);
      const answer = (go: () => void) => scheduler.at(scheduler.nowMs + backMs, go, life);
      if (fate === 'conflict')
        fail(thereMs, new RetriableError('s3-conflict', `${call}: other writers keep creating it`));
      else if (fate === 'lost' || fate === 'unanswered' || fate === 'late') {
        if (fate === 'unanswered') arrive(thereMs, fate);
        if (fate === 'late') arrive(TIMEOUT_MS + lateMs, fate);
        fail(TIMEOUT_MS, noAnswer(kind, call));
      } else {
        if (fate === 'doubled') arrive(thereMs + lateMs, 'again');
        scheduler.at(nowMs + thereMs, () =>
          effect('once').then(
            (result) => answer(() => (fate === 'unnamed' ? reject(new UnnamedError(call)) : resolve(result))),
            (error: unknown) => answer(() => reject(error)),
          ),
        );
      }
    });
  }

  /** As often as the client of a store asks by itself. */
  async function again<T>(call: string, kind: Kind, act: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++)
      try {
        return await ask(call, kind, act);
      } catch (error) {
        const isFinal = error instanceof UnnamedError && kind !== 'read';
        if (!(error instanceof RetriableError) || error.code === 's3-conflict' || isFinal || tries === TRIES)
          throw error;
      }
  }

  /** What was written is read back where the answer tells nothing. */
  async function putIf(key: string, bytes: Uint8Array, expected: Version | null) {
    const isConditional = expected === null ? can.conditionalPut : can.conditionalReplace;
    const put = async () => {
      if (isConditional) return await disk.putIf(key, bytes, expected);
      await disk.put(key, bytes);
      return (await disk.head(key))?.version;
    };
    try {
      return await again(
        `put ${key} in the place of ${expected}`,
        isConditional ? 'conditional' : 'replace',
        put,
      );
    } catch (error) {
      if (!(error instanceof UnnamedError)) throw error;
      const version = versionHolding(await store.get(key), bytes);
      if (version === undefined) throw error;
      return version;
    }
  }

  /** For a store that cannot do it in one act: reads before and after the write. */
  async function writeWithReads(key: string, bytes: Uint8Array, expected: Version | null) {
    const before = await store.get(key);
    const own = versionHolding(before, bytes);
    if (own !== undefined || (before?.version ?? null) !== expected) return own;
    await putIf(key, bytes, expected);
    return versionHolding(await store.get(key), bytes);
  }

  /** Completes with the condition where the store can, else after a look. */
  async function complete(upload: UploadRef, parts: readonly PartRef[], expected?: Version | null) {
    const call = `complete ${upload.key} ${upload.nonce}`;
    const isLooked = expected !== undefined && !can.conditionalComplete;
    if (isLooked && ((await store.head(upload.key))?.version ?? null) !== expected) {
      if (await store.publishedBy(upload, parts)) return;
      throw objectChanged(upload.key);
    }
    try {
      await ask(call, 'complete', () => disk.publish(upload, parts, isLooked ? undefined : expected));
    } catch (error) {
      if (!(error instanceof UnnamedError)) throw error;
      if (!(await store.publishedBy(upload, parts))) throw noAnswer('complete', call);
    }
  }

  const store: ObjectStore = {
    url: 'memory://lake',
    get: (key) => again(`get ${key}`, 'read', () => disk.get(key)),
    head: (key) => again(`head ${key}`, 'read', () => disk.head(key)),
    getRange: (key, from, to) =>
      again(`get ${key} [${from},${to})`, 'read', () => disk.getRange(key, from, to)),
    put: (key, bytes) => again(`put ${key}`, 'write', () => disk.put(key, bytes)),
    putIf: (key, bytes, expected) =>
      (expected === null ? can.conditionalPut : can.conditionalReplace)
        ? putIf(key, bytes, expected)
        : writeWithReads(key, bytes, expected),
    putIfAbsent: async (key, bytes) => (await store.putIf(key, bytes, null)) !== undefined,
    remove: (key) => again(`remove ${key}`, 'write', () => disk.remove(key)),
    async removeAll(keys, mayReturn = []) {
      const all = [...keys, ...mayReturn];
      if (all.length > 0) await again(`remove ${all.join(' ')}`, 'write', () => disk.removeAll(all));
    },
    async removeIf(key, expected) {
      if (can.conditionalComplete)
        return await again(`remove ${key} if ${expected}`, 'conditional', () => disk.removeIf(key, expected));
      if ((await store.head(key))?.version !== expected) return false;
      await store.remove(key);
      return true;
    },
    async *list(prefix) {
      for await (const page of store.listPages(prefix)) yield* page;
    },
    async *listPages(prefix) {
      yield* await again(`list ${prefix}`, 'read', () => Array.fromAsync(disk.listPages(prefix)));
    },
    folderState: async () => undefined,
    begin: (key, nonce) => again(`begin an upload of ${key}`, 'write', () => disk.begin(key, nonce)),
    append: (upload, number, bytes) =>
      again(`send part ${number} of ${upload.key}`, 'part', () => disk.append(upload, number, bytes)),
    adopt: (upload, parts, nonce) =>
      ask(`adopt the upload of ${upload.key}`, 'read', () => disk.adopt(upload, parts, nonce)),
    publish: complete,
    publishedBy: (upload, parts) =>
      again(`is ${upload.key} ${upload.nonce}`, 'read', () => disk.publishedBy(upload, parts)),
    abandon: (upload) => again(`abort ${upload.key} ${upload.nonce}`, 'write', () => disk.abandon(upload)),
    async *listUploads(prefix) {
      yield* await again(`list uploads ${prefix}`, 'read', () => Array.fromAsync(disk.listUploads(prefix)));
    },
    capabilities: async () => can,
    close: async () => {},
  };
  return store;
}

/**
 * What becomes of a request, by a throw of `[0, 100)`. What only reads is never late; parts are sent in their order. What
 * replaces a version without a condition would do harm where it is late: that such a store is to be spared.
 */
function fateOf(throwOf: number, kind: Kind, faults: StoreFaults): keyof StoreFaults | undefined {
  const mayStray = kind === 'write' || kind === 'conditional' || kind === 'complete';
  const may = {
    lost: true,
    conflict: kind === 'conditional',
    unanswered: kind !== 'read',
    ...{ late: mayStray, doubled: mayStray },
    unnamed: kind !== 'write' && kind !== 'part',
  };
  let below = 0;
  for (const fate of Object.keys(may) as (keyof StoreFaults)[]) {
    below += faults[fate];
    if (throwOf < below) return may[fate] ? fate : undefined;
  }
  return undefined;
}

/** Nobody asks again because of one by itself, for what was written is there. */
class UnnamedError extends RetriableError {
  constructor(call: string) {
    super('unreachable', `${call}: the answer names no version`);
  }
}

function versionHolding(found: Awaited<ReturnType<ObjectStore['get']>>, bytes: Uint8Array) {
  return found !== undefined && Buffer.compare(found.bytes, bytes) === 0 ? found.version : undefined;
}

function noAnswer(kind: Kind, call: string): Error {
  return kind === 'complete'
    ? new CommitUnknownError('complete-unknown', `${call}: no answer`)
    : new RetriableError('unreachable', `${call}: no answer`);
}

/** Some of the faults of a history: whole kinds are left out, so that each kind is seen alone too. */
export function drawStoreFaults(draw: Draw, unnamed = 0): StoreFaults {
  if (chance(draw, 20)) return { ...NO_STORE_FAULTS, unnamed };
  const rate = () => (draw(2) === 0 ? 0 : 1 + draw(6));
  const conflict = () => (draw(4) === 0 ? 1 : 0);
  return {
    ...{ lost: rate(), unanswered: rate(), late: rate(), doubled: rate() },
    ...{ conflict: conflict(), unnamed },
  };
}

/** Of a store, and how often its answers name no version. */
export function drawAbilities(draw: Draw): { readonly abilities: Abilities; readonly unnamed: number } {
  const abilities = chance(draw, 60) ? 'all' : pick(draw, ABILITIES);
  return { abilities, unnamed: draw(3) === 0 ? 1 + draw(4) : 0 };
}
