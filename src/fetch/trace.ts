/** Ids that join a request here with what the service and others have of it. */
import { randomBytes } from 'node:crypto';

/** A trace that somebody else began, by W3C Trace Context. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Two hexadecimal digits. */
  readonly flags: string;
  /** Of the vendors on the way; handed on as it is. */
  readonly state?: string;
}

const TRACEPARENT =
  /^(?!ff)(?<version>[0-9a-f]{2})-(?!0{32})(?<traceId>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-(?<flags>[0-9a-f]{2})(?<more>-.*)?$/;
/** Sampled, and random: the bits that are defined. */
const KNOWN_FLAGS = 0b11;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The trace that `TRACEPARENT` and `TRACESTATE` name; by the rule of W3C one that is malformed counts as none. */
export function readTraceContext(
  env: Readonly<Record<string, string | undefined>>,
): TraceContext | undefined {
  const { version, traceId, flags, more } = TRACEPARENT.exec(env.TRACEPARENT?.trim() ?? '')?.groups ?? {};
  if (traceId === undefined || flags === undefined || (version === '00' && more !== undefined))
    return undefined;
  const state = env.TRACESTATE?.trim() ?? '';
  return {
    traceId,
    flags: (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0'),
    ...(TRACESTATE.test(state) && { state }),
  };
}

/** Headers that name a request: its id, and as a new span of the trace where there is one. */
export function idHeaders(requestId: string, trace: TraceContext | undefined): Record<string, string> {
  const headers: Record<string, string> = { 'x-request-id': requestId };
  if (trace === undefined) return headers;
  headers.traceparent = `00-${trace.traceId}-${newSpanId()}-${trace.flags}`;
  if (trace.state !== undefined) headers.tracestate = trace.state;
  return headers;
}

function newSpanId(): string {
  const id = randomBytes(8).toString('hex');
  return /^0+$/.test(id) ? newSpanId() : id;
}

/** A request in messages: what was asked, and the id that the service has of it. */
export function nameRequest(asked: string, requestId: string): string {
  return `${asked} (request ${requestId})`;
}

/** A message about a request as it is said of every other like it: its id is another each time. */
export function withoutRequestIds(message: string): string {
  return message.replaceAll(/ \(request [0-9a-f-]{36}\)/g, '');
}
