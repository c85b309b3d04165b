/**
 * Sends spans to a collector, one batch after the other. A collector may be down, slow or hostile: nobody waits for it
 * but the next batch, each has an end, what could not be sent is dropped, and the log says so once.
 */
import type { Agent } from 'node:http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/model/index.ts';
import type { TracingSettings } from '../config/derived-settings.ts';

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

interface SpanSender extends SpanExporter {
  readonly isWell: boolean;
  readonly lost: number;
}

/** Bound on a batch. The exporter's own timeout is outlived by an answer of a byte now and then. */
const BATCH_MS = 20_000;
const [SUCCESS, FAILED] = [0, 1];

/** `agent`: the sockets of this sender alone. `batchMs` is for tests. */
export function createSpanSender(
  { url, headers }: TracingSettings,
  agent: Agent,
  log: Log,
  batchMs = BATCH_MS,
): SpanSender {
  // One batch is under way, and another at most whose end nobody waits for any more.
  const exporter = new OTLPTraceExporter({
    url,
    headers: async () => ({ ...(typeof headers === 'function' ? headers() : headers) }),
    httpAgentOptions: () => agent,
    concurrencyLimit: 2,
  });
  let turn: Promise<unknown> = Promise.resolve();
  let [isWell, lost, hasSaid] = [true, 0, false];

  async function send(spans: Parameters<SpanExporter['export']>[0]): Promise<ExportResult> {
    const { promise, resolve } = Promise.withResolvers<ExportResult>();
    const timer = setTimeout(() => {
      // Ends what is under way on them.
      agent.destroy();
      resolve({ code: FAILED, error: new Error(`no end of its answer within ${batchMs / 1_000} s`) });
    }, batchMs).unref();
    exporter.export(spans, resolve);
    const result = await promise;
    clearTimeout(timer);
    isWell = result.code === SUCCESS;
    if (!isWell) onLost(spans.length, result.error);
    return result;
  }

  function onLost(spans: number, error: Error | undefined): void {
    lost += spans;
    const fields = { collector: new URL(url).host, reason: error && messageOf(error) };
    const text = 'spans do not reach the collector and are dropped; the work continues';
    if (hasSaid) log.debug(fields, text);
    else log.warn(fields, `${text}. Said once`);
    hasSaid = true;
  }

  return {
    export(spans, onEnd) {
      turn = turn.then(() => send(spans)).then(onEnd);
    },
    forceFlush: () => turn.then(() => {}),
    shutdown: async () => {
      await turn;
      agent.destroy();
    },
    get isWell() {
      return isWell;
    },
    get lost() {
      return lost;
    },
  };
}
