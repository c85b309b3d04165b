import type { ServedRequest } from '../../../src/service/hooks.ts';

const MAX_KEPT = 10_000;
const MAX_KEPT_CHARS = 16_000_000;

/** The requests seen so far, oldest first; beyond `MAX_KEPT`, or `MAX_KEPT_CHARS` in them, the oldest are forgotten. */
export class RequestJournal {
  readonly list: ServedRequest[] = [];
  readonly #perFamily = new Map<string, number>();
  readonly #numbers = new WeakMap<ServedRequest, number>();
  /** Characters of the requests whose expressions are known: those that have been followed by another. */
  readonly #chars = new Map<ServedRequest, number>();
  #keptChars = 0;

  add(request: ServedRequest): void {
    const number = (this.#perFamily.get(request.family) ?? 0) + 1;
    this.#perFamily.set(request.family, number);
    this.#numbers.set(request, number);
    this.#count();
    this.list.push(request);
    while (this.list.length > MAX_KEPT || this.#keptChars > MAX_KEPT_CHARS) this.#forgetOldest();
  }

  /** Number of a request within its family, from 1. */
  numberOf(request: ServedRequest): number {
    return this.#numbers.get(request)!;
  }

  /** Expressions come to a request after it was added, and some never: look at the latest again. */
  #count(): void {
    for (const request of this.list.slice(-100)) {
      const chars = request.path.length + request.expressions.reduce((sum, { length }) => sum + length, 0);
      this.#keptChars += chars - (this.#chars.get(request) ?? 0);
      this.#chars.set(request, chars);
    }
  }

  #forgetOldest(): void {
    const oldest = this.list.shift()!;
    this.#keptChars -= this.#chars.get(oldest) ?? 0;
    this.#chars.delete(oldest);
  }
}
