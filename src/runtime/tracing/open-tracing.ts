/** Traces by OpenTelemetry, loaded only where they are asked for. Its libraries are of the whole process: one open at a time. */
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { hostname } from 'node:os';
import { type ContextManager, context, propagation, trace } from '@opentelemetry/api';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, type BufferConfig, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { endsWithin } from '../../core/concurrency.ts';
import { ConfigError, messageOf } from '../../core/errors.ts';
import { type Log, systemClock } from '../../core/model/index.ts';
import { readTraceContext } from '../../core/model/tracing.ts';
import type { Encoder } from '../../parquet/write/index.ts';
import type { ObjectStore } from '../../store/store.ts';
import type { TracingSettings } from '../config/derived-settings.ts';
import type { QueueTracing } from './queue-telemetry.ts';
import { createSpanSender } from './span-sender.ts';
import { contextOf, createContexts, createSpans, traceEncoder, traceStore } from './spans.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface TracingOptions {
  readonly settings: TracingSettings;
  /** Of OpenTelemetry's variables those that are no settings of ours. */
  readonly env: Environment;
  readonly log: Log;
  readonly version: string;
  /** Requests to these origins are spans, no others: addresses of webhooks are secrets. */
  readonly origins: readonly string[];
}

export type OpenTracing = ReturnType<typeof openTracing>;

/** As many as a scheduler queues at once; some 20 MB when a collector is down. */
const MAX_WAITING_SPANS = 10_000;
/** What others say of themselves may be long. */
const MAX_TEXT_CHARS = 1_000;
/** How long the end of the process waits for the collector; and where the last batch did not get there. */
const [CLOSE_MS, UNWELL_CLOSE_MS] = [3_000, 500];

export function openTracing({ settings, env, log, version, origins }: TracingOptions) {
  warnOfProtocol(env, log);
  const sender = createSpanSender(settings, openAgent(settings.url, env), log);
  const provider = new NodeTracerProvider({
    resource: describeProcess(version),
    spanProcessors: [new BatchSpanProcessor(sender, bufferOf(env))],
    spanLimits: {
      attributeValueLengthLimit: Number(env.OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT || MAX_TEXT_CHARS),
    },
  });
  const contextManager: ContextManager = createContexts(contextOf(readTraceContext(env)));
  provider.register({ contextManager });
  const allowed = new Set(origins);
  const undici = new UndiciInstrumentation({
    requireParentforSpans: true,
    ignoreRequestHook: ({ origin }) => !allowed.has(String(origin)),
    headersToSpanAttributes: { requestHeaders: ['x-request-id'] },
  });
  undici.setTracerProvider(provider);
  const tracer = provider.getTracer('vessel-export', version);
  const spans = createSpans(tracer);
  return {
    spans,
    traceStore: (store: ObjectStore) => traceStore(store, spans),
    traceEncoder: (encoder: Encoder) => traceEncoder(encoder, spans),
    /** Loads what only the processes of a queue need. */
    async openQueueTracing(): Promise<QueueTracing> {
      const { createQueueTracing } = await import('./queue-telemetry.ts');
      return createQueueTracing(tracer);
    },
    async close(): Promise<void> {
      undici.disable();
      await endsWithin(provider.shutdown(), sender.isWell ? CLOSE_MS : UNWELL_CLOSE_MS, systemClock);
      if (sender.lost > 0) log.debug({ spans: sender.lost }, 'spans that did not get to the collector');
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}

/** The service's name, and what else of it somebody says by OTEL_RESOURCE_ATTRIBUTES, goes before what we say. */
function describeProcess(version: string) {
  const ours = resourceFromAttributes({
    'service.name': 'vessel-export',
    'service.version': version,
    'service.instance.id': `${hostname()}:${process.pid}`,
    'host.name': hostname(),
    'process.pid': process.pid,
  });
  return defaultResource()
    .merge(ours)
    .merge(detectResources({ detectors: [envDetector] }));
}

/** The library reads its own variables; of these the default is too small for us. */
function bufferOf({ OTEL_BSP_MAX_QUEUE_SIZE: waiting }: Environment): BufferConfig {
  return waiting ? {} : { maxQueueSize: MAX_WAITING_SPANS };
}

function warnOfProtocol(env: Environment, log: Log): void {
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (!protocol || protocol === 'http/protobuf') return;
  const text =
    'spans are sent by http/protobuf all the same: name an endpoint that takes that, often port 4318';
  log.warn({ OTEL_EXPORTER_OTLP_PROTOCOL: protocol }, text);
}

/** Sockets that can be ended at once, with the certificates that OpenTelemetry's variables name. */
function openAgent(url: string, env: Environment): Agent {
  if (new URL(url).protocol === 'http:') return new Agent({ keepAlive: true });
  const certificate = (name: string): Buffer | undefined => {
    const own = `OTEL_EXPORTER_OTLP_TRACES_${name}`;
    const variable = env[own] ? own : `OTEL_EXPORTER_OTLP_${name}`;
    const path = env[variable];
    if (!path) return undefined;
    try {
      return readFileSync(path);
    } catch (error) {
      throw new ConfigError('otlp-certificate', `${variable}: cannot read '${path}': ${messageOf(error)}`);
    }
  };
  const [ca, cert, key] = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map(certificate);
  return new SecureAgent({ keepAlive: true, ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
}
