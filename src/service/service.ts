/**
 * The query service: composition of data, limits, authentication and routes behind one HTTP listener.
 *
 *   http-server     every request: its id, its line in the access log, error bodies
 *   connections     how many, and how long a client may take over each step
 *   token-endpoint  rate limit → client id and secret → body → token
 *   routes          rate limit → bearer → concurrency → version → body → expressions → parameters → answer
 *   answers         what each family answers; measurements-body, metadata-body, statistics-body
 *   turns           how answers share the event loop, and how their work is stopped
 *   data/           where series and readings come from: the made-up fleet, an exported lake, or a file of readings
 */
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { CONNECTION_LIMITS } from '../core/connections.ts';
import { ConfigError, messageOf } from '../core/errors.ts';
import { type Log, silentLog } from '../core/model/index.ts';
import { sweepTempFolders } from '../core/process/temp-folder.ts';
import { createEngine, type Engine } from './data/engine.ts';
import { openLakeSource } from './data/lake.ts';
import { createMadeUpSource } from './data/made-up/made-up-source.ts';
import { openReplaySource } from './data/replay/replay-source.ts';
import type { DataSource } from './data/source.ts';
import { createTokenAuthority, randomClient } from './http/credentials.ts';
import { createHttpServer } from './http/http-server.ts';
import { createConcurrencyLimit, createRateLimit } from './http/limits.ts';
import { registerOpenApi } from './http/openapi.ts';
import { createBodyReader, MAX_BODY_BYTES_IN_MEMORY } from './http/request-body.ts';
import { registerRoutes } from './http/routes.ts';
import { AUTH_SEGMENT, registerTokenEndpoint } from './http/token-endpoint.ts';
import type { RunningService, ServiceOptions } from './options.ts';
import { prepareIndex } from './query/series-index.ts';
import { createTurns } from './turns.ts';

/** Resolves when it listens. Throws ConfigError for a wrong option, data that cannot be read, a port that cannot be had; and the signal's reason. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  checkOptions(options);
  const log = options.log ?? silentLog;
  const clients = options.clients ?? [randomClient()];
  await sweepTempFolders(tmpdir());
  const engine = createEngine('dataDir' in options.data ? options.data.dataDir : undefined);
  const data = await openData(options, engine, log).catch(async (error: unknown) => {
    await engine.close();
    throw error;
  });
  const source = options.hooks?.watchData?.(data) ?? data;
  const { otherDomains } = prepareIndex(source.series);
  if (otherDomains.left > 0)
    log.warn(
      { domains: otherDomains.all.length, left: otherDomains.left },
      'the metadata name more domains than are served: those with the fewest series cannot be asked for',
    );
  const { clock, accessLog: accessLogTo } = options;
  const authority = createTokenAuthority(clients, options.tokenTtlSeconds, clock, log);
  const maxBodyBytesInMemory = MAX_BODY_BYTES_IN_MEMORY;
  const limits = { ...CONNECTION_LIMITS, maxBodyBytesInMemory, ...options.connectionLimits };
  const secrets = clients.map(({ clientSecret }) => clientSecret);
  const { app, accessLog } = createHttpServer({ log, accessLog: accessLogTo, limits, clock, secrets });
  const turns = createTurns(clock);
  const context = {
    tenant: options.tenant,
    authority,
    rateLimit: createRateLimit(options.ratePerMinute),
    concurrencyLimit: createConcurrencyLimit(options.maxConcurrency),
    turns,
    latencyMs: options.latencyMs ?? 0,
    readBody: createBodyReader(limits),
    accessLog,
    hooks: options.hooks ?? {},
    clock,
    log,
    answers: { source, toInclusive: options.toInclusive ?? false },
  };
  registerTokenEndpoint(app, context);
  registerOpenApi(app, context);
  registerRoutes(app, context);
  try {
    await app.listen({ host: options.host, port: options.port });
  } catch (error) {
    await engine.close();
    throw new ConfigError(
      'service-cannot-listen',
      `cannot listen on ${options.host}:${options.port}: ${messageOf(error)}; choose another address or port (0 takes a free port)`,
      { cause: error },
    );
  }
  const { port } = app.server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  const origin = `http://${host}:${port}`;
  return {
    baseUrl: `${origin}/${options.tenant}`,
    authUrl: `${origin}/${AUTH_SEGMENT}`,
    clientId: clients[0]!.clientId,
    clientSecret: clients[0]!.clientSecret,
    revokeTokens: () => authority.revokeAll(),
    close: async () => {
      // Connections first, so that no work begins any more; then what is under way.
      await app.close();
      await turns.close();
      await engine.close();
    },
  };
}

async function openData(
  { data, clock, signal }: ServiceOptions,
  engine: Engine,
  log: Log,
): Promise<DataSource> {
  if ('dataDir' in data) return openLakeSource(data, engine, log, signal);
  if ('replayFile' in data) return openReplaySource(data.replayFile, log, signal);
  return createMadeUpSource({ ...data, nowMs: () => clock.nowMs() });
}

function checkOptions(options: ServiceOptions): void {
  const faults: string[] = [];
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(options.tenant) || options.tenant === AUTH_SEGMENT)
    faults.push(
      `tenant: got '${options.tenant}', expected letters, digits, _ and -, and not '${AUTH_SEGMENT}'`,
    );
  if (options.clients?.length === 0) faults.push('clients: got none, expected at least one');
  if (!(options.tokenTtlSeconds > 0))
    faults.push(`tokenTtlSeconds: got ${options.tokenTtlSeconds}, expected > 0`);
  for (const name of ['ratePerMinute', 'maxConcurrency'] as const)
    if (options[name] !== undefined && !(options[name] >= 1))
      faults.push(`${name}: got ${options[name]}, expected at least 1, or none`);
  for (const [name, value] of Object.entries(options.connectionLimits ?? {}))
    if (!(value >= 1)) faults.push(`${name}: got ${value}, expected at least 1`);
  if ('seed' in options.data) {
    const { seed, vessels, readingsPerDay } = options.data;
    if (!Number.isSafeInteger(seed)) faults.push(`seed: got ${seed}, expected a whole number`);
    if (!(Number.isInteger(vessels) && vessels >= 1 && vessels <= 1000))
      faults.push(`vessels: got ${vessels}, expected 1 to 1000`);
    if (!(readingsPerDay >= 1000 && readingsPerDay <= 100_000_000))
      faults.push(`readingsPerDay: got ${readingsPerDay}, expected 1,000 to 100,000,000`);
  }
  if (faults.length > 0) throw new ConfigError('service-options', faults.join('; '));
}
