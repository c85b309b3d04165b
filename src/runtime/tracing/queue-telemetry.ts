/** Traces through the queue: bullmq-otel, held to one span for each time that a vessel-day is taken. */
import type { Context, Span, Tracer } from '@opentelemetry/api';
import { context, createContextKey, SpanKind, trace } from '@opentelemetry/api';
import type { Telemetry } from 'bullmq';
import { BullMQOtel } from 'bullmq-otel';
import { formatVesselDay, type VesselDay } from '../../core/model/index.ts';
import { addLogFields } from '../../core/model/log-context.ts';
import { readTraceContext } from '../../core/model/tracing.ts';
import { contextOf, noteError } from './spans.ts';

interface SentDay extends VesselDay {
  readonly kind: string;
}

export type QueueTracing = ReturnType<typeof createQueueTracing>;

/** A context of ours takes a sixth of it. */
const MAX_CARRIED_CHARS = 1_024;
/** Nothing waits longer; a clock that is so wrong is no measure. */
const MAX_WAIT_MS = 90 * 86_400_000;
const SENDER = createContextKey('who has queued the vessel-day');

export function createQueueTracing(tracer: Tracer) {
  const otel: Telemetry<Context> = new BullMQOtel({ tracerName: 'vessel-export' });
  const { contextManager } = otel;

  function begin(day: SentDay): Span {
    const { job, vessel, date, kind } = day;
    const attributes = {
      'messaging.system': 'bullmq',
      'messaging.operation.type': 'send',
      'messaging.message.id': formatVesselDay(day),
      'vessel_export.job': job,
      'vessel_export.vessel': vessel,
      'vessel_export.date': date,
      'vessel_export.kind': kind,
    };
    return tracer.startSpan('enqueue', { kind: SpanKind.PRODUCER, attributes });
  }

  /** For BullMQ's worker: a span each time a vessel-day is taken, within the trace handed on with it, if that is one. */
  const telemetry: Telemetry = {
    tracer: {
      // What else BullMQ does (looks for work, pauses, moves jobs) would be traces of its own, without end.
      startSpan: (name, options, parent) =>
        options?.kind === SpanKind.CONSUMER ? otel.tracer.startSpan(name, options, parent) : NO_SPAN,
    },
    contextManager: {
      with: (active, work) => contextManager.with(active, work),
      active: () => contextManager.active(),
      getMetadata: (active) => contextManager.getMetadata(active),
      fromMetadata: (active, carried) => withSender(contextOf(readCarried(carried), active)),
    },
  };

  return {
    telemetry,
    /** Queue vessel-days: each begins a trace, or goes on with the one under way. `send` gets the text that goes with each. */
    async handOn(
      days: readonly SentDay[],
      send: (carried: readonly string[]) => Promise<void>,
    ): Promise<void> {
      const spans = days.map(begin);
      const active = context.active();
      try {
        await send(spans.map((span) => contextManager.getMetadata(trace.setSpan(active, span))));
      } catch (error) {
        for (const span of spans) noteError(span, error);
        throw error;
      } finally {
        for (const span of spans) span.end();
      }
    },
    /** A vessel-day is taken, within the span of `telemetry`. `queuedMs`: when it was queued, as Redis says, at its first start. */
    onTaken(queuedMs: number | undefined): void {
      const active = context.active();
      const under = trace.getSpanContext(active);
      if (under !== undefined) addLogFields({ traceId: under.traceId });
      const sender = active.getValue(SENDER) as Context | undefined;
      const waitedMs = Date.now() - Number(queuedMs);
      if (sender === undefined || !(waitedMs >= 0 && waitedMs <= MAX_WAIT_MS)) return;
      tracer.startSpan('wait', { startTime: Number(queuedMs) }, sender).end();
    },
  };
}

function withSender(sender: Context): Context {
  return sender.setValue(SENDER, sender);
}

/** Whoever can write to Redis can put anything there: a trace context, or none. */
function readCarried(carried: unknown) {
  if (typeof carried !== 'string' || carried.length > MAX_CARRIED_CHARS) return undefined;
  try {
    const { traceparent, tracestate } = JSON.parse(carried) ?? {};
    return readTraceContext({ TRACEPARENT: textOf(traceparent), TRACESTATE: textOf(tracestate) });
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

const NO_SPAN: ReturnType<Telemetry<Context>['tracer']['startSpan']> = {
  setSpanOnContext: (active) => active,
  setAttribute() {},
  setAttributes() {},
  addEvent() {},
  recordException() {},
  end() {},
};
