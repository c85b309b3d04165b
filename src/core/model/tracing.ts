/** The tracing port: what is done, as spans of one trace a vessel-day. */

/** By OpenTelemetry's names where it has some, else `vessel_export.…`. What is undefined is left out. No secrets. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * One vessel-day in this process; within it the steps of DESIGN one after another, row groups and writes to the lake.
 * The steps: claim, count, fetch, verify, seal, publish.
 */
export type SpanName =
  | 'vessel-day'
  | 'claim'
  | 'count'
  | 'fetch'
  | 'encode'
  | 'verify'
  | 'seal'
  | 'publish'
  | 'upload part'
  | 'complete upload'
  | 'put';

/** A span under way. */
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

/** Nothing is traced. */
export const noTracing: Tracing = { span: (_name, _attributes, work) => work(NO_SPAN) };
