/** A process of the fleet that runs until it is told to stop: its metrics, health, readiness and page. */
import type { RequestListener } from 'node:http';
import type { AppOverrides } from '../app.ts';
import { shareAnswer, succeeds } from '../core/concurrency.ts';
import { ConfigError } from '../core/errors.ts';
import { createEventStream, type EventStream } from '../core/event-stream.ts';
import { type Log, systemClock } from '../core/model/index.ts';
import { readNetworks } from '../core/model/web-address.ts';
import type { Config } from '../runtime/config/config.ts';
import { formerVariables } from '../runtime/config/environment.ts';
import { startOperationsServer } from '../runtime/monitoring/http-server.ts';
import { createMetrics, type Metrics } from '../runtime/monitoring/metrics.ts';
import type { FleetEvent } from './events.ts';
import { type Fleet, openFleet } from './fleet.ts';
import { tellFleet } from './fleet-news.ts';

interface FleetProcessOptions {
  readonly role: 'worker' | 'scheduler';
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly overrides: AppOverrides;
  readonly signal: AbortSignal;
  readonly active?: () => number;
  /** Age of the oldest of them. */
  readonly oldestMs?: () => number;
  /** In a process that exports: code of the fault that keeps it from working, and makes it unready. */
  readonly held?: () => string | undefined;
  readonly trouble?: () => string | undefined;
  readonly page?: (fleet: Fleet, metrics: Metrics) => FleetPage;
}

/** Answers requests for the page, which is opened at the first one. */
interface FleetPage {
  readonly answer: RequestListener;
  close(): Promise<void>;
}

/** Redis is probed at most this often, however many ask. */
const PROBE_KEPT_MS = 1_000;

/** Open the fleet, listen, run, and close. `url`: where it listens; what `events` are emitted is shown and told. */
export async function runFleetProcess(
  options: FleetProcessOptions,
  run: (fleet: Fleet, events: EventStream<FleetEvent>, url: string) => Promise<void>,
): Promise<void> {
  const { config, env, log, overrides, signal, active = () => 0, oldestMs = () => 0, held } = options;
  const { HTTP_HOST: host, HTTP_PORT: port, TRUSTED_PROXY } = config.settings;
  for (const warning of formerVariables(env)) log.warn({}, warning);
  const events = createEventStream<FleetEvent>();
  const onRequest: AppOverrides['onRequest'] = (report) => events.emit({ kind: 'request', ...report });
  const fleet = await openFleet(config, env, log, { waitForService: true, ...overrides, onRequest });
  // Commands of the queue wait for Redis; requests for metrics must not.
  const isConnected = () => fleet.connection.client.status === 'ready';
  const probeNow = () => fleet.connection.probe(fleet.prefix);
  const probe = shareAnswer(systemClock, probeNow, PROBE_KEPT_MS, PROBE_KEPT_MS);
  const news = tellFleet({ ...fleet, log, role: options.role, active });
  events.listen(news.onEvent);
  /** The hold of the queue, whichever process placed it. */
  const onHold = async () => held?.() ?? (isConnected() ? (await fleet.queue.hold.read())?.code : undefined);
  try {
    const metrics = createMetrics({
      concurrencyLimit: () => fleet.app.concurrencyLimit.current,
      depth: async () => (isConnected() ? await fleet.queue.depth() : {}),
      active,
      oldestVesselDayMs: oldestMs,
      oldestRequestMs: fleet.app.client.oldestRequestMs,
      takesWrites: async () => isConnected() && (await succeeds(probe())),
      isHeld: async () => (isConnected() ? (await onHold()) !== undefined : undefined),
    });
    events.listen(metrics.onEvent);
    const unready = async () => {
      if (signal.aborted) return 'stopping';
      if (!isConnected()) return 'Redis is out of reach';
      await probe();
      // The scheduler continues to plan while the queue is on hold.
      const code = held?.();
      return code === undefined ? options.trouble?.() : `on hold: ${code}`;
    };
    const page = options.page?.(fleet, metrics);
    const isProxy = TRUSTED_PROXY === undefined ? undefined : readNetworks(TRUSTED_PROXY);
    const listening = { host, port, log, metrics, unready, onHold, isProxy, page: page?.answer };
    const operations = await startOperationsServer(listening);
    try {
      // A lake that is unreachable, or being converted, may be usable when a vessel-day begins.
      const jobs = config.jobs.map(({ name }) => name);
      await fleet.app.ports.layout.check(jobs).catch((error: unknown) => {
        if (error instanceof ConfigError) throw error;
      });
      await run(fleet, events, operations.url);
    } finally {
      await operations.close();
      await page?.close();
    }
  } finally {
    await news.leave();
    await fleet.close();
  }
  log.info({}, 'stopped');
}
