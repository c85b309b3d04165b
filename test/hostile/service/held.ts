/** What an answer of the service to a hostile request may be. */
import type { HostileInput } from '../input.ts';
import { shown } from '../input.ts';
import type { RawAnswer } from '../raw-http.ts';
import type { Asked, ServiceFace } from './service-face.ts';

/** Traces of what no answer may show: code, files, the engine behind. */
const LEAKS =
  /node_modules|\.ts:\d+|\bat (?:async )?\S+ \(|root:x:|Parser Error|Binder Error|Catalog Error|IO Error|DuckDB|ENOENT/i;

const OAUTH_CODES = ['invalid_request', 'invalid_client', 'unsupported_grant_type'];

export interface Expectation {
  /** Statuses that are right; 0 is a connection that was closed without an answer. */
  readonly statuses: readonly number[];
  /** What else an answer must be; its fault, in words. */
  readonly check?: (answer: RawAnswer, face: ServiceFace) => string | undefined;
  /** A token is what was asked for: one of the same second is the same as before. */
  readonly isToken?: boolean;
}

/** The fault of an answer, in words. */
export function faultOf(
  answer: RawAnswer,
  { statuses, check, isToken = false }: Expectation,
  face: ServiceFace,
): string | undefined {
  const text = answer.body.toString('utf8');
  if (!statuses.includes(answer.status))
    return `status ${answer.status} (${shown(text)}), expected ${statuses.join(' or ')}`;
  if (answer.status >= 400) {
    const fault = errorBodyFault(answer, text);
    if (fault !== undefined) return fault;
  }
  const leak = secretsOf(face).find(
    (secret) => text.includes(secret) && !(isToken && secret === face.narrow.token),
  );
  if (leak !== undefined) return 'the answer shows a secret';
  return check?.(answer, face);
}

function secretsOf({ narrow, wide }: ServiceFace): string[] {
  return [narrow.clientSecret, wide.clientSecret, narrow.token, wide.token];
}

/** The contract: `{"error": <text>}` and nothing else; of the token endpoint, by RFC 6749, with a description. */
function errorBodyFault(answer: RawAnswer, text: string): string | undefined {
  if (!/^application\/json/.test(answer.headers['content-type'] ?? ''))
    return `an error of type '${answer.headers['content-type'] ?? ''}'`;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return `an error whose body is not JSON: ${shown(text)}`;
  }
  const keys = typeof body === 'object' && body !== null ? Object.keys(body).join() : '';
  const { error: code, error_description: error = code } = body as Record<string, unknown>;
  const isContract =
    keys === 'error' || (keys === 'error,error_description' && OAUTH_CODES.includes(code as string));
  if (!isContract || typeof error !== 'string' || error === '')
    return `an error with another body: ${shown(text)}`;
  if (error.length > 2_000) return `an error message of ${error.length} characters`;
  if (LEAKS.test(error)) return `an error that shows what is inside: ${shown(error)}`;
  return undefined;
}

/** An answer of 200 with nothing in it that the narrow client may not see. */
export function nothingForeign(answer: RawAnswer, face: ServiceFace): string | undefined {
  if (answer.status !== 200) return undefined;
  const text = answer.body.toString('utf8');
  for (const [id] of text.matchAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi))
    if (face.foreignIds.has(id)) return `series ${id} of another vessel is shown`;
  for (const [vessel] of text.matchAll(/IMO\d{7}/g))
    if (face.foreignVessels.has(vessel)) return `${vessel} is shown`;
  return undefined;
}

export const REFUSED: Expectation = { statuses: [400, 401, 404, 405, 406, 413, 414, 415, 417, 431] };
/** An answer that is right, or a refusal; never a fault of the service. */
export const ANSWERED: Expectation = {
  statuses: [200, ...REFUSED.statuses],
  check: nothingForeign,
};

/** One request as an input. */
export function request(
  name: string,
  asked: Asked | ((face: ServiceFace) => Asked),
  expectation: Expectation = ANSWERED,
): HostileInput<ServiceFace> {
  return {
    name: shown(name),
    async send(face) {
      const sent = typeof asked === 'function' ? asked(face) : asked;
      const answer = await face.ask(sent);
      // An answer to HEAD has no body by definition.
      if (sent.method === 'HEAD')
        return expectation.statuses.includes(answer.status) ? undefined : `status ${answer.status}`;
      return faultOf(answer, expectation, face);
    },
  };
}

/** A POST of expressions. */
export function query(
  name: string,
  body: string | Buffer,
  { family = 'metadata', headers = [], ...rest }: Asked & { readonly family?: string } = {},
  expectation: Expectation = ANSWERED,
): HostileInput<ServiceFace> {
  const given = headers.some((header) => /^content-type:/i.test(header));
  return request(
    name,
    {
      method: 'POST',
      path: `/${family}/query`,
      headers: [...(given ? [] : ['content-type: application/json']), ...headers],
      body,
      ...rest,
    },
    expectation,
  );
}
