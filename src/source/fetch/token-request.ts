/** The request for an access token: OAuth 2.0 client credentials (RFC 6749 §4.4). */
import { randomUUID } from 'node:crypto';
import { FatalError, HttpStatusError } from '../../core/errors.ts';
import type { Clock } from '../../core/model/ports.ts';
import type { TraceContext } from '../../core/model/tracing.ts';
import type { BasicCredentials } from './basic-credentials.ts';
import type { Answer, Exchange } from './exchange.ts';
import { readAnswerError } from './status.ts';
import { idHeaders, nameRequest } from './trace.ts';

export interface TokenRequestOptions {
  readonly authUrl: string;
  readonly clock: Clock;
  /** retry → rate limit → deadline → transport: without token, version and concurrency limit. */
  readonly exchange: Exchange;
  /** Aborted when the client closes. */
  readonly closing: AbortSignal;
  readonly trace?: TraceContext | undefined;
}

/** A token as the endpoint has sent it. */
export interface IssuedToken {
  readonly text: string;
  /** The answer's `expires_in`, whatever it is. */
  readonly expiresIn: unknown;
  /** When it was asked for, on the monotonic clock. */
  readonly sentMs: number;
}

const MAX_TOKEN_BODY_BYTES = 256 * 1024;
const WHAT = 'access token';
/** Answers to credentials that are sent in another form than the server wants. */
const FORM_REFUSALS = [400, 401];

/**
 * Ask for a token with the form of the credentials that is next, and with the other one where `credentials` says so. Throws
 * FatalError (`credentials-refused`, `token-endpoint-wrong`, `token-invalid`) and what the exchange throws.
 */
export async function requestToken(
  options: TokenRequestOptions,
  credentials: BasicCredentials,
  secrets: () => readonly string[],
): Promise<IssuedToken> {
  const { origin, host, pathname } = new URL(options.authUrl);
  const target = `${pathname.replace(/\/+$/, '')}/oauth2/token`;
  let requestId = '';
  const ask = () =>
    options.exchange({
      outgoing: async () => {
        requestId = randomUUID();
        return {
          method: 'POST' as const,
          origin,
          setting: 'QUERY_AUTH_URL' as const,
          target,
          headers: {
            authorization: `Basic ${credentials.form}`,
            ...idHeaders(requestId, options.trace),
            'content-type': 'application/x-www-form-urlencoded',
            accept: 'application/json',
          },
          body: 'grant_type=client_credentials',
          requestId,
          asked: WHAT,
          what: nameRequest(WHAT, requestId),
          attempt: 1,
        };
      },
      consume: async (answer) => {
        if (answer.status !== 200)
          throw await readAnswerError(answer, nameRequest(WHAT, requestId), 16 * 1024, secrets());
        const { sentMs = options.clock.monotonicMs() } = answer;
        return { ...(await readToken(answer, nameRequest(host, requestId))), sentMs };
      },
      progressed: () => false,
      signal: options.closing,
      maxBodyBytes: MAX_TOKEN_BODY_BYTES,
      sinks: [],
    });
  for (let forms = ''; ; forms = ', to client id and secret as they are and percent-encoded') {
    try {
      const issued = await ask();
      credentials.accepted();
      return issued;
    } catch (error) {
      if (!(error instanceof HttpStatusError)) throw error;
      const isOfForm = FORM_REFUSALS.includes(error.status);
      if (isOfForm && credentials.refused()) continue;
      const found = `the token endpoint at ${nameRequest(host, requestId)} answered ${error.status}${forms}`;
      if (isOfForm || error.status === 403) throw credentialsRefused(found, error);
      throw new FatalError('token-endpoint-wrong', `${found}, expected 200; check QUERY_AUTH_URL`, {
        cause: error,
      });
    }
  }
}

/** Throws FatalError `token-invalid` for a body without a token. */
async function readToken(answer: Answer, host: string): Promise<Omit<IssuedToken, 'sentMs'>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(Buffer.from(chunk));
  let body: { readonly access_token?: unknown; readonly expires_in?: unknown } | null = null;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    // Said below, without the body: it may hold a token.
  }
  const { access_token: text, expires_in: expiresIn } = body ?? {};
  if (typeof text === 'string' && /^[\x21-\x7e]+$/.test(text)) return { text, expiresIn };
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
