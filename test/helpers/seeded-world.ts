/**
 * A world of one process in which every call of a store, and every sleep, is a step that a seed lets go: in any order,
 * late, lost, or done although its answer was lost. The same seed gives the same history.
 */
import { RetriableError } from '../../src/core/errors.ts';
import type { Clock } from '../../src/core/model/index.ts';
import { eachOf, type ObjectStore, type Version } from '../../src/store/store.ts';
import { collect } from '../store/store-suite.ts';
import { createMemoryStore } from './memory-store.ts';

/** A whole number below `n`. */
export type Random = (n: number) => number;

export type World = ReturnType<typeof createWorld>;

interface Step {
  readonly go: () => void;
  readonly dueMs: number;
}

/** Steps of one history: one that has more hangs. */
const MAX_STEPS = 50_000;
const BEGIN_MS = Date.UTC(2026, 0, 6);

/** `overwrites`: a store that now and then keeps no condition, which is a defect to be found. */
export function createWorld(seed: number, { overwrites = false } = {}) {
  const random = randomOf(seed);
  const troublePercent = random(3) === 0 ? 0 : 3 + random(25);
  const ready: Step[] = [];
  const late: (() => unknown)[] = [];
  let ms = 0;

  const clock: Clock = {
    nowMs: () => BEGIN_MS + ms,
    monotonicMs: () => ms,
    sleep: (delayMs) => new Promise((resolve) => ready.push({ go: resolve, dueMs: ms + delayMs })),
  };

  const memory = createMemoryStore(clock.nowMs);

  const step = <T>(act: () => Promise<T>, writes: boolean) =>
    new Promise<T>((resolve, reject) => {
      const go = () => {
        if (random(100) >= troublePercent) return resolve(act());
        const trouble = random(writes ? 3 : 1);
        if (trouble === 1) void act();
        if (trouble === 2) late.push(act);
        reject(new RetriableError('unreachable', 'no answer'));
      };
      ready.push({ go, dueMs: ms });
    });
  /** As a store's client does by itself, where it may. */
  async function again<T>(act: () => Promise<T>): Promise<T> {
    for (;;)
      try {
        return await step(act, false);
      } catch (error) {
        if (!(error instanceof RetriableError)) throw error;
        await clock.sleep(10);
      }
  }

  async function putIf(key: string, bytes: Uint8Array, expected: Version | null) {
    const version = await memory.putIf(key, bytes, expected);
    if (version !== undefined && expected === null) world.onNew(key, bytes);
    if (version !== undefined || !overwrites || random(4) > 0) return version;
    await memory.put(key, bytes);
    return (await memory.head(key))!.version;
  }

  const store: ObjectStore = {
    ...memory,
    get: (key) => again(() => memory.get(key)),
    head: (key) => again(() => memory.head(key)),
    getRange: (...range) => again(() => memory.getRange(...range)),
    put: (key, bytes) => again(() => memory.put(key, bytes)),
    putIf: (...given) => step(() => putIf(...given), true),
    putIfAbsent: async (key, bytes) => (await store.putIf(key, bytes, null)) !== undefined,
    remove: (key) => again(() => memory.remove(key)),
    async removeAll(keys) {
      for (const key of keys) await store.remove(key);
    },
    removeIf: (...given) => again(() => memory.removeIf(...given)),
    list: (prefix) => eachOf(store.listPages(prefix)),
    async *listPages(prefix) {
      yield* await again(() => collect(memory.listPages(prefix)));
    },
    completeUpload: (...given) => again(() => memory.completeUpload(...given)),
  };

  const world = {
    ...{ random, clock, store },
    /** Told of every object that came to be where there was none. */
    onNew: (_key: string, _bytes: Uint8Array) => {},
    /** Let steps go until these have ended; then what was still on its way arrives. Throws what the first of them throws. */
    async live(processes: readonly Promise<void>[]) {
      let fault: unknown;
      let left = processes.length;
      for (const process of processes) void process.catch((error) => (fault ??= error)).finally(() => left--);
      for (let steps = 0; left > 0; steps++) {
        if (steps === MAX_STEPS) throw new Error(`seed ${seed}: it does not end`);
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (late.length > 0 && random(20) === 0) late.splice(random(late.length), 1)[0]!();
        const due = ready.filter(({ dueMs }) => dueMs <= ms);
        if (due.length > 0) ready.splice(ready.indexOf(due[random(due.length)]!), 1)[0]!.go();
        else if (ready.length > 0) ms = Math.min(...ready.map(({ dueMs }) => dueMs));
      }
      for (const act of late.splice(0)) act();
      if (fault !== undefined) throw fault;
    },
  };
  return world;
}

/** xorshift: quick, and the same everywhere. */
function randomOf(seed: number): Random {
  let state = Math.imul(seed, 2_654_435_761) >>> 0 || 1;
  return (n) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % n;
  };
}
