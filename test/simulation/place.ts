/** The store of a simulated world without faults, for the conformance suite: time goes on while somebody waits for it. */
import { createMemoryStore } from '../helpers/memory-store.ts';
import type { StorePlace } from '../store/store-suite.ts';
import { randomOf } from './random.ts';
import { createLife, createScheduler } from './scheduler.ts';
import { type Abilities, NO_STORE_FAULTS, storeOf } from './store.ts';

export function createPlace(abilities: Abilities = 'all'): StorePlace {
  const scheduler = createScheduler(1, { maxEvents: Number.POSITIVE_INFINITY });
  const disk = createMemoryStore();
  const world = { scheduler, disk, faults: () => NO_STORE_FAULTS, draw: randomOf(1, 'store'), abilities };
  let isRunning = false;
  const goOn = async () => {
    if (isRunning) return;
    isRunning = true;
    await scheduler.run(() => false);
    isRunning = false;
  };
  const onEffect = () => {};
  return {
    open() {
      const store = storeOf(createLife('test'), { ...world, onEffect });
      return new Proxy(store, {
        get(target, name) {
          const member = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return (...args: unknown[]) => {
            // After it has asked.
            setImmediate(goOn);
            return Reflect.apply(member, target, args);
          };
        },
      });
    },
    minPartBytes: 1,
    strict: true,
    drop: async () => {},
  };
}
