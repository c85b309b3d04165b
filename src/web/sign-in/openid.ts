/** Names from an OpenID provider: code with PKCE, state, nonce, a checked ID token. It loads the library. */
import * as client from 'openid-client';
import {
  cleanForeignText,
  FatalError,
  messageOf,
  RetriableError,
  VesselExportError,
} from '../../core/errors.ts';
import { isInClear, isLoopbackHost } from '../../core/model/web-address.ts';

export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  readonly nameClaim: string;
  readonly groupsClaim: string;
  readonly redirectUri: string;
}

/** What a browser keeps while it is at the provider. */
interface SignInFlow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Time-out for each complete answer of the provider. */
const PATIENCE_S = 10;
const MAX_ANSWER_BYTES = 1 << 20;
const MAX_GROUPS = 1_000;

/** Reads the provider's metadata. Throws RetriableError `provider-unreachable` and FatalError `provider-wrong`. */
export async function openProvider(settings: ProviderSettings) {
  const { issuer, clientId, clientSecret, scope, redirectUri } = settings;
  const asked = <T>(work: Promise<T>, kind: FaultKind): Promise<T> =>
    work.catch((error: unknown) => Promise.reject(faultOf(error, settings, kind)));
  const server = new URL(issuer);
  // Only for this machine: the settings refuse http to any other.
  const insecure = isLoopbackHost(server.hostname) && server.protocol === 'http:';
  const execute = [client.enableNonRepudiationChecks, ...(insecure ? [client.allowInsecureRequests] : [])];
  const options = { execute, timeout: PATIENCE_S, [client.customFetch]: fetchBounded };
  // How clients authenticate is read from the metadata; the default is that of the standard.
  const authenticate: client.ClientAuth = (as, ...more) => {
    const isByPost = as.token_endpoint_auth_methods_supported?.includes('client_secret_post') === true;
    const method = isByPost ? client.ClientSecretPost : client.ClientSecretBasic;
    return method(clientSecret)(as, ...more);
  };
  const config = await asked(client.discovery(server, clientId, {}, authenticate, options), 'provider-wrong');
  expectHttps(config.serverMetadata(), settings);

  return {
    async begin() {
      const flow: SignInFlow = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const address = client.buildAuthorizationUrl(config, {
        ...{ redirect_uri: redirectUri, scope, state: flow.state, nonce: flow.nonce },
        code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
      });
      return { address: address.href, flow };
    },
    /** Throws FatalError `sign-in-refused`, `sign-in-invalid`, `provider-wrong`, RetriableError `provider-unreachable`. */
    async finish(query: string, { state, nonce, verifier }: SignInFlow) {
      const returned = new URL(redirectUri);
      returned.search = query;
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
      const granted = await asked(
        client.authorizationCodeGrant(config, returned, { ...checks, idTokenExpected: true }),
        'sign-in-invalid',
      );
      const claims: Claims & { readonly sub: string } = granted.claims()!;
      const isWhole = [settings.nameClaim, settings.groupsClaim].every((name) => claims[name] !== undefined);
      if (isWhole || config.serverMetadata().userinfo_endpoint === undefined)
        return personOf(claims, settings);
      // Some providers put only the subject into the ID token.
      const more = await asked(
        client.fetchUserInfo(config, granted.access_token, claims.sub),
        'sign-in-invalid',
      );
      return personOf({ ...more, ...claims }, settings);
    },
  };
}

type Claims = Readonly<Record<string, unknown>>;

/** The user as the provider names them. `subject`: the provider's id, which never changes. */
function personOf(claims: Claims & { readonly sub: string }, { nameClaim, groupsClaim }: ProviderSettings) {
  const texts = (name: string): string[] => {
    const value = claims[name];
    // An address that is not verified may be another person's.
    if (name === 'email' && claims.email_verified !== true) return [];
    return (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string' && one !== '');
  };
  const [name = claims.sub] = texts(nameClaim);
  return { name, subject: claims.sub, groups: texts(groupsClaim).slice(0, MAX_GROUPS) };
}

/** Every address that the provider names must be as secure as its own. */
function expectHttps(metadata: client.ServerMetadata, { issuer }: ProviderSettings): void {
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'userinfo_endpoint'] as const) {
    const url = URL.parse(metadata[name] ?? '');
    if (name !== 'userinfo_endpoint' && url === null)
      throw new FatalError('provider-wrong', `${issuer}: it names no ${name}, expected an OpenID provider`);
    if (url !== null && isInClear(url))
      throw new FatalError('provider-wrong', `${issuer}: its ${name} is plain http, expected https`);
  }
}

type FaultKind = 'provider-wrong' | 'sign-in-invalid';

/** `kind`: the error if the provider has answered. */
function faultOf(error: unknown, { issuer, clientSecret }: ProviderSettings, kind: FaultKind) {
  const causes: unknown[] = [];
  for (let one = error; one instanceof Error; one = one.cause) causes.push(one);
  const ours = causes.find((one) => one instanceof VesselExportError);
  if (ours !== undefined) return ours;
  const because = (text: string) => cleanForeignText(text, [clientSecret]);
  if (error instanceof client.AuthorizationResponseError)
    return new FatalError(
      'sign-in-refused',
      `${issuer} refused: ${because(error.error_description ?? error.error)}`,
    );
  const { cause, code } = error as { readonly cause?: unknown; readonly code?: string };
  const status =
    error instanceof client.ResponseBodyError
      ? error.status
      : cause instanceof Response
        ? cause.status
        : undefined;
  const isLate = code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT';
  if (isLate || error instanceof TypeError || (status !== undefined && status >= 500)) {
    const why = because([...new Set(causes.map(messageOf))].join(': '));
    const found = `${issuer} does not answer (${status === undefined ? why : `status ${status}`})`;
    return new RetriableError('provider-unreachable', `${found}; check WEB_OIDC_ISSUER and the network`);
  }
  if (error instanceof client.ResponseBodyError) {
    const found = because(`${issuer} refused: ${error.error} ${error.error_description ?? ''}`);
    // The browser's code is old or made up; otherwise the provider refuses us as a client.
    return new FatalError(error.error === 'invalid_grant' ? 'sign-in-invalid' : 'provider-wrong', found);
  }
  const found = status === undefined ? [...new Set(causes.map(messageOf))].join(': ') : `status ${status}`;
  return new FatalError(kind, because(`${issuer}: ${found}`));
}

/** The library reads answers without a bound. */
const fetchBounded: client.CustomFetch = async (url, options) => {
  const { body, status, headers } = await fetch(url, options as RequestInit);
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const piece of body ?? []) {
    sizeBytes += piece.byteLength;
    if (sizeBytes > MAX_ANSWER_BYTES)
      throw new FatalError('provider-wrong', `${url}: the answer has more than ${MAX_ANSWER_BYTES} bytes`);
    pieces.push(piece);
  }
  return new Response(pieces.length === 0 ? null : Buffer.concat(pieces), { status, headers });
};
