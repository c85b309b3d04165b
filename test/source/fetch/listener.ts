import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/core/model/ports.ts';
import type { QueryRequest, QueryResponse } from '../../../src/core/model/query.ts';
import {
  type ClientOptions,
  createQueryClient,
  type ExchangeOptions,
  type QueryClient,
} from '../../../src/source/fetch/client.ts';
import { createConcurrencyLimit } from '../../../src/source/fetch/concurrency-limit.ts';
import { createRateLimit } from '../../../src/source/fetch/rate-limit.ts';

/** What the listener saw of one request. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Handler = (response: ServerResponse, seen: Seen) => unknown;

/** A real HTTP listener that answers as scripted: good answers after the script has ended. */
export interface Listener {
  readonly origin: string;
  readonly baseUrl: string;
  readonly authUrl: string;
  /** Requests to the query service, in order of arrival. */
  readonly seen: Seen[];
  /** Requests to the token endpoint. */
  readonly seenTokens: Seen[];
  /** Answer the next requests like this, one each. */
  script(...handlers: Handler[]): void;
  scriptTokens(...handlers: Handler[]): void;
  /** Answer every request like this that is not scripted. */
  always(handler: Handler): void;
  alwaysToken(handler: Handler): void;
  /** Resolves once so many requests to the query service have arrived. */
  untilSeen(count: number): Promise<void>;
  untilTokensSeen(count: number): Promise<void>;
  stop(): Promise<void>;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export function atEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

export async function startListener(): Promise<Listener> {
  const scripted: Handler[] = [];
  const scriptedTokens: Handler[] = [];
  const watchers = new Set<() => void>();
  let fallback: Handler = answer('');
  let tokenFallback: Handler = issueToken('token-1');
  const seen: Seen[] = [];
  const seenTokens: Seen[] = [];

  const server = createServer(async (request, response) => {
    response.on('error', () => {});
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const one: Seen = { method: request.method!, url: request.url!, headers: request.headers, body };
    const isToken = one.url.startsWith('/auth/oauth2/token');
    (isToken ? seenTokens : seen).push(one);
    const handler = isToken ? (scriptedTokens.shift() ?? tokenFallback) : (scripted.shift() ?? fallback);
    handler(response, one);
    for (const watch of watchers) watch();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  atEnd(stop);

  const until = (list: Seen[], count: number): Promise<void> =>
    new Promise((resolve) => {
      const watch = () => {
        if (list.length < count) return;
        watchers.delete(watch);
        resolve();
      };
      watchers.add(watch);
      watch();
    });

  return {
    origin,
    baseUrl: `${origin}/tenant`,
    authUrl: `${origin}/auth`,
    seen,
    seenTokens,
    script: (...handlers) => void scripted.push(...handlers),
    scriptTokens: (...handlers) => void scriptedTokens.push(...handlers),
    always: (handler) => {
      fallback = handler;
    },
    alwaysToken: (handler) => {
      tokenFallback = handler;
    },
    untilSeen: (count) => until(seen, count),
    untilTokensSeen: (count) => until(seenTokens, count),
    stop,
  };
}

/** A test with a listener of its own. */
export const it = test.extend('listener', () => startListener());

export const GOOD_HEADERS = { 'api-version': '2026-09-10', 'content-type': 'application/x-ndjson' };

/** A good answer. */
export function answer(body: string | Uint8Array, headers: Record<string, string> = {}): Handler {
  return (response) => response.writeHead(200, { ...GOOD_HEADERS, ...headers }).end(body);
}

/** An answer with another status and the contract's error body. */
export function refuse(status: number, text = 'no', headers: Record<string, string> = {}): Handler {
  return (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify({ error: text }));
}

/** Headers and some bytes, then the connection goes: by FIN, or by RST. */
export function breakOff(bytes: Uint8Array, headers: Record<string, string> = {}, reset = false): Handler {
  return (response) => {
    response.writeHead(200, { ...GOOD_HEADERS, ...headers });
    response.flushHeaders();
    const end = () => (reset ? response.socket?.resetAndDestroy() : response.socket?.destroy());
    if (bytes.length === 0) response.socket?.write('', end);
    else response.write(bytes, () => setImmediate(end));
  };
}

/** The connection goes before any header. */
export function resetBeforeHeaders(): Handler {
  return (response) => response.socket?.resetAndDestroy();
}

/** Nothing at all, until the listener stops. */
export function stayMute(): Handler {
  return () => {};
}

export function issueToken(token: string): Handler {
  return (response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ access_token: token }));
}

/** A token for each that is asked for, by its number. */
export function issueEach(listener: Listener, tokenOf: (n: number) => string): void {
  listener.alwaysToken((response, seen) => issueToken(tokenOf(listener.seenTokens.length))(response, seen));
}

/** An unsigned JWT with these claims: the client never checks signatures. */
export function jwt(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part(claims)}.sig`;
}

/** A client that also reads whole answers, as tests want them. */
export interface TestClient extends QueryClient {
  /** Asks for PAGE. */
  read<T>(consume: (answer: QueryResponse) => Promise<T>, options?: ExchangeOptions): Promise<T>;
  readAll(
    request: QueryRequest,
    options?: ExchangeOptions,
  ): Promise<Omit<QueryResponse, 'body'> & { readonly bytes: Uint8Array }>;
}

/** A client of a listener: no jitter (delays are 0), closed at the end of the test. */
export function clientOf(
  listener: Pick<Listener, 'baseUrl' | 'authUrl'>,
  options: Partial<ClientOptions> & { readonly maxConcurrency?: number } = {},
): TestClient {
  const clock: Clock = options.clock ?? systemClock;
  const rateLimit = options.rateLimit ?? createRateLimit({ clock });
  const client = createQueryClient({
    baseUrl: listener.baseUrl,
    authUrl: listener.authUrl,
    clientId: 'client-7',
    clientSecret: 'a-secret-of-ours',
    apiVersion: '2026-09-10',
    clock,
    random: () => 0,
    rateLimit,
    concurrencyLimit: createConcurrencyLimit({ limit: options.maxConcurrency ?? 4, rateLimit, clock }),
    ...options,
  });
  atEnd(() => client.close());
  const readAll: TestClient['readAll'] = (request, callOptions) =>
    client.exchange(
      () => request,
      async ({ body, ...head }) => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of body) chunks.push(Buffer.from(chunk));
        return { ...head, bytes: Buffer.concat(chunks) };
      },
      callOptions,
    );
  const read: TestClient['read'] = (consume, callOptions) =>
    client.exchange(() => PAGE, consume, callOptions);
  return { ...client, readAll, read };
}

export const PAGE: QueryRequest = {
  family: 'measurements',
  expressions: ['flat/IMO9321483/*'],
  format: 'ndjson',
  range: { fromMicros: 0, toMicros: 3_600_000_000 },
};

/** The error that a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<Error & { code: string; status?: number }> {
  try {
    await promise;
  } catch (error) {
    return error as Error & { code: string };
  }
  throw new Error('expected a rejection');
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}
