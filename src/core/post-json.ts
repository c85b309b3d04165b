/** One POST to an address that somebody has set, which may be a secret itself: neither it nor what a library says of it is repeated. */
import { CERTIFICATE_CODES, percentDecoded } from './model/web-address.ts';

interface JsonPost {
  /** A user and a password in it go as Basic credentials. */
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What became of it; `fault` is a clause, absent after a status 2xx. No redirect is followed, no body is read. Throws the signal's reason. */
export async function postJson({ url, body, headers, timeoutMs, signal }: JsonPost) {
  try {
    const { target, login } = splitLogin(url);
    const answer = await fetch(target, {
      method: 'POST',
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      headers: { 'content-type': 'application/json', ...login, ...headers },
    });
    await answer.body?.cancel();
    const { status } = answer;
    return answer.ok ? { status } : { status, fault: `it answered ${status}` };
  } catch (error) {
    signal.throwIfAborted();
    return { fault: causeOf(error, timeoutMs) };
  }
}

/** User and password in an address go as Basic credentials: a request to an address that holds them is refused. */
function splitLogin(url: string): { readonly target: URL; readonly login: Readonly<Record<string, string>> } {
  const target = new URL(url);
  const { username, password } = target;
  if (username === '' && password === '') return { target, login: {} };
  [target.username, target.password] = ['', ''];
  // As it stands where a '%' means itself.
  const pair = [username, password].map((text) => percentDecoded(text) ?? text).join(':');
  return { target, login: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no process listens there',
  ENOTFOUND: 'the name of its host is unknown',
  EAI_AGAIN: 'the name of its host cannot be resolved now',
  ECONNRESET: 'it closed the connection',
  UND_ERR_SOCKET: 'it closed the connection',
  EHOSTUNREACH: 'there is no way to its host',
  ENETUNREACH: 'there is no way to its network',
};

/** By the system's code alone: what a library says may repeat the address. */
function causeOf(error: unknown, timeoutMs: number): string {
  const { name, cause } = error as Error;
  if (name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`;
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  const { code, message } = (first ?? {}) as { readonly code?: unknown; readonly message?: string };
  if (message === 'bad port') return 'nothing of http is sent to its port, which is of another protocol';
  if (typeof code !== 'string') return 'the request failed';
  const why = CERTIFICATE_CODES.test(code)
    ? 'its certificate does not verify (NODE_EXTRA_CA_CERTS names an issuer)'
    : REASONS[code];
  return why === undefined ? code : `${why} (${code})`;
}
