/** The request for an access token: OAuth 2.0 client credentials (RFC 6749 §4.4), and the lifetime of the token. */

import { FatalError, HttpStatusError } from '../../core/errors.ts';
import type { Clock } from '../../core/model/ports.ts';
import type { TraceContext } from '../../core/model/tracing.ts';
import { uniqueId } from '../../core/unique-id.ts';
import { idHeaders, nameRequest } from './address.ts';
import type { Answer, Exchange } from './exchange.ts';
import { readAnswerError } from './status.ts';

/**
 * Client id and secret as HTTP Basic: as they are, by the contract, or percent-encoded before, by RFC 6749 §2.3.1. Only a refusal tells which is meant:
 * the plain form goes first, the other once; then they take turns, one at each refusal, until one has worked. So nobody is locked out sooner.
 */
export class BasicCredentials {
  readonly secrets: readonly string[];
  readonly #forms: readonly string[];
  readonly #refused = new Set<number>();
  #hasWorked = false;
  #at = 0;

  constructor(clientId: string, clientSecret: string) {
    const pairs = [
      [clientId, clientSecret],
      [percentEncoded(clientId), percentEncoded(clientSecret)],
    ];
    const forms = pairs.map((pair) => Buffer.from(pair.join(':'), 'utf8').toString('base64'));
    this.#forms = [...new Set(forms)];
    this.secrets = [...pairs.map(([, secret]) => secret!), ...forms];
  }

  get form(): string {
    return this.#forms[this.#at]!;
  }

  accepted(): void {
    this.#hasWorked = true;
  }

  /** The form was refused. True if the other form must be tried at once. */
  refused(): boolean {
    this.#refused.add(this.#at);
    this.#at = (this.#at + 1) % this.#forms.length;
    return !this.#hasWorked && !this.#refused.has(this.#at);
  }
}

/** With `%20` and not `+` for a space, which every decoder understands. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Assumed lifetime of a token without one. */
const ASSUMED_LIFETIME_MS = 3_600_000;
/** A longer lifetime means "for ever", or another unit. */
const MAX_LIFETIME_MS = 86_400_000;

/** The shorter of a token's own `exp − iat`, which no clock changes, and `expires_in`; else `exp` by our clock, else an hour. A day at most. */
export function lifetimeOf(token: string, expiresIn: unknown, nowMs: number): number {
  const { exp, iat } = claimsOf(token);
  const expMs = typeof exp === 'number' ? exp * 1000 : undefined;
  const toldMs = ahead(secondsOf(expiresIn) * 1000);
  const ownMs = typeof iat === 'number' ? ahead(expMs, iat * 1000) : undefined;
  const knownMs = toldMs ?? ownMs ?? (typeof iat === 'number' ? undefined : ahead(expMs, nowMs));
  return Math.min(knownMs ?? ASSUMED_LIFETIME_MS, ownMs ?? Infinity, MAX_LIFETIME_MS);
}

function ahead(untilMs: number | undefined, fromMs = 0): number | undefined {
  const ms = (untilMs ?? 0) - fromMs;
  return ms > 0 && Number.isFinite(ms) ? ms : undefined;
}

/** Some endpoints send the number as text. */
function secondsOf(value: unknown): number {
  if (typeof value === 'string' && /^\d{1,15}(\.\d{1,9})?$/.test(value)) return Number(value);
  return typeof value === 'number' ? value : 0;
}

function claimsOf(token: string): { readonly exp?: unknown; readonly iat?: unknown } {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) ?? {};
  } catch {
    return {};
  }
}

export interface TokenRequestOptions {
  readonly authUrl: string;
  readonly clock: Clock;
  /** retry → rate limit → deadline → transport: without token, version and concurrency limit. */
  readonly exchange: Exchange;
  readonly closing: AbortSignal;
  readonly trace?: TraceContext | undefined;
}

export interface IssuedToken {
  readonly text: string;
  readonly expiresIn: unknown;
  /** When it was requested, on the monotonic clock. */
  readonly sentMs: number;
}

const MAX_TOKEN_BODY_BYTES = 256 * 1024;
const WHAT = 'access token';
/** Statuses for credentials in another form than the server expects. */
const FORM_REFUSALS = [400, 401];

/** Request a token. Throws FatalError (`credentials-refused`, `token-endpoint-wrong`, `token-invalid`) and what the exchange throws. */
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
        requestId = uniqueId();
        const headers = {
          authorization: `Basic ${credentials.form}`,
          ...idHeaders(requestId, options.trace),
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        };
        return {
          ...({ method: 'POST', origin, setting: 'QUERY_AUTH_URL', target, headers } as const),
          ...{ body: 'grant_type=client_credentials', requestId, attempt: 1 },
          ...{ asked: WHAT, what: nameRequest(WHAT, requestId) },
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
      const message = `${found}, expected 200; check QUERY_AUTH_URL`;
      throw new FatalError('token-endpoint-wrong', message, { cause: error });
    }
  }
}

async function readToken(answer: Answer, host: string): Promise<Omit<IssuedToken, 'sentMs'>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(Buffer.from(chunk));
  let body: { readonly access_token?: unknown; readonly expires_in?: unknown } | null = null;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    // The error below does not contain the body, which may have a token.
  }
  const { access_token: text, expires_in: expiresIn } = body ?? {};
  if (typeof text === 'string' && /^[\x21-\x7e]+$/.test(text)) return { text, expiresIn };
  throw new FatalError(
    'token-invalid',
    `the token endpoint at ${host} answered 200 but not with JSON that has an access_token; check QUERY_AUTH_URL`,
  );
}

/** Advice for refused credentials. */
export function credentialsRefused(found: string, cause?: unknown): FatalError {
  return new FatalError(
    'credentials-refused',
    `the credentials were refused: ${found}; check QUERY_CLIENT_ID, QUERY_CLIENT_SECRET and QUERY_AUTH_URL, and whether the operator has regenerated the secret, which makes the old one invalid`,
    cause === undefined ? undefined : { cause },
  );
}
