/** What all layers share: an Exchange is one question, a Send one request of it. Bodies are read inside `consume`, so that each layer sees them end. */
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
  /** Sent as `x-request-id`; each try has its own. */
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
  /** Make the next HTTP request; asked anew for each one. What it throws ends the call. */
  outgoing(): Promise<Outgoing>;
  /** Read the answer. Called once for each answer, of whatever status. */
  consume(answer: Answer): Promise<T>;
  /** Did the last attempt get further than the one before? Then patience starts anew. */
  progressed(): boolean;
  /** Aborted with one of our errors as reason. */
  readonly signal: AbortSignal;
  readonly maxBodyBytes: number;
  readonly sinks: readonly RequestStats[];
}

export interface Attempt<T> extends Omit<Call<T>, 'outgoing' | 'progressed'> {
  readonly outgoing: Outgoing;
  /** Time on the wire of this attempt, written by the meter: waiting for concurrency limit and rate limit is nobody's fault. */
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

/** Wait for a promise; an abort ends the wait, with the signal's reason, and not what is waited for. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
