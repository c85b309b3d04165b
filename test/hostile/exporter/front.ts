/** A query service that misbehaves by a plan: what the plan does not name is answered by the real one behind it. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { systemClock } from '../../../src/core/model/index.ts';
import { startService } from '../../../src/service/service.ts';

export type AskedFamily = 'token' | 'metadata' | 'statistics' | 'measurements';

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

export interface Misanswer {
  /** What the real service answered. */
  honest(): Promise<Answer>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Number of the request within its family, from 1. */
  readonly n: number;
}

/** How each family is answered instead. */
export type Plan = Readonly<Partial<Record<AskedFamily, (ask: Misanswer) => unknown>>>;

export interface Front extends AsyncDisposable {
  readonly port: number;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
  plan: Plan;
  /** Tokens that were given out, and requests seen, since the plan was set. */
  readonly tokens: Set<string>;
}

/** Starts the front on a free loopback port, and the real service behind it. */
export async function openFront(): Promise<Front> {
  const service = await startService({
    ...{ host: '127.0.0.1', port: 0, tenant: 'fleet', tokenTtlSeconds: 3_600, clock: systemClock },
    data: { seed: 1, vessels: 2, readingsPerDay: 1_000 },
  });
  const behind = new URL(service.baseUrl).origin;
  const counts = new Map<AskedFamily, number>();
  let plan: Plan = {};
  const tokens = new Set<string>();
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const family = familyOf(request.url ?? '');
    const body = await buffer(request);
    let kept: Promise<Answer> | undefined;
    const honest = () => {
      kept ??= forward(behind, request, body);
      return kept;
    };
    const n = (counts.get(family) ?? 0) + 1;
    counts.set(family, n);
    const misanswer = plan[family];
    if (misanswer !== undefined) return misanswer({ honest, request, response, n });
    const answer = await honest();
    if (family === 'token') tokens.add(JSON.parse(answer.body.toString('utf8')).access_token);
    sendAnswer(response, answer);
  };
  const server = createServer({ keepAlive: true }, (request, response) => {
    request.on('error', () => {});
    response.on('error', () => {});
    // Whoever breaks off leaves half an answer behind: that is what is tested.
    serve(request, response).catch(() => response.destroy());
  });
  await listen(server);
  return {
    port: (server.address() as AddressInfo).port,
    credentials: { clientId: service.clientId, clientSecret: service.clientSecret },
    tokens,
    get plan() {
      return plan;
    },
    set plan(next) {
      plan = next;
      counts.clear();
    },
    async [Symbol.asyncDispose]() {
      await closeServer(server);
      await service.close();
    },
  };
}

export async function listen(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

export async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': String(body.length) });
  response.end(body);
}

function familyOf(url: string): AskedFamily {
  if (url.startsWith('/auth/')) return 'token';
  return /^\/fleet\/(metadata|statistics)\//.exec(url)?.[1] === 'metadata'
    ? 'metadata'
    : url.startsWith('/fleet/statistics/')
      ? 'statistics'
      : 'measurements';
}

async function forward(origin: string, request: IncomingMessage, body: Buffer): Promise<Answer> {
  const headers: Record<string, string> = {};
  for (const name of ['authorization', 'accept', 'content-type', 'x-api-version']) {
    const value = request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const response = await fetch(`${origin}${request.url}`, {
    method: request.method!,
    headers,
    ...(request.method === 'POST' ? { body } : {}),
  });
  const answered: Record<string, string> = {};
  for (const name of ['content-type', 'api-version', 'retry-after']) {
    const value = response.headers.get(name);
    if (value !== null) answered[name] = value;
  }
  return { status: response.status, headers: answered, body: Buffer.from(await response.arrayBuffer()) };
}
