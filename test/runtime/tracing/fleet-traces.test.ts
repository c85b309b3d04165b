/** One trace a vessel-day over the processes of a fleet, as a collector of its own sees it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/store/open-store.ts';
import { defineBackfill } from '../../helpers/backfills.ts';
import { canStartOwnRedis } from '../../helpers/redis.ts';
import { VESSEL } from '../../helpers/run.ts';
import { newTempFolder } from '../../helpers/temp.ts';
import { type FleetBench, type FleetProcess, JOB, openFleetBench } from '../../integration/fleet-bench.ts';
import { type CollectedSpan, type Collector, startCollector } from './collector.ts';
import { recordModules } from './loaded-modules.ts';

const SECRET_HEADER = 'a-key-of-the-collector';
const STEPS = ['claim', 'count', 'fetch', 'verify', 'seal', 'publish'];

describe.skipIf(!canStartOwnRedis())('traces of a fleet', () => {
  let collector: Collector;
  let bench: FleetBench;
  beforeEach(async () => {
    collector = await startCollector();
  });
  afterEach(async () => {
    await bench[Symbol.asyncDispose]();
    await collector[Symbol.asyncDispose]();
  });

  async function open(): Promise<FleetBench> {
    bench = await openFleetBench({
      service: { readingsPerDay: 1_000 },
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: `api-key=${SECRET_HEADER}`,
        OTEL_SERVICE_NAME: 'fleet-of-a-test',
        OTEL_BSP_SCHEDULE_DELAY: '100',
      },
    });
    return bench;
  }

  /** End them, so that all is sent. */
  async function end(...processes: FleetProcess[]): Promise<void> {
    for (const { child } of processes) child.kill('SIGTERM');
    await Promise.all(processes.map(({ ended }) => ended));
  }

  const ofDate = (date: string) =>
    collector.spans.filter(({ attributes }) => attributes['vessel_export.date'] === date);

  test('each goes whole from the scheduler to the receipt, and the log names it', async () => {
    await open();
    const [from, to] = ['2026-01-05', '2026-01-07'];
    const store = await openStore(new URL(`file://${bench.lakeDir}`).href, {});
    await defineBackfill(store, {
      ...{ backfillVersion: 1, id: 'a', job: JOB, from, to, vessels: [], allowShrink: false },
      ...{ paused: false, createdAt: '2026-02-01T00:00:00.000Z' },
    });
    await store.close();
    const worker = bench.start({ command: 'worker' });
    const scheduler = bench.start({ command: 'schedule' });
    await scheduler.until(/backfill is covered/);
    await end(scheduler, worker);

    const roots = collector.spans.filter(({ parentId }) => parentId === '');
    expect(roots.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'enqueue producer',
      'enqueue producer',
    ]);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(2);
    for (const root of roots) {
      const date = root.attributes['vessel_export.date'];
      const spans = collector.spans.filter(({ traceId }) => traceId === root.traceId);
      expectTree(spans);
      const named = (name: string) => spans.filter((span) => span.name === name);
      expect(root).toMatchObject({
        attributes: {
          'vessel_export.job': JOB,
          'vessel_export.vessel': VESSEL,
          'vessel_export.kind': 'backfill',
          'messaging.message.id': `${JOB}/${VESSEL}/${date}`,
        },
        resource: { 'service.name': 'fleet-of-a-test', 'process.pid': scheduler.child.pid },
      });
      const [day] = named('vessel-day');
      expect(day).toMatchObject({
        attributes: {
          'vessel_export.job': JOB,
          'vessel_export.vessel': VESSEL,
          'vessel_export.date': date,
          'vessel_export.dataset': 'measurements',
          'vessel_export.epoch': 1,
          'vessel_export.outcome': 'published',
          'vessel_export.proof': 'exact',
          'vessel_export.rows': expect.any(Number),
          'vessel_export.pages': 1,
          'vessel_export.requests': 3,
        },
        status: { code: 'unset' },
        resource: { 'service.name': 'fleet-of-a-test', 'process.pid': worker.child.pid },
      });
      // Queued, waiting, taken, and what was done with it, one after the other.
      const [wait, taken] = [named('wait')[0]!, named('process vessel-days')[0]!];
      expect([wait.parentId, taken.parentId, day!.parentId]).toEqual([
        root.spanId,
        root.spanId,
        taken.spanId,
      ]);
      expect(taken.kind).toBe('consumer');
      const steps = spans.filter(({ parentId, name }) => parentId === day!.spanId && STEPS.includes(name));
      const inOrder = steps.toSorted((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
      expect(inOrder.map(({ name }) => name)).toEqual(STEPS);
      const stepOf = (name: string) => named(name)[0]!.spanId;
      expect(named('encode').map(({ parentId }) => parentId)).toEqual([stepOf('fetch')]);
      expect(named('upload part').map(({ parentId }) => parentId)).toEqual([stepOf('seal')]);
      expect(named('complete upload').map(({ parentId }) => parentId)).toEqual([stepOf('publish')]);
      const requests = spans.filter(({ kind }) => kind === 'client');
      const asked = requests.map(({ attributes, parentId }) => `${attributes['url.path']} ${parentId}`);
      expect(asked).toEqual(
        expect.arrayContaining([`/fleet/measurements/flat/${VESSEL}/S* ${stepOf('fetch')}`]),
      );
      for (const { attributes } of requests)
        expect(attributes).toMatchObject({
          'http.response.status_code': 200,
          'server.address': '127.0.0.1',
          'http.request.header.x-request-id': [expect.stringMatching(/^[\da-f-]{36}$/)],
        });
      // The line that says so in the log of the worker.
      const lines = worker.output.split('\n').filter((line) => line.includes(`"${JOB}/${VESSEL}/${date}"`));
      expect(lines.map((line) => JSON.parse(line).traceId)).toEqual(lines.map(() => root.traceId));
      expect(lines.length).toBeGreaterThan(0);
    }
    expect(collector.requests[0]).toMatchObject({
      url: '/v1/traces',
      headers: { 'content-type': 'application/x-protobuf', 'api-key': SECRET_HEADER },
    });
    const { clientSecret } = bench.service;
    for (const text of [collector.text, worker.output, scheduler.output])
      for (const secret of [clientSecret, SECRET_HEADER, 'eyJ', 'Basic ', 'Bearer '])
        expect(text.includes(secret), secret).toBe(false);
  });

  test('a vessel-day that is tried again stays one trace, each try with its end', async () => {
    await open();
    const worker = bench.start({ command: 'worker', maxAttempts: 2 });
    bench.service.faults = ({ family }) =>
      family === 'measurements' && !worker.output.includes('"msg":"retrying"')
        ? { kind: 'status', status: 503, message: 'ill' }
        : undefined;
    await bench.backfill({ from: '2026-01-05', to: '2026-01-06' });
    await end(worker);
    const days = ofDate('2026-01-05').filter(({ name }) => name === 'vessel-day');
    // On a busy machine it may fail once more before the service hears of the first failure.
    const tries = days.toSorted((a, b) => a.startMs - b.startMs);
    const [failed, published] = [tries[0], tries.at(-1)];
    expect(tries.length).toBeGreaterThan(1);
    expect(failed).toMatchObject({
      attributes: {
        'vessel_export.outcome': 'failed',
        'vessel_export.epoch': 1,
        'error.type': expect.any(String),
      },
      status: { code: 'error', message: expect.stringContaining('503') },
    });
    expect(published).toMatchObject({
      attributes: { 'vessel_export.outcome': 'published' },
      status: { code: 'unset' },
    });
    expect(new Set(tries.map(({ traceId }) => traceId)).size).toBe(1);
    const trace = collector.spans.filter(({ traceId }) => traceId === failed!.traceId);
    expectTree(trace);
    expect(trace.filter(({ name }) => name === 'process vessel-days')).toHaveLength(tries.length);
    expect(trace.filter(({ name }) => name === 'wait')).toHaveLength(1);
    const broken = trace.filter(({ name, status }) => name === 'fetch' && status.code === 'error');
    expect(broken).toHaveLength(tries.length - 1);
    const said = worker.output.split('\n').filter((line) => /"msg":"(retrying|published)"/.test(line));
    expect(said.map((line) => JSON.parse(line).traceId)).toEqual(tries.map(() => failed!.traceId));
    // What the service refused, by the names that OpenTelemetry has for it.
    const refusals = trace.filter(({ attributes }) => attributes['http.response.status_code'] === 503);
    expect(refusals.length).toBeGreaterThan(0);
    expect(new Set(refusals.map(({ status }) => status.code))).toEqual(new Set(['error']));
  });

  test('a worker that is not asked for traces loads none of their modules', async () => {
    await open();
    await using folder = await newTempFolder();
    const { env, loaded } = await recordModules(folder.path);
    const worker = bench.start({ command: 'worker' }, { ...env, OTEL_SDK_DISABLED: 'true' });
    await bench.queue.add([{ job: JOB, vessel: VESSEL, date: '2026-01-05', kind: 'nightly' }]);
    await worker.until(/"msg":"published"/);
    const modules = await loaded();
    expect(modules.some((url) => url.includes('/bullmq/'))).toBe(true);
    // The library of the metrics loads OpenTelemetry's API by itself, which does nothing alone.
    const ofTraces = /@opentelemetry\/(?!api\/)|bullmq-otel|src\/runtime\/tracing/;
    expect(modules.filter((url) => ofTraces.test(url))).toEqual([]);
  });

  test('what somebody puts into the queue as a trace is a trace, or nothing', async () => {
    await open();
    const known = '0af7651916cd43dd8448eb211c80319c';
    const carried = [
      `{"traceparent":"00-${known}-b7ad6b7169203331-01"}`,
      'no JSON',
      'null',
      '{"traceparent":["00"]}',
      `{"traceparent":"00-${known}-b7ad6b7169203331-01","tracestate":"${'x'.repeat(5_000)}"}`,
      { traceparent: `00-${known}-b7ad6b7169203331-01` } as unknown as string,
    ];
    for (const [index, metadata] of carried.entries()) {
      const day = { job: JOB, vessel: VESSEL, date: `2026-01-0${index + 1}` };
      const jobId = `${day.job}/${day.vessel}/${day.date}`;
      await bench.queue.bull.add('nightly', { ...day, kind: 'nightly' }, { jobId, telemetry: { metadata } });
    }
    const worker = bench.start({ command: 'worker' });
    await expect.poll(() => bench.receiptCount()).toBe(carried.length);
    await end(worker);
    const traces = carried.map((_, index) => ofDate(`2026-01-0${index + 1}`)[0]!.traceId);
    expect(traces.map((id) => id === known)).toEqual([true, false, false, false, false, false]);
    expect(new Set(traces).size).toBe(carried.length);
    expect(collector.spans.filter(({ name }) => /getNextJob|stalled|pause/i.test(name))).toEqual([]);
  });
});

/** One begins it, or somebody unknown did; all others are below it. */
function expectTree(spans: readonly CollectedSpan[]): void {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  expect(ids.size).toBe(spans.length);
  const lost = spans.filter(({ parentId }) => parentId !== '' && !ids.has(parentId));
  expect(lost.map(({ name }) => name)).toEqual([]);
}
