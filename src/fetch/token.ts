import { HttpStatusError } from '../errors.ts';
import type { Log } from '../model/ports.ts';
import type { Call, Exchange } from './exchange.ts';
import { type AccessToken, credentialsRefused, type TokenSource } from './token-source.ts';

/** 401s in a row for one call before it is the call, and not the token, that the service refuses. */
const MAX_REFUSALS = 3;

/**
 * Layer: send a bearer token with every request. A token that has worked and is refused is renewed and the
 * request repeated, which costs no attempt. Throws FatalError `credentials-refused` when a token is refused
 * that never got another answer, HttpStatusError 401 when this call alone is refused again and again.
 */
export function withToken(tokens: TokenSource, log: Log, next: Exchange): Exchange {
  return async <T>(call: Call<T>): Promise<T> => {
    let token: AccessToken | undefined;
    let refusals = 0;
    const authorized: Call<T> = {
      ...call,
      outgoing: async () => {
        token = await tokens.current(call.signal);
        const outgoing = await call.outgoing();
        return { ...outgoing, headers: { ...outgoing.headers, authorization: `Bearer ${token.text}` } };
      },
      consume: (answer) => {
        if (answer.status !== 401) {
          token!.worked = true;
          refusals = 0;
        }
        return call.consume(answer);
      },
    };
    for (;;) {
      try {
        return await next(authorized);
      } catch (error) {
        if (!(error instanceof HttpStatusError && error.status === 401)) throw error;
        tokens.drop(token!);
        if (!token!.worked) throw credentialsRefused('the service answered 401 to a new access token', error);
        refusals += 1;
        if (refusals >= MAX_REFUSALS) throw error;
        log.info({}, 'the access token was refused; getting a new one');
      }
    }
  };
}
