/**
 * The client of the query service: bytes in, bytes out. Layers, outermost → innermost:
 *
 *   version    sends and checks x-api-version
 *   retry      the table in retry.ts, over the request and the reading of its body
 *   concurrency limit        requests in flight, over all who share the credential
 *   rate limit       requests per minute, over all who share an address
 *   token      a bearer token on every request, taken when nothing is left to wait for; renewed early, and after a 401
 *   clock      the service's clock
 *   meter      counts and times
 *   inflate    gzip, and the maximum size of a body
 *   deadline   headers and idle bodies
 *   transport  undici
 */

import { CancelledError, VesselExportError } from '../../core/errors.ts';
import type { Clock, ConcurrencyLimit, Log, Random, RateLimit } from '../../core/model/ports.ts';
import { silentLog } from '../../core/model/ports.ts';
import type { ApiVersion, QueryRequest, QueryResponse } from '../../core/model/query.ts';
import type { TraceContext } from '../../core/model/tracing.ts';
import { uniqueId } from '../../core/unique-id.ts';
import { addressOf, describeRequest, idHeaders, nameRequest } from './address.ts';
import { withConcurrencyLimit } from './concurrency-limit.ts';
import { type DeadlineLimits, withDeadline } from './deadline.ts';
import type { Outgoing, RequestStats } from './exchange.ts';
import { contentTypeOf, createRequestStats, linkSignals } from './exchange.ts';
import { withInflate } from './inflate.ts';
import { type RequestReport, withMeter } from './meter.ts';
import { withRateLimit } from './rate-limit.ts';
import { RETRY_LIMITS, type RetryLimits, type RetryScope } from './retry.ts';
import { withRetry } from './retry-loop.ts';
import { createServerClock, withServerClock } from './server-clock.ts';
import { doubted, readAnswerError } from './status.ts';
import { createTokenSource, withToken, withTokenAtHand } from './token.ts';
import { createTransport, type Transport } from './transport.ts';
import { versionOf, withVersion } from './version.ts';

interface ClientLimits extends DeadlineLimits {
  readonly maxErrorBytes: number;
  readonly maxPageBytes: number;
  readonly retry: RetryLimits;
}

export const CLIENT_LIMITS: ClientLimits = {
  headersTimeoutMs: 120_000,
  idleTimeoutMs: 60_000,
  slowBodyGraceMs: 300_000,
  leastBytesPerSecond: 1_024,
  maxBodyMs: 7_200_000,
  maxErrorBodyMs: 10_000,
  maxErrorBytes: 16 * 1024,
  maxPageBytes: 4 * 1024 * 1024 * 1024,
  retry: RETRY_LIMITS,
};

export interface ClientOptions {
  /** With its tenant segment. */
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  /** A function where it may change. */
  readonly clientSecret: string | (() => string);
  readonly apiVersion: ApiVersion;
  readonly concurrencyLimit: ConcurrencyLimit;
  readonly rateLimit: RateLimit;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly limits?: Partial<Omit<ClientLimits, 'retry'>> & { readonly retry?: Partial<RetryLimits> };
  /** Called for every finished request to the query service. */
  readonly onRequest?: (report: RequestReport) => void;
  /** Give up within seconds on a host that cannot be reached and never was, by FatalError `service-unreachable`; else by the retry table. */
  readonly failFast?: boolean;
  /** A trace that somebody began: every request names itself as a span of it. Undefined where spans are gathered: who does names them. */
  readonly trace?: TraceContext | undefined;
  /** Replaces undici. */
  readonly transport?: Transport;
}

export interface ExchangeOptions extends RetryScope {
  readonly signal?: AbortSignal | undefined;
  readonly stats?: RequestStats | undefined;
  /** Whether the last attempt made progress. Called after a failure; true resets the retry limits. */
  readonly progressed?: () => boolean;
  /** Statuses that are retried a few times, and then become RetriableError `nothing-found`. */
  readonly isDoubted?: (status: number) => boolean;
  /** Instead of `maxPageBytes`, for answers that are not kept in memory. */
  readonly maxBodyBytes?: number;
}

export interface QueryClient {
  /**
   * Ask, and read the answer inside `consume`; both again when the retry table says so, with the number of the attempt (1, 2, …). Throws RetriableError
   * (codes in faults.ts), RateLimitedError, HttpStatusError, FatalError, DataError `page-too-large`, CancelledError, and what `consume` throws. A call
   * holds a slot until its body has ended: `consume` must not start another before.
   */
  exchange<T>(
    makeRequest: (attempt: number) => QueryRequest,
    consume: (response: QueryResponse) => Promise<T>,
    options?: ExchangeOptions,
  ): Promise<T>;
  readonly stats: Readonly<RequestStats>;
  /** Age of the oldest request under way, those for tokens included; 0 where there is none. */
  oldestRequestMs(): number;
  /** Milliseconds since the epoch by the service's own clock; undefined where no answer of the last hour said so. */
  serverNowMs(): number | undefined;
  readonly baseUrlBytes: number;
  close(): Promise<void>;
}

/** A client; nothing is sent before the first call. */
export function createQueryClient(options: ClientOptions): QueryClient {
  const { clock, random, concurrencyLimit, rateLimit, apiVersion, failFast = false } = options;
  const { log = silentLog, onRequest = () => {} } = options;
  const retry = { ...RETRY_LIMITS, ...options.limits?.retry };
  const limits: ClientLimits = { ...CLIENT_LIMITS, ...options.limits, retry };
  const base = new URL(options.baseUrl);
  const basePath = base.pathname.replace(/\/+$/, '');
  const baseUrlBytes = base.origin.length + basePath.length;
  const stats = createRequestStats();
  const closing = new AbortController();
  const { transport = createTransport() } = options;
  const retryOptions = { limits: retry, clock, random, log, failFast };
  const inFlight = new Set<{ readonly startedMs: number }>();
  const overWire = (report: (info: RequestReport) => void) => {
    const onEnd = (info: RequestReport) => {
      const { asked, ...fields } = info;
      log.debug(fields, `${asked}: request ended`);
      report(info);
    };
    return withMeter(clock, onEnd, inFlight, withInflate(withDeadline(limits, clock, transport.send)));
  };

  const unreported = overWire(() => {});
  const askToken = withRetry(retryOptions, withRateLimit(rateLimit, unreported));
  const tokens = createTokenSource({ ...options, log, exchange: askToken, closing: closing.signal });
  const serverClock = createServerClock(clock, log);
  const authorized = withToken(tokens, clock, log, withServerClock(serverClock, overWire(onRequest)));
  const limited = withConcurrencyLimit(concurrencyLimit, clock, withRateLimit(rateLimit, authorized));
  const exchange = withVersion(apiVersion, withTokenAtHand(tokens, withRetry(retryOptions, limited)));

  const outgoingOf = (request: QueryRequest, attempt: number): Outgoing => {
    const { method, path, query, accept, body } = addressOf(request, baseUrlBytes);
    const requestId = uniqueId();
    const asked = describeRequest(request);
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    return {
      ...{ method, origin: base.origin, setting: 'QUERY_BASE_URL', body },
      target: `${basePath}${path}${query === '' ? '' : `?${query}`}`,
      headers: { accept, ...idHeaders(requestId, options.trace), ...type },
      ...{ requestId, asked, what: nameRequest(asked, requestId), attempt },
    };
  };

  const ask: QueryClient['exchange'] = async (makeRequest, consume, callOptions = {}) => {
    const { controller, unlink } = linkSignals([callOptions.signal, closing.signal], asCancelled);
    const sinks = callOptions.stats === undefined ? [stats] : [stats, callOptions.stats];
    let attempts = 0;
    let [what, requestId] = ['', ''];
    try {
      controller.signal.throwIfAborted();
      return await exchange({
        outgoing: async () => {
          attempts += 1;
          if (attempts > 1) for (const sink of sinks) sink.retries += 1;
          const outgoing = outgoingOf(makeRequest(attempts), attempts);
          ({ what, requestId } = outgoing);
          return outgoing;
        },
        consume: async (answer) => {
          if (answer.status !== 200) {
            const error = await readAnswerError(answer, what, limits.maxErrorBytes, tokens.secrets());
            throw callOptions.isDoubted?.(answer.status) ? doubted(error, clock.nowMs()) : error;
          }
          // The version layer accepts no other version.
          const { body } = answer;
          const contentType = contentTypeOf(answer);
          return consume({ apiVersion: versionOf(answer)!, contentType, requestId, body });
        },
        progressed: callOptions.progressed ?? (() => false),
        ...{ streak: callOptions.streak, isDivisible: callOptions.isDivisible },
        signal: controller.signal,
        maxBodyBytes: callOptions.maxBodyBytes ?? limits.maxPageBytes,
        sinks,
      });
    } finally {
      unlink();
    }
  };

  return {
    exchange: ask,
    stats,
    oldestRequestMs: () => {
      const [oldest] = inFlight;
      return oldest === undefined ? 0 : clock.monotonicMs() - oldest.startedMs;
    },
    serverNowMs: serverClock.nowMs,
    baseUrlBytes,
    close: async () => {
      closing.abort(new CancelledError('the client was closed'));
      await transport.close();
    },
  };
}

function asCancelled(reason: unknown): VesselExportError {
  return reason instanceof VesselExportError ? reason : new CancelledError('cancelled', { cause: reason });
}
