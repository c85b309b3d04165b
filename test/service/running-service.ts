/** A real service on a free port with a clock of its own, and the few calls that tests make. */
import type { Clock } from '../../src/core/model/index.ts';
import type { RunningService, ServiceOptions } from '../../src/service/options.ts';
import { startService } from '../../src/service/service.ts';
import type { FaultyService, FaultyServiceOptions } from '../helpers/faulty-service/faulty-service.ts';
import { startFaultyService } from '../helpers/faulty-service/faulty-service.ts';

/** Noon of a day after the two that the fleet is never silent on. */
export const NOW_MS = Date.UTC(2026, 0, 7, 12);
export const VESSEL = 'IMO9321483';
export const CLIENT = { clientId: 'reader', clientSecret: 'a long secret: 1', vessels: '*' } as const;

export interface TestClock extends Clock {
  set(nowMs: number): void;
}

export function testClock(startMs: number = NOW_MS): TestClock {
  let nowMs = startMs;
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async () => {},
    set: (to) => {
      nowMs = to;
    },
  };
}

interface Asking {
  token(client?: { clientId: string; clientSecret: string }): Promise<string>;
  /** GET below the base URL, with a token unless `authorization` is given. */
  get(path: string, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** JSON of a 200 answer; anything else fails. */
  json(path: string, headers?: Record<string, string>): Promise<unknown>;
  text(path: string, headers?: Record<string, string>): Promise<string>;
}

export interface TestService extends Asking, AsyncDisposable {
  readonly service: FaultyService;
}

export async function openService(options: Partial<FaultyServiceOptions> = {}): Promise<TestService> {
  const service = await startFaultyService({ ...defaults(), ...options });
  return { service, ...askingOf(service), [Symbol.asyncDispose]: () => service.close() };
}

/** A service whose hooks are a test's own. */
export async function openHookedService(options: Partial<ServiceOptions> = {}) {
  const service = await startService({ ...defaults(), ...options });
  return { service, ...askingOf(service), [Symbol.asyncDispose]: () => service.close() };
}

function defaults(): ServiceOptions {
  return {
    ...{ host: '127.0.0.1', port: 0, tenant: 'test', clients: [CLIENT], tokenTtlSeconds: 3600 },
    ...{ data: { seed: 7, vessels: 2, readingsPerDay: 5000 }, clock: testClock() },
  };
}

function askingOf(service: RunningService): Asking {
  let known: string | undefined;

  async function token(client: { clientId: string; clientSecret: string } = service): Promise<string> {
    const response = await fetch(`${service.authUrl}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: basic(client.clientId, client.clientSecret) },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    if (response.status !== 200) throw new Error(`token: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { access_token: string }).access_token;
  }

  async function authorized(headers: Record<string, string>): Promise<Record<string, string>> {
    if (headers.authorization !== undefined) return headers;
    known ??= await token();
    return { authorization: `Bearer ${known}`, ...headers };
  }

  const get: Asking['get'] = async (path, headers = {}, signal) =>
    fetch(service.baseUrl + path, {
      ...{ headers: await authorized(headers), redirect: 'manual' },
      ...(signal && { signal }),
    });

  const text = async (path: string, headers: Record<string, string> = {}) => {
    const response = await get(path, headers);
    const body = await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${body}`);
    return body;
  };

  return {
    ...{ token, get, text },
    json: async (path, headers) => JSON.parse(await text(path, headers)),
    post: async (path, body, headers = {}) =>
      fetch(service.baseUrl + path, {
        method: 'POST',
        headers: await authorized({ 'content-type': 'application/json', ...headers }),
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  };
}

export function basic(clientId: string, clientSecret: string): string {
  return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
}
