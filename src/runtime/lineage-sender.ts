/**
 * Sends lineage events to a server, which may be down, slow or hostile: nobody waits for it. Events wait in bounded memory,
 * are tried again while the server may recover, and what is not delivered is counted; the log says either once.
 */
import { endsWithin } from '../core/concurrency.ts';
import { type Clock, type Log, NO_LONGER, systemClock } from '../core/model/index.ts';
import { postJson } from '../core/post-json.ts';
import type { LineageSettings } from './config/derived-settings.ts';

interface Waiting {
  readonly run: string;
  readonly body: string;
}

interface SenderTimes {
  readonly requestMs: number;
  readonly retryMs: readonly [first: number, most: number];
  /** How long the end of the process waits for what is left; and where the server did not answer last. */
  readonly closeMs: readonly [well: number, unwell: number];
}

/** Of UTF-8: some 3,000 events. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;
const AT_ONCE = 4;
const TIMES: SenderTimes = { requestMs: 5_000, retryMs: [1_000, 60_000], closeMs: [3_000, 500] };

/** `settings`: as they are now, for the key may be replaced. `times`, `maxBytes` and `clock` are for tests. */
export function createLineageSender(
  settings: () => LineageSettings,
  log: Log,
  { times = TIMES, maxBytes = MAX_WAITING_BYTES, clock = systemClock as Clock } = {},
) {
  const waiting: Waiting[] = [];
  const sending = new Set<string>();
  const closed = new AbortController();
  let [bytes, lost, retryMs, pausedUntilMs] = [0, 0, times.retryMs[0], Number.NEGATIVE_INFINITY];
  let [isWell, hasSaid] = [true, false];
  let timer: NodeJS.Timeout | undefined;
  let onIdle = () => {};

  /** Events of one run follow each other; those of others do not wait for them. */
  function pump(): void {
    if (closed.signal.aborted) return;
    const pauseMs = pausedUntilMs - clock.monotonicMs();
    if (pauseMs > 0) timer ??= setTimeout(resume, pauseMs).unref();
    // While it is unwell one event asks whether it has recovered.
    while (pauseMs <= 0 && sending.size < (isWell ? AT_ONCE : 1)) {
      const at = waiting.findIndex(({ run }) => !sending.has(run));
      if (at < 0) break;
      const [event] = waiting.splice(at, 1) as [Waiting];
      bytes -= Buffer.byteLength(event.body);
      sending.add(event.run);
      void deliver(event).finally(() => {
        sending.delete(event.run);
        pump();
      });
    }
    if (sending.size === 0 && waiting.length === 0) onIdle();
  }

  function resume(): void {
    timer = undefined;
    pump();
  }

  /** Never rejects. */
  async function deliver(event: Waiting): Promise<void> {
    const { url, key } = settings();
    const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const post = { url, body: event.body, headers, timeoutMs: times.requestMs, signal: closed.signal };
    const { fault, status }: Awaited<ReturnType<typeof postJson>> = await postJson(post).catch(() => ({
      fault: 'not sent any more',
    }));
    const mayRecover = status === undefined || status >= 500 || status === 429 || status === 408;
    isWell = fault === undefined || !mayRecover;
    if (isWell) retryMs = times.retryMs[0];
    if (fault === undefined) return;
    if (mayRecover) {
      pausedUntilMs = clock.monotonicMs() + retryMs;
      retryMs = Math.min(2 * retryMs, times.retryMs[1]);
      waiting.unshift(event);
      bytes += Buffer.byteLength(event.body);
    } else lost++;
    if (!closed.signal.aborted) say(url, fault);
  }

  function say(url: string, fault: string): void {
    const fields = { server: new URL(url).host, reason: fault };
    const text = 'lineage events do not arrive at OPENLINEAGE_URL; the work continues';
    if (hasSaid) log.debug(fields, text);
    else log.warn(fields, `${text}. Said once`);
    hasSaid = true;
  }

  return {
    /** `run`: its id. Returns at once; never throws. */
    send(run: string, event: object): void {
      if (closed.signal.aborted) return;
      const body = JSON.stringify(event);
      waiting.push({ run, body });
      bytes += Buffer.byteLength(body);
      if (bytes > maxBytes) say(settings().url, `more than ${maxBytes / 2 ** 20} MiB wait`);
      // The newest say most.
      for (; bytes > maxBytes && waiting.length > 0; lost++)
        bytes -= Buffer.byteLength(waiting.shift()!.body);
      pump();
    },
    /** Sends what is left, for a few seconds at most. */
    async close(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      onIdle = resolve;
      clearTimeout(timer);
      timer = undefined;
      pausedUntilMs = Number.NEGATIVE_INFINITY;
      pump();
      await endsWithin(promise, times.closeMs[isWell ? 0 : 1], clock);
      closed.abort(NO_LONGER);
      clearTimeout(timer);
      const events = lost + waiting.length + sending.size;
      if (events > 0) log.warn({ events }, 'lineage events that were not delivered');
    },
  };
}
