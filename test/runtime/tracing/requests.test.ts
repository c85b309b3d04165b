/** Requests to the service as spans: each is sent as its own, and others than ours are none. */
import { afterEach, describe, expect, it } from 'vitest';
import { silentLog, systemClock } from '../../../src/core/model/index.ts';
import { type OpenTracing, openTracing } from '../../../src/runtime/tracing/open-tracing.ts';
import { answer, clientOf, errorOf, PAGE, refuse, startListener } from '../../source/fetch/listener.ts';
import { type Collector, startCollector } from './collector.ts';

describe('requests in a trace', () => {
  let tracing: OpenTracing;
  let collector: Collector;
  afterEach(async () => {
    await tracing.close();
    await collector[Symbol.asyncDispose]();
  });

  async function open(origins: readonly string[], env: Readonly<Record<string, string>> = {}) {
    collector = await startCollector();
    tracing = openTracing({
      settings: { url: `${collector.url}/v1/traces`, headers: {} },
      ...{ env, log: silentLog, version: '0.0.0', origins },
    });
  }

  it('name their span, and no other, in their headers', async () => {
    const listener = await startListener();
    await open([listener.origin], { TRACESTATE: 'ignored=1' });
    const client = clientOf(listener);
    listener.script(refuse(503));
    await tracing.spans.span('fetch', {}, () => client.readAll(PAGE));
    await tracing.close();
    const seen = [...listener.seenTokens, ...listener.seen];
    const requests = collector.spans.filter(({ kind }) => kind === 'client');
    expect(seen.map(({ headers }) => headers.traceparent)).toEqual(
      requests.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
    );
    expect(requests.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([
      200, 503, 200,
    ]);
    const [fetch] = collector.spans.filter(({ name }) => name === 'fetch');
    for (const { parentId, attributes, startMs, endMs } of requests) {
      expect(parentId).toBe(fetch!.spanId);
      expect(attributes['url.full']).toContain(listener.origin);
      expect(endMs).toBeGreaterThanOrEqual(startMs);
    }
    expect(collector.text).not.toContain('token-1');
  });

  it('of many vessel-days at once are each in the span of their own', async () => {
    const listener = await startListener();
    await open([listener.origin]);
    const client = clientOf(listener);
    listener.always(async (response, seen) => {
      await systemClock.sleep(Math.random() * 20);
      answer('x')(response, seen);
    });
    await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        tracing.spans.span('vessel-day', { 'vessel_export.vessel': `${n}` }, () => client.readAll(PAGE)),
      ),
    );
    await tracing.close();
    const days = collector.spans.filter(({ name }) => name === 'vessel-day');
    const asked = collector.spans.filter(({ attributes }) =>
      String(attributes['url.path']).includes('measurements'),
    );
    expect(new Set(days.map(({ traceId }) => traceId)).size).toBe(30);
    expect(asked.map(({ parentId }) => parentId).sort()).toEqual(days.map(({ spanId }) => spanId).sort());
  });

  it('are none where nothing is under way, and never those to others', async () => {
    const listener = await startListener();
    const other = await startListener();
    await open([listener.origin]);
    await clientOf(listener).readAll(PAGE);
    await tracing.spans.span('fetch', {}, async () => {
      // As a webhook is asked, whose address is a secret.
      await (await fetch(`${other.origin}/a-secret-path`)).text();
    });
    await tracing.close();
    expect(collector.spans.map(({ name }) => name)).toEqual(['fetch']);
    expect(collector.text).not.toContain('a-secret-path');
    expect(listener.seen[0]!.headers).not.toHaveProperty('traceparent');
    expect(other.seen[0]!.headers).not.toHaveProperty('traceparent');
  });

  it('go on with the trace of the environment, by the state of its vendors', async () => {
    const listener = await startListener();
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    await open([listener.origin], { TRACEPARENT: `00-${traceId}-${spanId}-01`, TRACESTATE: 'vendor=1' });
    await clientOf(listener).readAll(PAGE);
    await tracing.close();
    expect(collector.spans.map((span) => [span.traceId, span.parentId])).toEqual([
      [traceId, spanId],
      [traceId, spanId],
    ]);
    const { headers } = listener.seen[0]!;
    expect(headers.traceparent).toMatch(new RegExp(`^00-${traceId}-[\\da-f]{16}-01$`));
    expect(headers.tracestate).toBe('vendor=1');
  });

  it('that fail end as failed, with what failed and no address', async () => {
    const listener = await startListener();
    await open([listener.origin]);
    await clientOf(listener).readAll(PAGE);
    listener.always((response) => response.destroy());
    const client = clientOf(listener, { limits: { retry: { maxAttempts: 1 } } });
    await tracing.spans.span('fetch', {}, () => errorOf(client.readAll(PAGE)));
    await tracing.close();
    const broken = collector.spans.filter(({ status }) => status.code === 'error');
    expect(broken).toHaveLength(1);
    expect(broken[0]!.attributes).toMatchObject({ 'error.type': expect.any(String) });
  });
});
