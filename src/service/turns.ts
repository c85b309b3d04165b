/**
 * How answers share the event loop. An answer may take seconds of the processor, in which nobody else is answered. So its
 * work asks, every few hundred rows, whether the turn is over (`isDue`), and then waits for the next (`pause`). A turn is
 * one round of the loop: after it sockets are read and small requests answered, and then the one that waited longest goes on.
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

export class Turns {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #underWay = new Set<AnswerWork>();
  #last: Promise<void> = Promise.resolve();
  #startedMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  begin(): AnswerWork {
    const work = new AnswerWork(this);
    this.#underWay.add(work);
    void work.ended.then(() => this.#underWay.delete(work));
    return work;
  }

  /** Stop all work; resolves when it has ended. */
  async close(): Promise<void> {
    const all = [...this.#underWay];
    for (const work of all) work.close();
    await Promise.all(all.map(({ ended }) => ended));
  }

  isOver(): boolean {
    return this.#clock.monotonicMs() - this.#startedMs >= TURN_MS;
  }

  /** Resolves when it is the caller's turn, first come first served, one in a round of the event loop. */
  next(): Promise<void> {
    this.#last = this.#last
      .then(() => setImmediate())
      .then(() => {
        this.#startedMs = this.#clock.monotonicMs();
      });
    return this.#last;
  }
}

/** The same as the route sees it: until the client has the answer or is gone, and the work has ended. */
class AnswerWork implements Work {
  readonly #turns: Turns;
  readonly #stop = new AbortController();
  readonly #end = Promise.withResolvers<void>();
  readonly signal: AbortSignal = this.#stop.signal;
  /** Resolves once `close` was called and no piece of the body is being made any more. */
  readonly ended: Promise<void> = this.#end.promise;
  #looks = 0;
  #isClosed = false;
  #isRunning = false;

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  isDue(): boolean {
    if (this.signal.aborted) return true;
    if (this.#looks < FREE_LOOKS) {
      this.#looks++;
      return false;
    }
    return this.#turns.isOver();
  }

  async pause(): Promise<void> {
    this.signal.throwIfAborted();
    await this.#turns.next();
    this.signal.throwIfAborted();
  }

  /** The pieces of the body: what makes them is the work. */
  async *making<Piece>(body: AsyncIterable<Piece>): AsyncGenerator<Piece, void, void> {
    this.#isRunning = true;
    try {
      yield* body;
    } finally {
      this.#isRunning = false;
      this.#settle();
    }
  }

  /** The answer has been sent, or nobody wants it: whatever is still being made for it is stopped. */
  close(): void {
    this.#isClosed = true;
    this.#stop.abort(new CancelledError('nobody waits for this answer'));
    this.#settle();
  }

  #settle(): void {
    if (this.#isClosed && !this.#isRunning) this.#end.resolve();
  }
}
