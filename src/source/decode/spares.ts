/**
 * Memory of decoders that are done, for those that begin. A small vessel-day decodes three answers, and what they are
 * decoded with was larger than they are: made anew it is asked of the system, cleared by it, and collected as garbage.
 */
export class Spares<T> {
  readonly #kept: T[] = [];
  readonly #most: number;
  readonly #make: () => T;

  /** Keeps `most` at most: as many as are at work at once in a process that is busy. */
  constructor(most: number, make: () => T) {
    this.#most = most;
    this.#make = make;
  }

  /** One that nobody else has, in whatever state it was given back. */
  take(): T {
    return this.#kept.pop() ?? this.#make();
  }

  /** Whoever gives it back uses it no more. */
  give(one: T): void {
    if (this.#kept.length < this.#most) this.#kept.push(one);
  }
}

/** Vessel-days at work at once, and an answer more. */
export const MAX_SPARES = 5;
