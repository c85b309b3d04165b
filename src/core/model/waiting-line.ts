/** Callers that wait for their turn, first come first served. `Turn` is what they are given with it. */
export interface WaitingLine<Turn = void> {
  readonly length: number;
  /** Resolves when it is one's turn; rejects with the signal's reason, and leaves the line, when it is aborted. */
  join(signal?: AbortSignal): Promise<Turn>;
  /** Let the first one go; false when nobody waits. */
  letOneGo(turn: Turn): boolean;
}

/** `onLeave` is told when someone gave up waiting. */
export function createWaitingLine<Turn = void>(onLeave: () => void = () => {}): WaitingLine<Turn> {
  const waiting = new Set<(turn: Turn) => void>();
  return {
    get length() {
      return waiting.size;
    },
    join: (signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const go = (turn: Turn) => {
          signal?.removeEventListener('abort', leave);
          resolve(turn);
        };
        const leave = () => {
          waiting.delete(go);
          reject(signal?.reason);
          onLeave();
        };
        waiting.add(go);
        signal?.addEventListener('abort', leave, { once: true });
      }),
    letOneGo: (turn) => {
      for (const go of waiting) {
        waiting.delete(go);
        go(turn);
        return true;
      }
      return false;
    },
  };
}
