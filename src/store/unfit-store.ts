import { ConfigError } from '../core/errors.ts';
import type { ObjectStore } from './store.ts';

/** What such a store is, and what is left to do with it. */
export const UNFIT =
  'the store writes over an object although it is told not to (If-None-Match): two processes could export the same day at once, and lose what the other wrote. One process at a time may export into a plain lake there';

/** Throws ConfigError `unfit-store` where an object is not safe from a second writer. `what`: that needs it. */
export async function expectConditionalPut(
  store: Pick<ObjectStore, 'url' | 'capabilities'>,
  what: string,
): Promise<void> {
  if ((await store.capabilities()).conditionalPut) return;
  throw new ConfigError('unfit-store', `${store.url}: ${UNFIT}; ${what} needs a store that obeys it`);
}
