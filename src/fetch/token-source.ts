import { randomUUID } from 'node:crypto';
import { FatalError, HttpStatusError, messageOf } from '../errors.ts';
import type { Clock, Log } from '../model/ports.ts';
import type { TraceContext } from '../model/trace-context.ts';
import { type Answer, abortable, type Exchange } from './exchange.ts';
import { readAnswerError } from './status.ts';
import { idHeaders, nameRequest } from './trace.ts';

/** A bearer token and what is known of it. */
export interface AccessToken {
  readonly text: string;
  /** On the monotonic clock, as are all times. */
  readonly askedAtMs: number;
  renewAtMs: number;
  readonly expiresAtMs: number;
  /** Has it ever got another answer than 401? */
  worked: boolean;
}

export interface TokenSource {
  /** A token that should work; waits for a new one where needed. Callers who wait share one request. */
  current(signal: AbortSignal): Promise<AccessToken>;
  /** The present token, if it outlives the sending of a request. Renews it early in the background. */
  atHand(): AccessToken | undefined;
  /** The service refused this token: `current` must not give it out again. */
  drop(token: AccessToken): void;
  /** Everything that must never be shown. */
  secrets(): readonly string[];
}

interface TokenSourceOptions {
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly clock: Clock;
  readonly log: Log;
  /** retry → rate limit → deadline → transport: without token, version and concurrency limit. */
  readonly exchange: Exchange;
  /** Aborted when the client closes. */
  readonly closing: AbortSignal;
  readonly trace?: TraceContext | undefined;
}

const ASSUMED_LIFETIME_MS = 3_600_000;
const MAX_MARGIN_MS = 300_000;
/** What sending a request may take of a token's life: a tenth of it, and no more than this. */
const MAX_SENDING_MS = 10_000;
/** After an early renewal that failed. */
const EARLY_RETRY_MS = 30_000;
/** So long the endpoint's refusal is taken for its answer to everyone who asks. */
const REFUSAL_MEMORY_MS = 10_000;
const MAX_TOKEN_BODY_BYTES = 256 * 1024;
const WHAT = 'access token';

/** Gets tokens by OAuth 2.0 client credentials (RFC 6749 §4.4) and keeps the present one. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { clock, log } = options;
  const basic = basicCredentials(options.clientId, options.clientSecret);
  const tokens: string[] = [];
  const secrets = () => [options.clientSecret, basic, ...tokens];
  let held: AccessToken | undefined;
  let pending: Promise<AccessToken> | undefined;
  let refusal: { readonly error: FatalError; readonly untilMs: number } | undefined;

  const renew = (): Promise<AccessToken> => {
    // Everyone who shares the credential would ask in turn, and some services lock an account after a few.
    if (refusal !== undefined && clock.monotonicMs() < refusal.untilMs) return Promise.reject(refusal.error);
    pending ??= requestToken(options, basic, secrets)
      .then(({ text, sentMs }) => {
        held = describeToken(text, sentMs, clock);
        // The one before may still be in messages about requests under way.
        tokens.unshift(text);
        tokens.length = Math.min(tokens.length, 3);
        return held;
      })
      .catch((error: unknown) => {
        if (error instanceof FatalError)
          refusal = { error, untilMs: clock.monotonicMs() + REFUSAL_MEMORY_MS };
        throw error;
      })
      .finally(() => {
        pending = undefined;
      });
    return pending;
  };

  const putOff = (token: AccessToken, error: unknown): void => {
    token.renewAtMs = clock.monotonicMs() + EARLY_RETRY_MS;
    log.warn({}, `renewing the access token early failed: ${messageOf(error)}`);
  };

  const atHand = (): AccessToken | undefined => {
    const nowMs = clock.monotonicMs();
    const token = held;
    if (token === undefined) return undefined;
    const sendingMs = Math.min(MAX_SENDING_MS, (token.expiresAtMs - token.askedAtMs) / 10);
    if (nowMs >= token.expiresAtMs - sendingMs) return undefined;
    // Early renewal is a courtesy: the present token goes on working while the endpoint is in trouble.
    if (nowMs >= token.renewAtMs && !pending) renew().catch((error) => putOff(token, error));
    return token;
  };

  return {
    current: (signal) => {
      const token = atHand();
      return token === undefined ? abortable(renew(), signal) : Promise.resolve(token);
    },
    atHand,
    drop: (token) => {
      if (held === token) held = undefined;
    },
    secrets,
  };
}

async function requestToken(
  options: TokenSourceOptions,
  basic: string,
  secrets: () => readonly string[],
): Promise<{ text: string; sentMs: number }> {
  const url = new URL(options.authUrl);
  const outgoingOf = (requestId: string) => ({
    method: 'POST' as const,
    origin: url.origin,
    setting: 'QUERY_AUTH_URL' as const,
    target: `${url.pathname.replace(/\/+$/, '')}/oauth2/token`,
    headers: {
      authorization: `Basic ${basic}`,
      ...idHeaders(requestId, options.trace),
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: 'grant_type=client_credentials',
    requestId,
    asked: WHAT,
    what: nameRequest(WHAT, requestId),
    attempt: 1,
  });
  let requestId = '';
  try {
    return await options.exchange({
      outgoing: async () => {
        requestId = randomUUID();
        return outgoingOf(requestId);
      },
      consume: async (answer) => {
        if (answer.status !== 200)
          throw await readAnswerError(answer, nameRequest(WHAT, requestId), 16 * 1024, secrets());
        const { sentMs = options.clock.monotonicMs() } = answer;
        return { text: await readToken(answer, nameRequest(url.host, requestId)), sentMs };
      },
      progressed: () => false,
      signal: options.closing,
      maxBodyBytes: MAX_TOKEN_BODY_BYTES,
      sinks: [],
    });
  } catch (error) {
    if (!(error instanceof HttpStatusError)) throw error;
    const found = `the token endpoint at ${nameRequest(url.host, requestId)} answered ${error.status}`;
    if ([400, 401, 403].includes(error.status)) throw credentialsRefused(found, error);
    throw new FatalError('token-endpoint-wrong', `${found}, expected 200; check QUERY_AUTH_URL`, {
      cause: error,
    });
  }
}

async function readToken(answer: Answer, host: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  let token: unknown;
  try {
    token = JSON.parse(Buffer.concat(chunks).toString('utf8'))?.access_token;
  } catch {
    // Said below, without the body: it may hold a token.
  }
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new FatalError(
    'token-invalid',
    `the token endpoint at ${host} answered 200 but not with JSON that has an access_token; check QUERY_AUTH_URL`,
  );
}

/** What to check when nobody will take the credential. */
export function credentialsRefused(found: string, cause?: unknown): FatalError {
  return new FatalError(
    'credentials-refused',
    `the credentials were refused: ${found}; check QUERY_CLIENT_ID, QUERY_CLIENT_SECRET and QUERY_AUTH_URL, and whether the operator has regenerated the secret, which makes the old one invalid for good`,
    cause === undefined ? undefined : { cause },
  );
}

/**
 * When to renew a token: early by a fifth of its life, at most five minutes. It began when it was asked for, at the
 * earliest; it counts in whole seconds, so up to one more may be gone.
 */
function describeToken(text: string, sentMs: number, clock: Clock): AccessToken {
  const lifetimeMs = Math.max(0, lifetimeOf(text, clock.nowMs()) - 1_000);
  return {
    text,
    askedAtMs: sentMs,
    expiresAtMs: sentMs + lifetimeMs,
    renewAtMs: sentMs + lifetimeMs - Math.min(MAX_MARGIN_MS, lifetimeMs / 5),
    worked: false,
  };
}

/**
 * Lifetime of a token in milliseconds, from its own `exp − iat`, so that a clock that is off does not matter.
 * Without `iat` from `exp` and our clock; an hour where neither gives a time ahead, or the token is no JWT.
 */
export function lifetimeOf(token: string, nowMs: number): number {
  let claims: { exp?: unknown; iat?: unknown } | null;
  try {
    claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  } catch {
    return ASSUMED_LIFETIME_MS;
  }
  const { exp, iat } = claims ?? {};
  if (typeof exp !== 'number') return ASSUMED_LIFETIME_MS;
  const lifetimeMs = exp * 1000 - (typeof iat === 'number' ? iat * 1000 : nowMs);
  return lifetimeMs > 0 && Number.isFinite(lifetimeMs) ? lifetimeMs : ASSUMED_LIFETIME_MS;
}

/** HTTP Basic of `<id>:<secret>` as they are: the contract shows no form encoding before it. */
function basicCredentials(clientId: string, clientSecret: string): string {
  return Buffer.from(`${clientId}:${clientSecret}`, 'utf8').toString('base64');
}
