/**
 * A world of one process in which every call of a store, and every sleep, is a step that a seed lets go: in any order,
 * late, lost, or done although its answer was lost. The same seed gives the same history.
 */
import { RetriableError } from '../../src/core/errors.ts';
import type { Clock } from '../../src/core/model/index.ts';
import type { ListedObject, ObjectStore, PartRef, Version } from '../../src/store/store.ts';

/** A whole number below `n`. */
export type Random = (n: number) => number;

export interface World {
  readonly random: Random;
  readonly clock: Clock;
  readonly store: ObjectStore;
  /** What lies in the store, without a step. */
  readonly objects: ReadonlyMap<string, Uint8Array>;
  /** Told of every object that came to be where there was none. */
  onNew: (key: string, bytes: Uint8Array) => void;
  /** Let steps go until these have ended; then whatever was still on its way arrives. Throws what the first of them throws. */
  live(processes: readonly Promise<void>[]): Promise<void>;
}

interface Step {
  readonly go: () => void;
  readonly dueMs: number;
}

/** Steps of one history: one that has more hangs. */
const MAX_STEPS = 50_000;
const BEGIN_MS = Date.UTC(2026, 0, 6);

/** `overwrites`: a store that now and then keeps no condition, which is a defect to be found. */
export function createWorld(seed: number, { overwrites = false } = {}): World {
  const random = randomOf(seed);
  const troublePercent = random(3) === 0 ? 0 : 3 + random(25);
  const objects = new Map<string, { bytes: Uint8Array; version: Version; modifiedMs: number }>();
  const ready: Step[] = [];
  const late: (() => void)[] = [];
  let [ms, versions] = [0, 0];

  const clock: Clock = {
    nowMs: () => BEGIN_MS + ms,
    monotonicMs: () => ms,
    sleep: (delayMs) => new Promise((resolve) => ready.push({ go: resolve, dueMs: ms + delayMs })),
  };

  const step = <T>(act: () => T, writes: boolean) =>
    new Promise<T>((resolve, reject) => {
      const go = () => {
        if (random(100) >= troublePercent) return resolve(act());
        const trouble = random(writes ? 3 : 1);
        if (trouble === 1) act();
        if (trouble === 2) late.push(act);
        reject(new RetriableError('unreachable', 'no answer'));
      };
      ready.push({ go, dueMs: ms });
    });
  /** As a store's client does by itself, where it may. */
  async function again<T>(act: () => T, writes = false): Promise<T> {
    for (;;)
      try {
        return await step(act, writes);
      } catch {
        await clock.sleep(10);
      }
  }

  function putNow(key: string, bytes: Uint8Array, expected: Version | null): Version | undefined {
    const found = objects.get(key);
    if ((found?.version ?? null) !== expected && !(overwrites && random(4) === 0))
      return found && Buffer.compare(found.bytes, bytes) === 0 ? found.version : undefined;
    if (found === undefined) world.onNew(key, bytes);
    const version = `v${++versions}`;
    objects.set(key, { bytes, version, modifiedMs: clock.nowMs() });
    return version;
  }
  const listed = (prefix: string): ListedObject[] =>
    [...objects]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { bytes, version, modifiedMs }]) => ({
        ...{ key, modifiedMs },
        ...{ sizeBytes: bytes.length, tag: version },
      }));
  const uploads = new Map<string, Uint8Array[]>();

  const store: ObjectStore = {
    url: 'memory:',
    get: (key) => again(() => objects.get(key)),
    head: (key) =>
      again(() => {
        const found = objects.get(key);
        return found && { sizeBytes: found.bytes.length, version: found.version };
      }),
    getRange: (key, from, to) => again(() => objects.get(key)?.bytes.subarray(from, to)),
    put: async (key, bytes) =>
      void (await again(() => putNow(key, bytes, objects.get(key)?.version ?? null))),
    putIf: (key, bytes, expected) => step(() => putNow(key, bytes, expected), true),
    putIfAbsent: (key, bytes) => step(() => putNow(key, bytes, null) !== undefined, true),
    remove: async (key) => void (await again(() => objects.delete(key))),
    async removeAll(keys) {
      for (const key of keys) await store.remove(key);
    },
    removeIf: (key, expected) => again(() => objects.get(key)?.version === expected && objects.delete(key)),
    async *list(prefix) {
      yield* await again(() => listed(prefix));
    },
    async *listPages(prefix) {
      yield await again(() => listed(prefix));
    },
    folderState: async () => undefined,
    async createUpload(key, nonce) {
      uploads.set(nonce, []);
      return { key, uploadId: nonce, nonce };
    },
    async uploadPart({ nonce }, partNumber, bytes): Promise<PartRef> {
      uploads.get(nonce)![partNumber - 1] = bytes;
      return { partNumber, sizeBytes: bytes.length, sha256: '', tag: '' };
    },
    adoptUpload: async () => undefined,
    async completeUpload({ key, nonce }) {
      await again(() => putNow(key, Buffer.concat(uploads.get(nonce)!), objects.get(key)?.version ?? null));
    },
    publishedBy: async () => false,
    abortUpload: async () => {},
    async *listUploads() {},
    capabilities: async () => ({ conditionalPut: true, conditionalReplace: true, conditionalComplete: true }),
    close: async () => {},
  };

  const world: World = {
    ...{ random, clock, store, onNew: () => {} },
    get objects() {
      return new Map([...objects].map(([key, { bytes }]) => [key, bytes]));
    },
    async live(processes) {
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
