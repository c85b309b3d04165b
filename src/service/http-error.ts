/** A refusal that becomes an answer: `{ "error": message }` with its status. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.headers = headers;
  }
}

/** 400, naming the parameter, what was found and what is expected. */
export function badParameter(name: string, found: string, expected: string): HttpError {
  return new HttpError(400, `parameter '${name}': got '${found.slice(0, 200)}', expected ${expected}`);
}

/** The body of every error. */
export function errorBody(message: string): string {
  return JSON.stringify({ error: message });
}
