import { cleanForeignText, FatalError } from '../../core/errors.ts';
import { API_VERSIONS, type ApiVersion } from '../../core/model/query.ts';
import type { Answer, Exchange } from './exchange.ts';

/** The stable version and its beta alias answer alike, under either name. */
const ALIASES: readonly ApiVersion[] = ['2026-09-10', '2026-01-01-beta'];

/** Layer: ask for one version of the API in every request, and take no other in an answer. */
export function withVersion(version: ApiVersion, next: Exchange): Exchange {
  return (call) =>
    next({
      ...call,
      outgoing: async () => {
        const outgoing = await call.outgoing();
        return { ...outgoing, headers: { ...outgoing.headers, 'x-api-version': version } };
      },
      consume: async (answer) => {
        if (answer.status === 200) checkVersion(version, answer);
        return call.consume(answer);
      },
    });
}

/** The version that an answer names; undefined when it names none that we know. */
export function versionOf(answer: Answer): ApiVersion | undefined {
  const text = answer.headers['api-version']?.trim();
  return API_VERSIONS.find((version) => version === text);
}

function checkVersion(asked: ApiVersion, answer: Answer): void {
  const got = versionOf(answer);
  if (got !== undefined && (got === asked || (ALIASES.includes(got) && ALIASES.includes(asked)))) return;
  const text = answer.headers['api-version'];
  const found =
    text === undefined
      ? 'without an api-version header, so something else than the query service may have answered'
      : `in version '${cleanForeignText(text, [], 40)}'`;
  throw new FatalError(
    'wrong-api-version',
    `requested API version ${asked}, the response came ${found}; check QUERY_BASE_URL and set QUERY_API_VERSION to a version the service has (known: ${API_VERSIONS.join(', ')})`,
  );
}
