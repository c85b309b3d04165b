/** The access token of a client: requesting and renewing it, and the layers that send it. */
import { FatalError, messageOf, RetriableError } from '../../core/errors.ts';
import type { Clock, Log } from '../../core/model/ports.ts';
import { type Attempt, abortable, type Exchange, linkSignals, type Send } from './exchange.ts';
import { AnswerError, RefusedTokenError } from './status.ts';
import type { IssuedToken, TokenRequestOptions } from './token-request.ts';
import { BasicCredentials, credentialsRefused, lifetimeOf, requestToken } from './token-request.ts';

interface AccessToken {
  readonly text: string;
  /** On the monotonic clock, as are all times. */
  readonly askedAtMs: number;
  renewAtMs: number;
  readonly expiresAtMs: number;
  /** Whether it ever got a response other than 401. */
  worked: boolean;
}

type TokenSource = ReturnType<typeof createTokenSource>;

interface TokenSourceOptions extends TokenRequestOptions {
  readonly clientId: string;
  readonly clientSecret: string | (() => string);
  readonly log: Log;
}

const MAX_MARGIN_MS = 300_000;
/** Share of a token's lifetime that sending a request may take: a tenth, but at most this. */
const MAX_SENDING_MS = 10_000;
const EARLY_RETRY_MS = 30_000;
/** How long the endpoint's refusal applies to all callers. */
const REFUSAL_MEMORY_MS = 10_000;

/** Gets tokens by OAuth 2.0 client credentials (RFC 6749 §4.4) and keeps the present one. */
export function createTokenSource(options: TokenSourceOptions) {
  const { clock, log, clientId, clientSecret } = options;
  const presentSecret = () => (typeof clientSecret === 'string' ? clientSecret : clientSecret());
  let secret = presentSecret();
  let credentials = new BasicCredentials(clientId, secret);
  let former: readonly string[] = [];
  let tokens: readonly string[] = [];
  /** Never to be shown. */
  const secrets = (): readonly string[] => [...credentials.secrets, ...former, ...tokens];
  let held: AccessToken | undefined;
  let pending: Promise<AccessToken> | undefined;
  let refusal: { readonly error: FatalError; readonly untilMs: number } | undefined;

  const takeNewSecret = (): void => {
    const present = presentSecret();
    if (present === secret) return;
    // The previous one may still be in messages about requests under way.
    former = credentials.secrets;
    secret = present;
    credentials = new BasicCredentials(clientId, secret);
    refusal = undefined;
  };

  const renew = (): Promise<AccessToken> => {
    takeNewSecret();
    // Otherwise every caller would request one in turn, and some services lock an account after a few failures.
    if (refusal !== undefined && clock.monotonicMs() < refusal.untilMs) return Promise.reject(refusal.error);
    pending ??= requestToken(options, credentials, secrets)
      .then((issued) => {
        held = describeToken(issued, clock);
        // The previous one may still be in messages about requests under way.
        tokens = [issued.text, ...tokens].slice(0, 3);
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

  /** The present token, if it lasts long enough to send a request. Renews it early in the background. */
  const atHand = (): AccessToken | undefined => {
    const nowMs = clock.monotonicMs();
    const token = held;
    if (token === undefined) return undefined;
    const sendingMs = Math.min(MAX_SENDING_MS, (token.expiresAtMs - token.askedAtMs) / 10);
    if (nowMs >= token.expiresAtMs - sendingMs) return undefined;
    // Early renewal is a courtesy: the present token goes on working while the endpoint is in trouble.
    if (nowMs >= token.renewAtMs && !pending)
      renew().catch((error) => {
        token.renewAtMs = clock.monotonicMs() + EARLY_RETRY_MS;
        log.warn({}, `renewing the access token early failed: ${messageOf(error)}`);
      });
    return token;
  };

  return {
    /** A valid token; waits for a new one if needed. Waiting callers share one request. */
    current: (signal: AbortSignal): Promise<AccessToken> => {
      const token = atHand();
      return token === undefined ? abortable(renew(), signal) : Promise.resolve(token);
    },
    atHand,
    /** The service refused this token: `current` must not return it again. */
    drop: (token: AccessToken): void => {
      if (held === token) held = undefined;
    },
    secrets,
  };
}

/** Renewed early by a fifth of its life, at most five minutes. Whole seconds count, so up to one more may be gone. */
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

/** An older token that never worked may have expired, whatever its lifetime says. */
const FRESH_MS = 60_000;
/** How long a request whose token expired while waiting keeps its slot for a new one. */
const PATIENCE_MS = 30_000;

/** Layer: wait for a token before waiting for slot and turn, so that these are not held in vain. */
export function withTokenAtHand(tokens: TokenSource, next: Exchange): Exchange {
  return (call) =>
    next({
      ...call,
      outgoing: async () => {
        await tokens.current(call.signal);
        return call.outgoing();
      },
    });
}

/**
 * Layer: send a bearer token, taken when nothing is left to wait for. Throws RefusedTokenError for one that was good before or is not new;
 * RetriableError `token-expired` or `token-late`; FatalError `credentials-refused` where a new one is refused.
 */
export function withToken(tokens: TokenSource, clock: Clock, log: Log, next: Send): Send {
  return async (attempt) => {
    const token = tokens.atHand() ?? (await tokenInTime(tokens, clock, attempt));
    const { outgoing } = attempt;
    const headers = { ...outgoing.headers, authorization: `Bearer ${token.text}` };
    try {
      return await next({
        ...attempt,
        outgoing: { ...outgoing, headers },
        consume: (answer) => {
          if (answer.status !== 401) token.worked = true;
          return attempt.consume(answer);
        },
      });
    } catch (error) {
      if (!(error instanceof AnswerError && error.status === 401)) throw error;
      tokens.drop(token);
      const nowMs = clock.monotonicMs();
      if (nowMs >= token.expiresAtMs) {
        const message = `${outgoing.what}: the access token expired before the service checked it`;
        throw new RetriableError('token-expired', message, { cause: error });
      }
      if (!token.worked && nowMs - token.askedAtMs < FRESH_MS)
        throw credentialsRefused('the service answered 401 to a new access token', error);
      log.info({}, 'the access token was refused; getting a new one');
      throw new RefusedTokenError(error);
    }
  };
}

/** A new token while slot and turn are held: with a short time-out, because other requests may need them. */
async function tokenInTime(
  tokens: TokenSource,
  clock: Clock,
  { signal, outgoing }: Attempt<unknown>,
): Promise<AccessToken> {
  const { controller, unlink } = linkSignals([signal]);
  const ended = new AbortController();
  const late = `${outgoing.what}: the access token expired in the line, and no other came within ${PATIENCE_MS / 1000} s`;
  clock.sleep(PATIENCE_MS, ended.signal).then(
    () => controller.abort(new RetriableError('token-late', late)),
    () => {},
  );
  try {
    return await tokens.current(controller.signal);
  } finally {
    ended.abort();
    unlink();
  }
}
