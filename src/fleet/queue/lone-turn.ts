/**
 * The turn of a vessel-day that is performed while nothing else is in this process: whose workers died twice is either
 * the cause, and then takes no other with it, or was only there, and then its worker lives.
 */
interface LoneTurn {
  /** Is somebody having it, or waiting for it? Then nobody else may begin. */
  readonly isTaken: boolean;
  /** Take it, and wait until `others` are none. Rejects with the signal's reason. */
  take(others: () => number, signal: AbortSignal): Promise<void>;
  /** A vessel-day has ended. */
  onEnd(): void;
  /** Let others begin again. */
  release(): void;
}

export function createLoneTurn(): LoneTurn {
  let isTaken = false;
  let look = () => {};
  return {
    get isTaken() {
      return isTaken;
    },
    async take(others, signal) {
      isTaken = true;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onAbort = () => reject(signal.reason);
      look = () => {
        if (others() === 0) resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      look();
      await promise.finally(() => signal.removeEventListener('abort', onAbort));
    },
    onEnd: () => look(),
    release() {
      isTaken = false;
      look = () => {};
    },
  };
}
