/** What is under way, by OpenTelemetry's contexts: they follow the calls by themselves. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, createTraceState, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { TraceContext } from '../../core/model/tracing.ts';

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
