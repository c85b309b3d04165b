import type { Clock } from '../../core/model/ports.ts';
import type { Answer, RequestStats, Send } from './exchange.ts';

export interface RequestReport {
  /** Absent if no headers arrived. */
  readonly status?: number;
  /** From sending the request until its body ended or broke off, including the consumer's time. */
  readonly ms: number;
  readonly retry: number;
  readonly requestId: string;
  readonly asked: string;
}

/** Layer: count requests and bytes, and measure the time on the wire. `inFlight` has the oldest first, with its monotonic begin. */
export function withMeter(
  clock: Clock,
  onRequest: (report: RequestReport) => void,
  inFlight: Set<{ readonly startedMs: number }>,
  next: Send,
): Send {
  return async (attempt) => {
    const startedMs = clock.monotonicMs();
    const underWay = { startedMs };
    inFlight.add(underWay);
    let status: number | undefined;
    for (const sink of attempt.sinks) sink.requests += 1;
    try {
      return await next({
        ...attempt,
        consume: (answer) => {
          status = answer.status;
          if (status === 429) for (const sink of attempt.sinks) sink.rateLimited += 1;
          return attempt.consume({ ...answer, sentMs: startedMs, body: counted(answer, attempt.sinks) });
        },
      });
    } finally {
      inFlight.delete(underWay);
      const ms = clock.monotonicMs() - startedMs;
      attempt.wire.elapsedMs = ms;
      const { requestId, asked } = attempt.outgoing;
      const retry = attempt.outgoing.attempt - 1;
      onRequest({ ...(status !== undefined && { status }), ms, retry, requestId, asked });
    }
  };
}

async function* counted({ body }: Answer, sinks: readonly RequestStats[]): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    for (const sink of sinks) sink.bytes += chunk.length;
    yield chunk;
  }
}
