import { FatalError, messageOf } from '../../core/errors.ts';
import type { Clock, Log } from '../../core/model/ports.ts';
import { BasicCredentials } from './basic-credentials.ts';
import { abortable } from './exchange.ts';
import { lifetimeOf } from './token-lifetime.ts';
import { type IssuedToken, requestToken, type TokenRequestOptions } from './token-request.ts';

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

interface TokenSourceOptions extends TokenRequestOptions {
  readonly clientId: string;
  readonly clientSecret: string | (() => string);
  readonly log: Log;
}

const MAX_MARGIN_MS = 300_000;
/** What sending a request may take of a token's life: a tenth of it, and no more than this. */
const MAX_SENDING_MS = 10_000;
/** After an early renewal that failed. */
const EARLY_RETRY_MS = 30_000;
/** So long the endpoint's refusal is taken for its answer to everyone who asks. */
const REFUSAL_MEMORY_MS = 10_000;

/** Gets tokens by OAuth 2.0 client credentials (RFC 6749 §4.4) and keeps the present one. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { clock, log } = options;
  const { clientId, clientSecret } = options;
  const presentSecret = () => (typeof clientSecret === 'string' ? clientSecret : clientSecret());
  let secret = presentSecret();
  let credentials = new BasicCredentials(clientId, secret);
  let former: readonly string[] = [];
  const tokens: string[] = [];
  const secrets = () => [...credentials.secrets, ...former, ...tokens];
  let held: AccessToken | undefined;
  let pending: Promise<AccessToken> | undefined;
  let refusal: { readonly error: FatalError; readonly untilMs: number } | undefined;

  const takeNewSecret = (): void => {
    const present = presentSecret();
    if (present === secret) return;
    // The one before may still be in messages about requests under way.
    former = credentials.secrets;
    secret = present;
    credentials = new BasicCredentials(clientId, secret);
    refusal = undefined;
  };

  const renew = (): Promise<AccessToken> => {
    takeNewSecret();
    // Everyone who shares the credential would ask in turn, and some services lock an account after a few.
    if (refusal !== undefined && clock.monotonicMs() < refusal.untilMs) return Promise.reject(refusal.error);
    pending ??= requestToken(options, credentials, secrets)
      .then((issued) => {
        held = describeToken(issued, clock);
        // The one before may still be in messages about requests under way.
        tokens.unshift(issued.text);
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

/**
 * When to renew a token: early by a fifth of its life, at most five minutes. It began when it was asked for, at the
 * earliest; it counts in whole seconds, so up to one more may be gone.
 */
function describeToken({ text, expiresIn, sentMs }: IssuedToken, clock: Clock): AccessToken {
  const lifetimeMs = Math.max(0, lifetimeOf(text, expiresIn, clock.nowMs()) - 1_000);
  return {
    text,
    askedAtMs: sentMs,
    expiresAtMs: sentMs + lifetimeMs,
    renewAtMs: sentMs + lifetimeMs - Math.min(MAX_MARGIN_MS, lifetimeMs / 5),
    worked: false,
  };
}
