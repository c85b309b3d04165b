/** Who may ask for tokens, what tokens say, and who may read what. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../model/index.ts';
import { HttpError } from './http-error.ts';

export interface ServiceClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Vessels `IMO<number>` the client may read, or `*` for all. */
  readonly vessels: readonly string[] | '*';
}

/** What a valid token says. */
export interface Bearer {
  readonly clientId: string;
  mayRead(vessel: string): boolean;
}

const ALGORITHM = 'HS256';
const ISSUER = 'vessel-time-series-query-service';
const SCOPE_PREFIX = 'read:';
const UNAUTHORIZED = { 'www-authenticate': 'Bearer' };

/** A client with a random id and secret that may read everything. */
export function randomClient(): ServiceClient {
  return {
    clientId: `client-${randomBytes(6).toString('hex')}`,
    clientSecret: randomBytes(24).toString('base64url'),
    vessels: '*',
  };
}

/** Issues and checks tokens. The key is random and lives as long as the process. */
export class TokenAuthority {
  readonly #clients: readonly ServiceClient[];
  readonly #ttlSeconds: number;
  readonly #clock: Clock;
  #key = randomBytes(32);

  constructor(clients: readonly ServiceClient[], ttlSeconds: number, clock: Clock) {
    this.#clients = clients;
    this.#ttlSeconds = ttlSeconds;
    this.#clock = clock;
  }

  /** The client of an `Authorization: Basic …` header. Throws 401. */
  authenticate(header: string | undefined): ServiceClient {
    const refused = new HttpError(401, 'client id and secret were not accepted; send them as HTTP Basic', {
      'www-authenticate': 'Basic realm="token"',
    });
    const match = /^Basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(header ?? '');
    if (!match) throw refused;
    const pair = Buffer.from(match[1]!, 'base64').toString('utf8');
    const colon = pair.indexOf(':');
    if (colon < 0) throw refused;
    let accepted: ServiceClient | undefined;
    // Every client is compared, whichever fits: the time taken tells nothing.
    for (const client of this.#clients) {
      const idFits = sameText(pair.slice(0, colon), client.clientId);
      const secretFits = sameText(pair.slice(colon + 1), client.clientSecret);
      if (idFits && secretFits) accepted = client;
    }
    if (!accepted) throw refused;
    return accepted;
  }

  async issue(
    client: ServiceClient,
  ): Promise<{ accessToken: string; expiresInSeconds: number; scope: string }> {
    const scope =
      client.vessels === '*'
        ? `${SCOPE_PREFIX}*`
        : client.vessels.map((vessel) => SCOPE_PREFIX + vessel).join(' ');
    const issuedAt = Math.floor(this.#clock.nowMs() / 1000);
    const accessToken = await new SignJWT({ scope })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setIssuer(ISSUER)
      .setSubject(client.clientId)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + this.#ttlSeconds)
      .sign(this.#key);
    return { accessToken, expiresInSeconds: this.#ttlSeconds, scope };
  }

  /** The bearer of an `Authorization: Bearer …` header. Throws 401; the algorithm is pinned. */
  async check(header: string | undefined): Promise<Bearer> {
    const match = /^Bearer\s+(\S+)\s*$/i.exec(header ?? '');
    if (!match)
      throw new HttpError(401, 'a bearer token is required; get one from the token endpoint', UNAUTHORIZED);
    try {
      const { payload } = await jwtVerify(match[1]!, this.#key, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        requiredClaims: ['exp', 'iat', 'sub'],
        currentDate: new Date(this.#clock.nowMs()),
      });
      return bearerOf(String(payload.sub), typeof payload.scope === 'string' ? payload.scope : '');
    } catch (error) {
      const expired = error instanceof Error && 'code' in error && error.code === 'ERR_JWT_EXPIRED';
      const why = expired ? 'the token has expired' : 'the token is not valid';
      throw new HttpError(401, `${why}; get a new one from the token endpoint`, UNAUTHORIZED);
    }
  }

  /** Make every token issued so far invalid. */
  revokeAll(): void {
    this.#key = randomBytes(32);
  }
}

function bearerOf(clientId: string, scope: string): Bearer {
  const vessels = new Set(
    scope
      .split(' ')
      .filter((word) => word.startsWith(SCOPE_PREFIX))
      .map((word) => word.slice(SCOPE_PREFIX.length)),
  );
  return { clientId, mayRead: (vessel) => vessels.has('*') || vessels.has(vessel) };
}

/** Compares in a time that depends on neither text. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
