/** Types of all layers: an Exchange is one call, a Send one request of it. Bodies are read inside `consume`, so that each layer sees their end. */
import type { Body } from '../../core/model/query.ts';
import type { RetryScope } from './retry.ts';

export interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly origin: string;
  /** The setting that the address comes from, for messages. */
  readonly setting: 'QUERY_BASE_URL' | 'QUERY_AUTH_URL';
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Sent as `x-request-id`; each attempt has its own. */
  readonly requestId: string;
  readonly asked: string;
  /** The same with the request's id, for the messages of errors. */
  readonly what: string;
  /** 1 for the first request of a call. */
  readonly attempt: number;
}

export interface Answer {
  readonly status: number;
  /** Lower-case names; repeated headers are joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
  /** When its request was sent, on the monotonic clock; the meter writes it. */
  readonly sentMs?: number;
}

/** Counters of one or many calls; the client adds, the owner reads. */
export interface RequestStats {
  requests: number;
  /** Those of them that repeated an earlier one. */
  retries: number;
  rateLimited: number;
  bytes: number;
}

export function createRequestStats(): RequestStats {
  return { requests: 0, retries: 0, rateLimited: 0, bytes: 0 };
}

export interface Call<T> extends RetryScope {
  /** Makes the next HTTP request; called for each attempt. If it throws, the call ends. */
  outgoing(): Promise<Outgoing>;
  /** Reads the response. Called once for each response, with any status. */
  consume(answer: Answer): Promise<T>;
  /** Whether the last attempt got further than the one before: then the retry limits are reset. */
  progressed(): boolean;
  /** Aborted with one of our errors as reason. */
  readonly signal: AbortSignal;
  readonly maxBodyBytes: number;
  readonly sinks: readonly RequestStats[];
}

export interface Attempt<T> extends Omit<Call<T>, 'outgoing' | 'progressed'> {
  readonly outgoing: Outgoing;
  /** Time on the wire of this attempt, written by the meter, without waits for concurrency limit and rate limit. */
  readonly wire: { elapsedMs: number };
}

export type Exchange = <T>(call: Call<T>) => Promise<T>;
export type Send = <T>(attempt: Attempt<T>) => Promise<T>;

/** Media type of an answer, lower case, without parameters; empty when there is none. */
export function contentTypeOf(answer: Answer): string {
  return (answer.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** An AbortController that follows other signals until `unlink` is called. */
export function linkSignals(
  signals: readonly (AbortSignal | undefined)[],
  reasonOf: (reason: unknown) => unknown = (reason) => reason,
): { readonly controller: AbortController; unlink(): void } {
  const controller = new AbortController();
  const links = signals
    .filter((signal) => signal !== undefined)
    .map((signal) => ({ signal, onAbort: () => controller.abort(reasonOf(signal.reason)) }));
  for (const { signal, onAbort } of links) {
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  }
  return {
    controller,
    unlink: () => {
      for (const { signal, onAbort } of links) signal.removeEventListener('abort', onAbort);
    },
  };
}

/** Wait for a promise; an abort ends only the wait, with the signal's reason. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
