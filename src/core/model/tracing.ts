/** The tracing port: what is done, as spans of one trace a vessel-day. */

/** By OpenTelemetry's names where it has some, else `vessel_export.…`. What is undefined is left out. No secrets. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** One vessel-day in this process; within it its steps one after another, row groups, and writes to the lake. */
type Step = 'claim' | 'count' | 'fetch' | 'verify' | 'seal' | 'publish';
export type SpanName = 'vessel-day' | Step | 'encode' | 'upload part' | 'complete upload' | 'put';

export interface Span {
  set(attributes: SpanAttributes): void;
}

/**
 * Contract, for every implementation:
 * - `work` is done once, and what it gives or throws is given or thrown, whatever becomes of the span.
 * - The span is within the one that is under way, else it begins a trace. An error ends it as failed, unless it only says
 *   that the work is not to be done now.
 * - Nobody waits for whoever gathers the spans.
 */
export interface Tracing {
  span<T>(name: SpanName, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T>;
}

const NO_SPAN: Span = { set() {} };

export const noTracing: Tracing = { span: (_name, _attributes, work) => work(NO_SPAN) };

/** Traces that somebody else began, by W3C Trace Context: of the environment, and of what stands in a queue. */

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Id of the parent span: 16 hexadecimal digits. */
  readonly spanId: string;
  /** Two hexadecimal digits. */
  readonly flags: string;
  /** What vendors on the way have added; handed on as it is. */
  readonly state?: string;
}

const TRACEPARENT =
  /^(?!ff)(?<version>[0-9a-f]{2})-(?!0{32})(?<traceId>[0-9a-f]{32})-(?!0{16})(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<more>-.*)?$/;
/** Sampled, and random: the bits that are defined. */
const KNOWN_FLAGS = 0b11;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The trace that `TRACEPARENT` and `TRACESTATE` name; by the rule of W3C one that is malformed counts as none. */
export function readTraceContext(
  env: Readonly<Record<string, string | undefined>>,
): TraceContext | undefined {
  const { version, traceId, spanId, flags, more } =
    TRACEPARENT.exec(env.TRACEPARENT?.trim() ?? '')?.groups ?? {};
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  const state = env.TRACESTATE?.trim() ?? '';
  const known = (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0');
  return { traceId, spanId, flags: known, ...(TRACESTATE.test(state) && { state }) };
}
