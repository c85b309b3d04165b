// @ts-check
/** What the page asks of its server. */

/** An answer other than 2xx, or none: `status` is 0 then, and `code` is `no-answer`. */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {() => void} onSignInNeeded called when an answer says that nobody is signed in (any more)
 * @returns {import('./view.d.ts').Api}
 */
export function createApi(onSignInNeeded) {
  /** @type {(method: string, path: string, body: string | null, signal: AbortSignal | undefined) => Promise<any>} */
  const ask = async (method, path, body, signal) => {
    // From the origin: an address with a name and a password in it is none that may be fetched.
    const url = new URL(path, location.origin);
    /** @type {Record<string, string>} */
    const headers = body === null ? {} : { 'content-type': 'application/json', 'x-vessel-export': 'act' };
    const answer = await fetch(url, {
      method,
      headers,
      body,
      signal: signal ?? null,
      redirect: 'error',
    }).catch((error) => {
      if (signal?.aborted) throw error;
      throw new ApiError(0, 'no-answer', 'the server does not answer');
    });
    const isOwnError = answer.headers.get('content-type')?.startsWith('application/json') === true;
    if (answer.ok) return await answer.json();
    const { error } = isOwnError ? await answer.json() : { error: undefined };
    const code = typeof error?.code === 'string' ? error.code : 'no-answer';
    const message =
      typeof error?.message === 'string' ? error.message : `the server answered ${answer.status}`;
    if (code === 'sign-in-needed') onSignInNeeded();
    throw new ApiError(answer.status, code, message);
  };
  return {
    get: (path, { signal } = {}) => ask('GET', path, null, signal),
    post: (path, body, { signal } = {}) => ask('POST', path, JSON.stringify(body), signal),
  };
}
