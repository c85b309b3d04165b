/** The answers about vessel-days, on a listener of their own. */
import { fastify } from 'fastify';
import type { Job } from '../../src/model/index.ts';
import { silentLog, systemClock } from '../../src/model/index.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { VesselDayAnswer } from '../../src/web/answers.ts';
import type { WebPorts } from '../../src/web/ports.ts';
import { registerVesselDay } from '../../src/web/vessel-day.ts';
import { WebError } from '../../src/web/web-error.ts';

/** A job as a file would define it. */
export function makeJob(more: Partial<Job> = {}): Job {
  return {
    name: 'measurements',
    dataset: 'measurements',
    vessels: ['IMO9321483'],
    select: ['flat/{vessel}/S*'],
    transport: 'ndjson',
    verify: 'exact',
    ...more,
  };
}

export interface DayServer extends AsyncDisposable {
  readonly url: string;
  answer(path: string): Promise<VesselDayAnswer>;
}

/** `ports` as a process would have them; without a fleet unless one is given. */
export async function startDayServer(
  store: ObjectStore,
  jobs: readonly Job[],
  more: Partial<WebPorts> = {},
): Promise<DayServer> {
  const server = fastify();
  server.setErrorHandler(async (error: Error, _request, reply) =>
    reply
      .code(error instanceof WebError ? error.status : 500)
      .send({ error: { code: error instanceof WebError ? error.code : 'unknown', message: error.message } }),
  );
  const ports: WebPorts = {
    store,
    jobs,
    layout: 'plain',
    clock: systemClock,
    log: silentLog,
    self: { host: 'here', pid: 1 },
    apiVersion: '2026-09-10',
    version: '0.1.0',
    ...more,
  };
  await server.register(async (api) => registerVesselDay(api, ports), { prefix: '/api' });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    async answer(path) {
      const answer = await fetch(`${url}/api/jobs/${path}`);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as VesselDayAnswer;
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}
