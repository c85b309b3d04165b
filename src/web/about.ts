/** `GET /api/about`: which lake this is, and which jobs there are. */
import type { FastifyInstance } from 'fastify';
import { maskUrl } from '../model/web-address.ts';
import type { AboutAnswer } from './answers.ts';
import type { WebAccess, WebPorts } from './ports.ts';

export function registerAbout(api: FastifyInstance, ports: WebPorts, { lakeUrl }: WebAccess): void {
  api.get('/about', async (): Promise<AboutAnswer> => {
    const { version, layout, clock, fleet, jobs } = ports;
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
