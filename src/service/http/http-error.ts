/** A refusal that becomes an answer: its status with its body. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.headers = headers;
  }

  get body(): string {
    return errorBody(this.message);
  }
}

/** A refusal of the token endpoint by RFC 6749 §5.2; its body is the contract's too: the code in `error`, the message in `error_description`. */
export class OAuthError extends HttpError {
  readonly code: 'invalid_request' | 'invalid_client' | 'unsupported_grant_type';

  constructor(code: OAuthError['code'], message: string, headers?: Readonly<Record<string, string>>) {
    super(code === 'invalid_client' ? 401 : 400, message, headers);
    this.name = 'OAuthError';
    this.code = code;
  }

  override get body(): string {
    // No other characters are allowed there.
    const description = this.message.replaceAll('"', "'").replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?');
    return JSON.stringify({ error: this.code, error_description: description });
  }
}

export function badRequest(message: string): HttpError {
  return new HttpError(400, message);
}

/** 400, naming the parameter, what was found and what is expected. */
export function badParameter(name: string, found: string, expected: string): HttpError {
  return badRequest(`parameter '${name}': got '${found.slice(0, 200)}', expected ${expected}`);
}

export function errorBody(message: string): string {
  return JSON.stringify({ error: message });
}
