/**
 * How answers share the event loop, for one may take seconds of the processor. Its work asks, every few hundred rows, whether its turn is over (`isDue`),
 * and then waits for the next (`pause`): a round of the loop, in which sockets are read, small requests answered, and who waited longest goes on.
 */
import { setImmediate } from 'node:timers/promises';
import { CancelledError } from '../core/errors.ts';
import type { Clock } from '../core/model/index.ts';

/** Longest work between two looks at the sockets; looking takes some twenty microseconds. */
const TURN_MS = 5;
/** Cheap steps, such as a row, between two calls of `isDue`. */
export const STEPS_PER_LOOK = 512;

/** Looks of a work that are never due: a small answer, which has no more of them, does not wait behind large ones. */
export const FREE_LOOKS = 8;

/** The making of one answer, as those see it who do it. */
export interface Work {
  /** Aborted once nobody wants the answer any more: its client has gone, or the service ends. */
  readonly signal: AbortSignal;
  /** True when it is time to `pause`. */
  isDue(): boolean;
  /** Resolves in a later turn of the event loop. Throws the signal's reason once nobody wants the answer. */
  pause(): Promise<void>;
}

export type Turns = ReturnType<typeof createTurns>;

export function createTurns(clock: Pick<Clock, 'monotonicMs'>) {
  const underWay = new Set<ReturnType<typeof begin>>();
  let last: Promise<void> = Promise.resolve();
  let startedMs = 0;

  /** Resolves when it is the caller's turn, first come first served, one in a round of the event loop. */
  function next(): Promise<void> {
    last = last
      .then(() => setImmediate())
      .then(() => {
        startedMs = clock.monotonicMs();
      });
    return last;
  }

  /** A work as the route sees it: until the client has the answer or is gone, and the work has ended. */
  function begin() {
    const stop = new AbortController();
    const signal: AbortSignal = stop.signal;
    const end = Promise.withResolvers<void>();
    let [looks, isClosed, isRunning] = [0, false, false];
    const settle = () => {
      if (!isClosed || isRunning) return;
      underWay.delete(work);
      end.resolve();
    };
    const work = {
      signal,
      /** Resolves once `close` was called and no piece of the body is being made any more. */
      ended: end.promise,
      isDue(): boolean {
        if (signal.aborted) return true;
        return looks++ >= FREE_LOOKS && clock.monotonicMs() - startedMs >= TURN_MS;
      },
      async pause(): Promise<void> {
        signal.throwIfAborted();
        await next();
        signal.throwIfAborted();
      },
      /** The pieces of the body: what makes them is the work. */
      async *making<Piece>(body: AsyncIterable<Piece>): AsyncGenerator<Piece, void, void> {
        isRunning = true;
        try {
          yield* body;
        } finally {
          isRunning = false;
          settle();
        }
      },
      /** The answer has been sent, or nobody wants it: whatever is still being made for it is stopped. */
      close(): void {
        isClosed = true;
        stop.abort(new CancelledError('nobody waits for this answer'));
        settle();
      },
    };
    underWay.add(work);
    return work satisfies Work;
  }

  return {
    begin,
    get underWay(): number {
      return underWay.size;
    },
    /** Stop all work; resolves when it has ended. */
    async close(): Promise<void> {
      const all = [...underWay];
      for (const work of all) work.close();
      await Promise.all(all.map(({ ended }) => ended));
    },
  };
}
