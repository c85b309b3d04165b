/** Who may ask for tokens, what tokens say, and who may read what. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { createLoginGuard, formDecoded, type Login, readBasic } from '../../core/logins.ts';
import type { Clock, Log } from '../../core/model/index.ts';
import { HttpError, OAuthError } from './http-error.ts';

export interface ServiceClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Vessels `IMO<number>` the client may read, or `*` for all. */
  readonly vessels: readonly string[] | '*';
}

export interface Bearer {
  readonly clientId: string;
  mayRead(vessel: string): boolean;
}

const ALGORITHM = 'HS256';
const ISSUER = 'vessel-time-series-query-service';
const SCOPE_PREFIX = 'read:';
const UNAUTHORIZED = { 'www-authenticate': 'Bearer' };

/** It may read everything. */
export function randomClient(): ServiceClient {
  return {
    clientId: `client-${randomBytes(6).toString('hex')}`,
    clientSecret: randomBytes(24).toString('base64url'),
    vessels: '*',
  };
}

export type TokenAuthority = ReturnType<typeof createTokenAuthority>;

/** Issues and checks tokens. The key is random and lives as long as the process. */
export function createTokenAuthority(
  clients: readonly ServiceClient[],
  ttlSeconds: number,
  clock: Clock,
  log: Log,
) {
  const digest = keyedDigest();
  const known = clients.map((client) => ({
    ...{ client, id: digest(client.clientId), secret: digest(client.clientSecret) },
  }));
  // Sent as a name, a secret may come decoded once more.
  const secrets = clients.flatMap(({ clientSecret }) => [
    clientSecret,
    formDecoded(clientSecret) ?? clientSecret,
  ]);
  const guard = createLoginGuard({ where: 'the token endpoint', clock, log, secrets });
  let key = randomBytes(32);

  /** Every client is compared with each form, whichever fits: the time taken tells nothing. The plain form goes first. */
  function find(logins: readonly Login[]): ServiceClient | undefined {
    let found: ServiceClient | undefined;
    for (const login of logins) {
      const [name, tried] = [digest(login.name), digest(login.secret)];
      for (const { client, id, secret } of known) {
        const idFits = timingSafeEqual(name, id);
        const secretFits = timingSafeEqual(tried, secret);
        if (idFits && secretFits) found ??= client;
      }
    }
    return found;
  }

  return {
    /** The client of an `Authorization: Basic …` header, plain or form-encoded. Throws 401, and 429 for an address that failed too often. */
    authenticate(header: string | undefined, address: string): ServiceClient {
      const logins = readBasic(header);
      // The decoded form counts: other spellings of a name are no other names.
      const counted = logins.at(-1);
      const outcome = counted && guard.attempt(address, counted, () => find(logins));
      if (outcome?.state === 'accepted') return outcome.value;
      if (outcome?.state === 'locked')
        throw new HttpError(
          429,
          `too many failed logins with this client id or from this address; try again in ${outcome.retryAfterSeconds} s`,
          { 'retry-after': String(outcome.retryAfterSeconds) },
        );
      const refused = 'client id and secret were not accepted; send them as HTTP Basic';
      throw new OAuthError('invalid_client', refused, { 'www-authenticate': 'Basic realm="token"' });
    },

    async issue(client: ServiceClient) {
      const vessels = client.vessels === '*' ? ['*'] : client.vessels;
      const scope = vessels.map((vessel) => SCOPE_PREFIX + vessel).join(' ');
      const issuedAt = Math.floor(clock.nowMs() / 1000);
      const accessToken = await new SignJWT({ scope })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setIssuer(ISSUER)
        .setSubject(client.clientId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ttlSeconds)
        .sign(key);
      return { accessToken, expiresInSeconds: ttlSeconds, scope };
    },

    /** The bearer of an `Authorization: Bearer …` header. Throws 401; the algorithm is pinned. */
    async check(header: string | undefined): Promise<Bearer> {
      const match = /^Bearer\s+(\S+)\s*$/i.exec(header ?? '');
      if (!match)
        throw new HttpError(401, 'a bearer token is required; get one from the token endpoint', UNAUTHORIZED);
      try {
        const { payload } = await jwtVerify(match[1]!, key, {
          ...{ algorithms: [ALGORITHM], issuer: ISSUER, requiredClaims: ['exp', 'iat', 'sub'] },
          currentDate: new Date(clock.nowMs()),
        });
        return bearerOf(String(payload.sub), typeof payload.scope === 'string' ? payload.scope : '');
      } catch (error) {
        const expired = error instanceof Error && 'code' in error && error.code === 'ERR_JWT_EXPIRED';
        const why = expired ? 'the token has expired' : 'the token is not valid';
        throw new HttpError(401, `${why}; get a new one from the token endpoint`, UNAUTHORIZED);
      }
    },

    revokeAll(): void {
      key = randomBytes(32);
    },
  };
}

function bearerOf(clientId: string, scope: string): Bearer {
  const words = scope.split(' ').filter((word) => word.startsWith(SCOPE_PREFIX));
  const vessels = new Set(words.map((word) => word.slice(SCOPE_PREFIX.length)));
  return { clientId, mayRead: (vessel) => vessels.has('*') || vessels.has(vessel) };
}

/** Digests of equal length, to be compared in a time that depends on neither text. */
function keyedDigest(): (text: string) => Buffer {
  const key = randomBytes(32);
  return (text) => createHmac('sha256', key).update(text).digest();
}
