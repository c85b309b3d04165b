/** Composition root: what the commands run on, opened from a Config and closed in reverse order. */
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Clock, ConcurrencyLimit, FormatSizes, Log, RateLimit } from './core/model/index.ts';
import { FORMAT_SIZES, systemClock } from './core/model/index.ts';
import { noTracing, readTraceContext } from './core/model/tracing.ts';
import { createSliceLengths } from './core/plan/slice-length.ts';
import { SLICE_TARGET_ROWS } from './core/plan/time-slices.ts';
import { thisProcess } from './core/process/process-id.ts';
import { uniqueId } from './core/unique-id.ts';
import { readVersion } from './core/version.ts';
import { createLineage } from './export/lineage.ts';
import type { ExportPorts } from './export/ports.ts';
import type { LakeSource } from './lake/lake-file.ts';
import { createLakeLayout } from './lake/layout.ts';
import { createIndexJournal } from './lake/ledger/index-journal.ts';
import { createLastPublished } from './lake/ledger/newest-days.ts';
import { createLakeTables } from './lake/publish/lake-tables.ts';
import type { OnStep } from './lake/publish/publish.ts';
import { createEncoder, encoderThreadsFor, SMALL_ROW_GROUP_ROWS } from './parquet/write/index.ts';
import type { RedisConnection } from './redis/connection.ts';
import type { Config, ServiceConfig } from './runtime/config/config.ts';
import { lineageSettings, tracingSettings } from './runtime/config/derived-settings.ts';
import { createLineageSender } from './runtime/lineage-sender.ts';
import type { OpenTracing } from './runtime/tracing/open-tracing.ts';
import { type ClientOptions, createQueryClient } from './source/fetch/client.ts';
import { createConcurrencyLimit } from './source/fetch/concurrency-limit.ts';
import { createRateLimit } from './source/fetch/rate-limit.ts';
import { openStore } from './store/open-store.ts';
import type { ObjectStore } from './store/store.ts';

export type App = Awaited<ReturnType<typeof openApp>>;

/** What a command adds, and what tests put in the place of the real thing. */
export interface AppOverrides {
  readonly clock?: Clock;
  readonly sizes?: FormatSizes;
  readonly sliceTargetRows?: number;
  readonly onStep?: OnStep;
  readonly wrapStore?: (store: ObjectStore) => ObjectStore;
  readonly encoderThreads?: number;
  readonly clientLimits?: ClientOptions['limits'];
  /** Told of every request to the query service once it is over. */
  readonly onRequest?: NonNullable<ClientOptions['onRequest']>;
  /** Lua that sets `now`, in the place of the clock of Redis. */
  readonly redisNow?: string;
  /** What the lake is told that it is copied from, where that is not QUERY_BASE_URL. */
  readonly source?: LakeSource;
  /** Others export into the lake at the same time. */
  readonly isShared?: boolean;
  /** Wait for a service that was never reached, as processes do that nobody watches. */
  readonly waitForService?: boolean;
  /** Whatever the settings say: a program that imports us has traces of its own, which ours would take over. */
  readonly isUntraced?: boolean;
}

/** Open everything an export needs; nothing is asked of service or lake yet. */
export async function openApp(
  config: Config,
  env: NodeJS.ProcessEnv,
  log: Log,
  overrides: AppOverrides = {},
) {
  const { settings } = config;
  const clock = overrides.clock ?? systemClock;
  await using opening = new AsyncDisposableStack();
  const tracing = await openTracesOf(config, env, log, overrides);
  // Closed last: what is sent last is what ended last.
  opening.defer(async () => await tracing?.close());
  const lineage = openLineageOf(config, log);
  opening.defer(() => lineage?.close());
  const opened = await openStore(settings.LAKE_URL, env, log);
  const wrapped = overrides.wrapStore?.(opened) ?? opened;
  const store = tracing?.traceStore(wrapped) ?? wrapped;
  opening.defer(() => store.close());
  const journal = createIndexJournal(store, log, clock);
  opening.defer(() => journal.close());
  const service = await openClient(config, env, log, overrides, tracing);
  opening.defer(service.close);
  const { client, concurrencyLimit, redis } = service;
  const threads = overrides.encoderThreads ?? encoderThreadsFor(availableParallelism());
  const ownEncoder = createEncoder({ threads, smallRows: SMALL_ROW_GROUP_ROWS });
  const encoder = tracing?.traceEncoder(ownEncoder) ?? ownEncoder;
  opening.defer(() => encoder.close());
  const tables = createLakeTables({ store, clock, log });
  opening.defer(() => tables.close());
  const { source = { url: settings.QUERY_BASE_URL }, isShared = false } = overrides;
  const ports: ExportPorts = {
    store,
    layout: createLakeLayout({ store, clock, log, wanted: settings.LAKE_LAYOUT, source, isShared }),
    tables,
    lastPublished: createLastPublished(store, clock),
    journal,
    client,
    sourceUrl: source.url,
    encoder,
    clock,
    log,
    self: thisProcess(),
    nonce: uniqueId,
    apiVersion: settings.QUERY_API_VERSION,
    version: readVersion(),
    sizes: overrides.sizes ?? FORMAT_SIZES,
    sliceTargetRows: overrides.sliceTargetRows ?? SLICE_TARGET_ROWS,
    sliceLengths: createSliceLengths(clock),
    tracing: tracing?.spans ?? noTracing,
    onStep: overrides.onStep ?? (() => {}),
    ...(lineage && {
      onVesselDay: createLineage({
        ...{ namespace: settings.OPENLINEAGE_NAMESPACE, parent: settings.OPENLINEAGE_PARENT_ID, clock },
        ...{ lakeUrl: settings.LAKE_URL, sourceUrl: source.url, version: readVersion(), send: lineage.send },
      }),
    }),
  };
  const { openQueueTracing } = tracing ?? {};
  const all = opening.move();
  return {
    ...{ config, store, client, concurrencyLimit, encoder, ports, redis, openQueueTracing },
    close: () => all.disposeAsync(),
  };
}

/** Traces, where the settings ask for them; nothing of them is loaded where they do not. */
async function openTracesOf(
  { settings, current }: Config,
  env: NodeJS.ProcessEnv,
  log: Log,
  { isUntraced = false }: AppOverrides,
): Promise<OpenTracing | undefined> {
  const wanted = isUntraced ? undefined : tracingSettings(settings);
  if (wanted === undefined) return undefined;
  const { openTracing } = await import('./runtime/tracing/open-tracing.ts');
  const origins = [settings.QUERY_BASE_URL, settings.QUERY_AUTH_URL].map((url) => new URL(url).origin);
  const headers = () => tracingSettings(current(log))?.headers ?? wanted.headers;
  return openTracing({ settings: { ...wanted, headers }, env, log, version: readVersion(), origins });
}

function openLineageOf({ settings, current }: Config, log: Log) {
  const wanted = lineageSettings(settings);
  return wanted && createLineageSender(() => lineageSettings(current(log)) ?? wanted, log);
}

type ClientConfig = Pick<ServiceConfig, 'settings' | 'current'>;

/** A client of the query service, and what limits its requests together with those of others. */
export async function openClient(
  config: ClientConfig,
  env: NodeJS.ProcessEnv,
  log: Log,
  overrides: AppOverrides = {},
  tracing?: OpenTracing,
) {
  const clock = overrides.clock ?? systemClock;
  const { settings, current } = config;
  const limits = await openLimits(config, clock, log, overrides.redisNow);
  const { concurrencyLimit, rateLimit, redis } = limits;
  const client = createQueryClient({
    baseUrl: settings.QUERY_BASE_URL,
    authUrl: settings.QUERY_AUTH_URL,
    clientId: settings.QUERY_CLIENT_ID,
    clientSecret: () => current(log).QUERY_CLIENT_SECRET,
    apiVersion: settings.QUERY_API_VERSION,
    concurrencyLimit,
    rateLimit,
    clock,
    random: Math.random,
    log,
    failFast: overrides.waitForService !== true,
    // One owner of the header: where spans are gathered, each request is sent as its own.
    trace: tracing === undefined ? readTraceContext(env) : undefined,
    ...(overrides.clientLimits === undefined ? {} : { limits: overrides.clientLimits }),
    ...(overrides.onRequest === undefined ? {} : { onRequest: overrides.onRequest }),
  });
  return {
    ...{ client, concurrencyLimit, redis },
    async close() {
      await client.close();
      await limits.close();
    },
  };
}

interface Limits {
  readonly concurrencyLimit: ConcurrencyLimit;
  readonly rateLimit: RateLimit;
  readonly redis: RedisConnection | undefined;
  readonly close: () => Promise<void>;
}

/** Shared through Redis by all processes where REDIS_URL is set; of this process alone where it is not. */
async function openLimits(
  { settings, current }: ClientConfig,
  clock: Clock,
  log: Log,
  redisNow: string | undefined,
): Promise<Limits> {
  const limit = settings.QUERY_MAX_CONCURRENCY;
  const perMinute = settings.QUERY_MAX_REQUESTS_PER_MINUTE || undefined;
  const { REDIS_URL, REDIS_PREFIX: prefix } = settings;
  if (REDIS_URL === undefined) {
    const rateLimit = createRateLimit({ perMinute, clock });
    return {
      rateLimit,
      concurrencyLimit: createConcurrencyLimit({ limit, rateLimit, clock }),
      redis: undefined,
      close: async () => {},
    };
  }
  const { openRedis } = await import('./redis/connection.ts');
  const { SharedConcurrencyLimit } = await import('./redis/shared-concurrency-limit.ts');
  const { SharedRateLimit } = await import('./redis/shared-rate-limit.ts');
  const login = () => {
    const { REDIS_URL: url = REDIS_URL, REDIS_PASSWORD: password } = current(log);
    return { url, password };
  };
  const connection = await openRedis(login, { log });
  const ports = { connection, prefix, clock, random: Math.random, log };
  const common = { ...ports, ...(redisNow !== undefined && { redisNow }) };
  const { credential, group } = sharedLimitNames(settings);
  const rateLimit = new SharedRateLimit({ ...common, group, perMinute });
  const concurrencyLimit = new SharedConcurrencyLimit({ ...common, credential, limit, rateLimit });
  return {
    concurrencyLimit,
    rateLimit,
    redis: connection,
    close: async () => {
      await Promise.all([concurrencyLimit.close(), rateLimit.close()]);
      await connection.close();
    },
  };
}

/** Under which the processes that share a limit find it in Redis: digests. */
export function sharedLimitNames(
  settings: Pick<Config['settings'], 'QUERY_CLIENT_ID' | 'QUERY_BASE_URL' | 'QUERY_PACE_GROUP'>,
): { readonly credential: string; readonly group: string } {
  const { QUERY_CLIENT_ID: client, QUERY_BASE_URL: url, QUERY_PACE_GROUP: paceGroup } = settings;
  // The service counts its rate by address, whatever the tenant.
  return { credential: digestOf(client, url), group: `${paceGroup}:${digestOf(new URL(url).origin)}` };
}

function digestOf(...texts: string[]): string {
  return createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 24);
}
