import type { VesselExportError } from '../../core/errors.ts';
import { FatalError, HttpStatusError, RateLimitedError, RetriableError } from '../../core/errors.ts';
import { cleanForeignText } from '../../core/model/foreign-text.ts';
import type { Answer } from './exchange.ts';
import { isPassing, retryAfterMs } from './retry.ts';

/** A response that is not 200, for the retry layer, which decides about it. */
export class AnswerError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The service's `error` text, cleaned; may be empty. */
  readonly text: string;
  readonly what: string;
  constructor(answer: Omit<Answer, 'body'>, text: string, what: string) {
    super(`${what}: status ${answer.status}`);
    this.status = answer.status;
    this.headers = answer.headers;
    this.text = text;
    this.what = what;
  }
}

/** A 401 for a token that may have expired: the request is repeated with a new one, which costs no attempt. */
export class RefusedTokenError extends AnswerError {
  constructor({ status, headers, text, what }: AnswerError) {
    super({ status, headers }, text, what);
  }
}

/** Read the error body of a response, at most `maxBytes` of it. If the body breaks off, only its text is lost. */
export async function readAnswerError(
  answer: Answer,
  what: string,
  maxBytes: number,
  secrets: readonly string[],
): Promise<AnswerError> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer.body) {
      chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes >= maxBytes) break;
    }
  } catch {
    // The status alone is enough.
  }
  const text = Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8');
  return new AnswerError(answer, cleanForeignText(errorTextOf(text), secrets), what);
}

/** The contract's `error`; from a token endpoint, by RFC 6749, a code with a description. */
function errorTextOf(body: string): string {
  try {
    const { error, error_description: description }: Record<string, unknown> = JSON.parse(body) ?? {};
    if (typeof error === 'string')
      return typeof description === 'string' ? `${error}: ${description}` : error;
  } catch {
    // Not the contract's error body: a proxy answered. Its text is shown as it is.
  }
  return body;
}

const STATUS_CODES: Record<number, readonly [code: string, advice: string]> = {
  400: ['bad-request', 'check the expression, the range and the aggregations'],
  401: ['unauthorized', 'check QUERY_CLIENT_ID and QUERY_CLIENT_SECRET'],
  403: ['forbidden', 'the client may not read this; ask the operator of the service'],
  404: ['not-found', 'check QUERY_BASE_URL with its tenant segment, and the expression'],
  406: ['not-acceptable', 'the service does not offer this format here; choose another transport'],
  413: ['request-too-large', 'request less at once'],
  414: ['url-too-long', 'use a shorter expression'],
  415: ['unsupported-media-type', 'something on the way drops the Content-Type header'],
};

export function publicError(error: AnswerError, nowMs: number): VesselExportError {
  const { status, what } = error;
  const said = error.text === '' ? '' : `: ${error.text}`;
  const got = `${what}: the service answered ${status}${said}`;
  if (status >= 300 && status < 400)
    return new FatalError(
      'redirect-refused',
      `${what}: the service redirects to ${redirectHost(error)}; a bearer token is not carried elsewhere, so set the address it should have`,
    );
  if (status === 429) return new RateLimitedError('rate-limited', got, retryAfterMs(error.headers, nowMs));
  if (status === 504) return new RetriableError('gateway-timeout', got);
  if (isPassing(status)) return new RetriableError('server-error', got);
  const [code, advice] = STATUS_CODES[status] ?? ['unexpected-status', 'expected 200'];
  return new HttpStatusError(status, code, `${got}; ${advice}`);
}

/** A response with a permanent status from a service that may be faulty. */
export function doubted(error: AnswerError, nowMs: number): RetriableError {
  return new RetriableError('nothing-found', publicError(error, nowMs).message, { cause: error });
}

function redirectHost(error: AnswerError): string {
  try {
    return cleanForeignText(new URL(error.headers.location ?? '', 'http://itself').host, [], 100);
  } catch {
    return 'another address';
  }
}
