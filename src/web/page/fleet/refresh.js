// @ts-check
/** Asks again and again while somebody looks: not while the page is hidden, and not after the view was left. */

export const REFRESH_MS = 3_000;

/**
 * @param {{ ask: () => Promise<void>, signal: AbortSignal }} options `ask` never rejects
 * @returns {{ soon: () => void, pause: () => void, resume: () => void }} `soon`: ask at once
 */
export function refreshing({ ask, signal }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let isAsking = false;
  let isWantedAgain = false;
  let isPaused = false;

  const next = () => {
    clearTimeout(timer);
    if (!signal.aborted && !document.hidden && !isPaused) timer = setTimeout(now, REFRESH_MS);
  };
  const now = async () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    isWantedAgain = isAsking;
    if (isAsking) return;
    isAsking = true;
    await ask();
    isAsking = false;
    if (isWantedAgain) void now();
    else next();
  };
  document.addEventListener(
    'visibilitychange',
    () => {
      if (document.hidden) clearTimeout(timer);
      else if (!isPaused) void now();
    },
    { signal },
  );
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  void now();
  return {
    soon: () => void now(),
    pause() {
      isPaused = true;
      clearTimeout(timer);
    },
    resume() {
      isPaused = false;
      void now();
    },
  };
}
