/** `GET /api/about`: which lake this is, and which jobs there are. */
import type { FastifyInstance } from 'fastify';
import { endsWithin } from '../core/concurrency.ts';
import type { Layout } from '../core/model/index.ts';
import { maskUrl } from '../core/model/web-address.ts';
import { readLayout } from '../lake/lake-file.ts';
import type { AboutAnswer } from './answers.ts';
import type { WebAccess, WebPorts } from './ports.ts';

/** A lake that is away takes nothing from who looks at the fleet. */
const LAKE_PATIENCE_MS = 1_000;

export function registerAbout(api: FastifyInstance, ports: WebPorts, { lakeUrl }: WebAccess): void {
  const layoutNow = createLayoutQuestion(ports);
  api.get('/about', async (): Promise<AboutAnswer> => {
    const { version, clock, fleet, jobs } = ports;
    const layout = await layoutNow();
    return {
      ...{ version, lakeUrl: maskUrl(lakeUrl, true), layout },
      nowMs: clock.nowMs(),
      hasFleet: fleet !== undefined,
      jobs: jobs.map(({ name, dataset, schedule }) => ({
        name,
        dataset,
        hasSchedule: schedule !== undefined,
      })),
    };
  });
}

/** Asked anew until the lake is one of tables, which it stays: `convert` may be at work while the page is open. */
function createLayoutQuestion({ store, clock }: WebPorts): () => Promise<Layout> {
  let known: Layout | undefined;
  return async () => {
    if (known === 'delta') return known;
    const reading = readLayout(store).then((layout) => {
      known = layout;
      return layout;
    });
    if (known === undefined) return await reading;
    await endsWithin(reading, LAKE_PATIENCE_MS, clock);
    return known;
  };
}
