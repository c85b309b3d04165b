// @ts-check
/**
 * The address follows what is shown, a moment later: browsers take only so many changes of it in a while, and a key held
 * down or a wheel makes more.
 */

const SETTLED_MS = 200;

/** @param {{ write: () => void, signal: AbortSignal }} of */
export function keepAddress({ write, signal }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const flush = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    if (!signal.aborted) write();
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  return {
    change() {
      clearTimeout(timer);
      timer = setTimeout(flush, SETTLED_MS);
    },
    /** Now: something is about to leave this view. */
    flush,
  };
}
