/** The answers about vessel-days, for tests: jobs without files, and a lake behind the page's own server. */
import { fastify } from 'fastify';
import type { Job } from '../../src/core/model/index.ts';
import { silentLog, systemClock } from '../../src/core/model/index.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { VesselDayAnswer } from '../../src/web/answers.ts';
import type { WebPorts } from '../../src/web/ports.ts';
import { registerVesselDay } from '../../src/web/vessel-day.ts';
import { servePage } from './web.ts';

/** A job as a file would define it. */
export function makeJob(more: Partial<Job> = {}): Job {
  return {
    name: 'measurements',
    dataset: 'measurements',
    vessels: ['IMO9321483'],
    select: ['flat/{vessel}/S*'],
    since: '2020-01-01',
    transport: 'ndjson',
    verify: 'exact',
    ...more,
  };
}

export async function startDayServer(store: ObjectStore, jobs: readonly Job[], more: Partial<WebPorts> = {}) {
  const served = await servePage({ store, jobs, ...more });
  return dayServer(served.url, () => served.close());
}

/** The answers about vessel-days alone, with a queue and nothing else of a fleet. */
export async function startQueuedDayServer(
  store: ObjectStore,
  jobs: readonly Job[],
  fleet: Pick<NonNullable<WebPorts['fleet']>, 'queue' | 'redis'>,
) {
  const server = fastify();
  const ports = {
    ...{ store, jobs, clock: systemClock, log: silentLog, self: { host: 'here', pid: 1 } },
    ...{ apiVersion: '2026-09-10', version: '0.1.0', fleet },
  } as WebPorts;
  await server.register(async (api) => registerVesselDay(api, ports), { prefix: '/api' });
  return dayServer(await server.listen({ host: '127.0.0.1', port: 0 }), () => server.close());
}

function dayServer(url: string, close: () => Promise<void>) {
  return {
    url,
    async answer(path: string) {
      const answer = await fetch(`${url}/api/jobs/${path}`);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as VesselDayAnswer;
    },
    [Symbol.asyncDispose]: close,
  };
}
