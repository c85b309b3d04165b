/** Spans of ours: what is under way, the implementation of the tracing port, and of the ports that it is put around. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context, ContextManager, Span as OtelSpan, Tracer } from '@opentelemetry/api';
import { context, createTraceState, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  CancelledError,
  codeOf,
  FencedError,
  messageOf,
  NotDueError,
  NotYetError,
} from '../../core/errors.ts';
import { addLogFields } from '../../core/model/log-context.ts';
import type { SpanAttributes, SpanName, TraceContext, Tracing } from '../../core/model/tracing.ts';
import type { Encoder } from '../../parquet/write/index.ts';
import type { ObjectStore } from '../../store/store.ts';

/** These say when or by whom the work is done instead: nothing has failed. */
const NO_FAILURES = [CancelledError, FencedError, NotDueError, NotYetError];

export function createSpans(tracer: Tracer): Tracing {
  return {
    span: (name, attributes, work) =>
      tracer.startActiveSpan(name, { attributes }, async (span) => {
        addLogFields({ traceId: span.spanContext().traceId });
        try {
          return await work({ set: (more) => void span.setAttributes(more) });
        } catch (error) {
          noteError(span, error);
          throw error;
        } finally {
          span.end();
        }
      }),
  };
}

/** Messages of errors are cleaned and hold no secret; their stacks stay out of it. */
export function noteError(span: OtelSpan, error: unknown): void {
  span.setAttribute('vessel_export.code', codeOf(error));
  if (NO_FAILURES.some((kind) => error instanceof kind)) return;
  span.setAttribute('error.type', codeOf(error));
  span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
}

export function traceEncoder(encoder: Encoder, tracing: Tracing): Encoder {
  return {
    ...encoder,
    encode: (job) =>
      tracing.span('encode', { 'vessel_export.rows': job.gathered.rows }, () => encoder.encode(job)),
  };
}

/** The same store, a span for each write that is part of something under way. */
export function traceStore(store: ObjectStore, tracing: Tracing): ObjectStore {
  const within = <T>(name: SpanName, attributes: SpanAttributes, write: () => Promise<T>): Promise<T> =>
    trace.getSpan(context.active()) === undefined ? write() : tracing.span(name, attributes, write);
  const put = <T>(key: string, bytes: Uint8Array, write: () => Promise<T>): Promise<T> =>
    within('put', { 'vessel_export.key': key, 'vessel_export.bytes': bytes.length }, write);
  return {
    ...store,
    put: (key, bytes) => put(key, bytes, () => store.put(key, bytes)),
    putIf: (key, bytes, expected) => put(key, bytes, () => store.putIf(key, bytes, expected)),
    putIfAbsent: (key, bytes) => put(key, bytes, () => store.putIfAbsent(key, bytes)),
    append(upload, partNumber, bytes) {
      const facts = { 'vessel_export.key': upload.key, 'vessel_export.bytes': bytes.length };
      return within('upload part', { ...facts, 'vessel_export.part': partNumber }, () =>
        store.append(upload, partNumber, bytes),
      );
    },
    publish(upload, parts, expected) {
      const facts = { 'vessel_export.key': upload.key, 'vessel_export.parts': parts.length };
      return within('complete upload', facts, () => store.publish(upload, parts, expected));
    },
  };
}

/** Everything in this process is below `root`, which OpenTelemetry's own manager cannot say. */
export function createContexts(root: Context): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const contexts: ContextManager = {
    active: () => storage.getStore() ?? root,
    with: (context, work, thisArg, ...args) => storage.run(context, () => work.apply(thisArg as never, args)),
    bind: (context, target) =>
      typeof target === 'function'
        ? (((...args: unknown[]) => storage.run(context, () => target(...args))) as typeof target)
        : target,
    enable: () => contexts,
    disable() {
      storage.disable();
      return contexts;
    },
  };
  return contexts;
}

/** The context in which a trace goes on that somebody else began; nothing is under way where there is none. */
export function contextOf(found: TraceContext | undefined, base: Context = ROOT_CONTEXT): Context {
  if (found === undefined) return base;
  const { traceId, spanId, flags, state } = found;
  return trace.setSpanContext(base, {
    ...{ traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true },
    ...(state !== undefined && { traceState: createTraceState(state) }),
  });
}
