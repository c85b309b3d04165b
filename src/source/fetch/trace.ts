/** Ids that join a request here with what the service and others have of it. */
import { randomBytes } from 'node:crypto';
import type { TraceContext } from '../../core/model/tracing.ts';

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
