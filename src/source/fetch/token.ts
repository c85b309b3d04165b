import { RetriableError } from '../../core/errors.ts';
import type { Clock, Log } from '../../core/model/ports.ts';
import { type Attempt, type Exchange, linkSignals, type Send } from './exchange.ts';
import { AnswerError, RefusedTokenError } from './status.ts';
import { credentialsRefused } from './token-request.ts';
import type { AccessToken, TokenSource } from './token-source.ts';

/** A token that never worked and is older may have expired, whatever it says of itself. */
const FRESH_MS = 60_000;
/** So long a request whose token expired in the line keeps its slot while a new one is asked for. */
const PATIENCE_MS = 30_000;

/** Layer: wait for a token before standing in any line, so that nobody waits there for what will not come. */
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
 * Layer: send a bearer token, taken when nothing is left to wait for, with every request. Throws RefusedTokenError
 * for a token that the service refuses although it has worked, or was kept for a while; RetriableError for one that
 * had expired by the time of the answer (`token-expired`), or did not come (`token-late`); and FatalError
 * `credentials-refused` for a new one that is refused.
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
        const message = `${outgoing.what}: the access token expired before the service looked at it`;
        throw new RetriableError('token-expired', message, { cause: error });
      }
      if (!token.worked && nowMs - token.askedAtMs < FRESH_MS)
        throw credentialsRefused('the service answered 401 to a new access token', error);
      log.info({}, 'the access token was refused; getting a new one');
      throw new RefusedTokenError(error);
    }
  };
}

/** A new token while slot and turn are held: others who have a token may want them, so not for long. */
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
