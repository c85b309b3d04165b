/** A store that notes what is asked of it, in order: `get KEY`, `list PREFIX`. */
import type { ObjectStore } from '../../src/store/store.ts';

export function watchedStore(store: ObjectStore): { readonly asked: string[]; readonly store: ObjectStore } {
  const asked: string[] = [];
  const noting = new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => {
        asked.push(`${String(name)} ${given[0]}`);
        return member.apply(target, given);
      };
    },
  });
  return { asked, store: noting };
}
