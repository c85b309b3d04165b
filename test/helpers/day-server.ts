/** The answers about vessel-days, for tests: jobs without files, and a lake behind the page's own server. */
import type { Job } from '../../src/model/index.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import type { VesselDayAnswer } from '../../src/web/answers.ts';
import type { WebPorts } from '../../src/web/ports.ts';
import { servePage } from './web.ts';

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

export async function startDayServer(
  store: ObjectStore,
  jobs: readonly Job[],
  more: Partial<WebPorts> = {},
): Promise<DayServer> {
  const served = await servePage({ store, jobs, ...more });
  return {
    url: served.url,
    async answer(path) {
      const answer = await fetch(`${served.url}/api/jobs/${path}`);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as VesselDayAnswer;
    },
    [Symbol.asyncDispose]: () => served.close(),
  };
}
