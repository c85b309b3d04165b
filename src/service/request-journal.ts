import type { Family, TimeRange } from '../model/index.ts';

/** A request that the service has seen. */
export interface ServedRequest {
  readonly family: Family | 'token' | 'other';
  readonly method: string;
  readonly path: string;
  /** Parameters of the query string, decoded. */
  readonly query: Readonly<Record<string, string>>;
  /** Expressions of a POST body. */
  expressions: readonly string[];
  range: TimeRange | undefined;
  clientId: string | undefined;
  /** Undefined while it is being answered. */
  status: number | undefined;
}

/** The requests seen so far, oldest first; beyond `MAX_KEPT` the oldest are forgotten. */
export class RequestJournal {
  readonly list: ServedRequest[] = [];
  /** Requests seen, the forgotten ones too. */
  total = 0;
  readonly #perFamily = new Map<string, number>();

  begin(family: ServedRequest['family'], method: string, url: URL): ServedRequest {
    const request: ServedRequest = {
      family,
      method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      expressions: [],
      range: undefined,
      clientId: undefined,
      status: undefined,
    };
    this.total++;
    this.#perFamily.set(family, this.count(family) + 1);
    this.list.push(request);
    if (this.list.length > MAX_KEPT) this.list.shift();
    return request;
  }

  count(family: ServedRequest['family']): number {
    return this.#perFamily.get(family) ?? 0;
  }
}

const MAX_KEPT = 10_000;
