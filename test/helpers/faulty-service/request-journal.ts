import type { ServedRequest } from '../../../src/service/hooks.ts';

const MAX_KEPT = 10_000;

/** The requests seen so far, oldest first; beyond `MAX_KEPT` the oldest are forgotten. */
export class RequestJournal {
  readonly list: ServedRequest[] = [];
  readonly #perFamily = new Map<string, number>();
  readonly #numbers = new WeakMap<ServedRequest, number>();

  add(request: ServedRequest): void {
    const number = (this.#perFamily.get(request.family) ?? 0) + 1;
    this.#perFamily.set(request.family, number);
    this.#numbers.set(request, number);
    this.list.push(request);
    if (this.list.length > MAX_KEPT) this.list.shift();
  }

  /** Number of a request within its family, from 1. */
  numberOf(request: ServedRequest): number {
    return this.#numbers.get(request)!;
  }
}
