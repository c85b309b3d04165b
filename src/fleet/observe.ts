/** Metrics, health and readiness of a process of the fleet. */
import type { Settings } from '../config/environment.ts';
import type { Log } from '../model/index.ts';
import type { OperationsServer } from '../operations/http-server.ts';
import { startOperationsServer } from '../operations/http-server.ts';
import type { Metrics } from '../operations/metrics.ts';
import { createMetrics } from '../operations/metrics.ts';
import type { Fleet } from './fleet.ts';

export interface ObserveOptions {
  readonly settings: Settings;
  readonly log: Log;
  /** Aborted when the process stops. */
  readonly stopping: AbortSignal;
  /** Vessel-days under way. */
  readonly active: () => number;
  /** Code of the fault that holds the queue. */
  readonly held: () => string | undefined;
}

/** The metrics of a process; what they show is read when somebody asks. */
export function createFleetMetrics(fleet: Fleet, options: Pick<ObserveOptions, 'active' | 'held'>): Metrics {
  return createMetrics({
    cap: () => fleet.app.cap.current,
    // Commands of the queue wait for Redis: who asks for metrics does not.
    depth: async () => (isConnected(fleet) ? { ...(await fleet.queue.depth()) } : {}),
    active: options.active,
    isHeld: () => options.held() !== undefined,
  });
}

/** Listen on HTTP_HOST and HTTP_PORT. */
export function serveOperations(
  fleet: Fleet,
  metrics: Metrics,
  { settings, stopping, held }: ObserveOptions,
): Promise<OperationsServer> {
  const { HTTP_HOST: host, HTTP_PORT: port, QUEUE_BOARD_PASSWORD: password } = settings;
  return startOperationsServer({
    host,
    port,
    metrics,
    board: password === undefined ? undefined : { queue: fleet.queue.bull, password },
    unready: async () => {
      if (stopping.aborted) return 'stopping';
      if (!isConnected(fleet)) return 'Redis is out of reach';
      await fleet.connection.client.ping();
      const code = held();
      return code === undefined ? undefined : `on hold: ${code}`;
    },
  });
}

function isConnected(fleet: Fleet): boolean {
  return fleet.connection.client.status === 'ready';
}
