/** Exports with REDIS_URL set: the whole way from the settings to the service. */
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { redisForTests } from '../helpers/redis.ts';
import { MEASUREMENTS, mustExport, newLake, OTHER_VESSEL, startTestService, VESSEL } from '../helpers/run.ts';

const redis = await redisForTests();
afterAll(() => redis?.stop());

const WORK_MS = 15;

/** In front of a service: every query takes some time more, and those in flight are counted. */
async function startSlowFront(target: URL) {
  let inFlight = 0;
  let asked = 0;
  let peak = 0;
  const server = createServer((request, response) => {
    asked += 1;
    inFlight += 1;
    peak = Math.max(peak, inFlight);
    const { method, headers, url: path } = request;
    const { hostname, port } = target;
    const onward = forward({ hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.on('data', (chunk) => response.write(chunk));
      answer.on('end', () => {
        inFlight -= 1;
        response.end();
      });
    });
    setTimeout(() => request.pipe(onward), WORK_MS);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.port = `${(server.address() as AddressInfo).port}`;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { baseUrl: url.href, asked: () => asked, peak: () => peak, [Symbol.asyncDispose]: stop };
}

describe.skipIf(!redis)('exports that share a Redis', () => {
  test('with one credential never ask for more at once than the concurrency limit', async () => {
    const service = await startTestService({ vessels: 2, readingsPerDay: 5_000 });
    await using lake = await newLake();
    await using front = await startSlowFront(new URL(service.baseUrl));
    const env = {
      REDIS_URL: redis!.url,
      REDIS_PREFIX: redis!.newPrefix(),
      QUERY_BASE_URL: front.baseUrl,
      QUERY_MAX_CONCURRENCY: '2',
      WORKER_CONCURRENCY: '4',
    };
    const exports = [VESSEL, OTHER_VESSEL].map((vessel) =>
      mustExport({
        service,
        lakeUrl: lake.url,
        env,
        jobs: { [vessel.toLowerCase()]: { ...MEASUREMENTS, vessels: [vessel] } },
        args: { from: '2026-01-02', to: '2026-01-05' },
        overrides: { sliceTargetRows: 500 },
      }),
    );
    const ran = await Promise.all(exports);
    expect(ran.flatMap(({ results }) => results.map(({ state }) => state))).toEqual(
      Array(6).fill('published'),
    );
    expect(front.asked()).toBeGreaterThan(50);
    expect(front.peak()).toBe(2);
    await service.close();
  });
});
