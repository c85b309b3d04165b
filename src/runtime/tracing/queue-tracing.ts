/** How a vessel-day's trace gets through the queue: a port, so that OpenTelemetry is loaded where it is asked for only. */
import type { Telemetry } from 'bullmq';
import type { VesselDay } from '../../core/model/index.ts';

/** A vessel-day that is put into the queue, and why. */
export interface SentDay extends VesselDay {
  readonly kind: string;
}

export interface QueueTracing {
  /** For BullMQ's worker: a span each time a vessel-day is taken, within the trace handed on with it, if that is one. */
  readonly telemetry: Telemetry;
  /** Queue vessel-days: each begins a trace, or goes on with the one under way. `send` gets the text that goes with each. */
  handOn(days: readonly SentDay[], send: (carried: readonly string[]) => Promise<void>): Promise<void>;
  /** A vessel-day is taken, within the span of `telemetry`. `queuedMs`: when it was queued, as Redis says, at its first start. */
  onTaken(queuedMs: number | undefined): void;
}
