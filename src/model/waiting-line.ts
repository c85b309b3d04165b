/** Callers that wait for their turn, first come first served. */
export interface WaitingLine {
  readonly length: number;
  /** Resolves when it is one's turn; rejects with the signal's reason, and leaves the line, when it is aborted. */
  join(signal?: AbortSignal): Promise<void>;
  /** Let the first one go; false when nobody waits. */
  letOneGo(): boolean;
}

/** `onLeave` is told when someone gave up waiting. */
export function createWaitingLine(onLeave: () => void = () => {}): WaitingLine {
  const waiting = new Set<() => void>();
  return {
    get length() {
      return waiting.size;
    },
    join: (signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const go = () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        };
        const leave = () => {
          waiting.delete(go);
          reject(signal?.reason);
          onLeave();
        };
        waiting.add(go);
        signal?.addEventListener('abort', leave, { once: true });
      }),
    letOneGo: () => {
      for (const go of waiting) {
        waiting.delete(go);
        go();
        return true;
      }
      return false;
    },
  };
}
