import type { Work } from '../../src/service/turns.ts';

/** Work that has the event loop for itself. */
export const neverDue: Work = {
  signal: new AbortController().signal,
  isDue: () => false,
  pause: () => Promise.resolve(),
};
