/** What is answered of one vessel-day: everything that is known, and its object by ranges. */
import type { FastifyInstance } from 'fastify';
import type { WebPorts } from './ports.ts';
import { answerVesselDay } from './vessel-day-answer.ts';
import type { DayParams } from './vessel-day-ids.ts';
import { dayOf } from './vessel-day-ids.ts';
import { createObjectSender } from './vessel-day-object.ts';
import { createKnownSeries } from './vessel-day-series.ts';

/** `GET /jobs/:job/days/:vessel/:date`: a VesselDayAnswer; and below it `/object`: its Parquet, by GET and HEAD. */
export function registerVesselDay(api: FastifyInstance, ports: WebPorts): void {
  const send = createObjectSender(ports.store);
  const answerPorts = { ...ports, knownSeries: createKnownSeries(ports) };
  api.get<{ Params: DayParams }>('/jobs/:job/days/:vessel/:date', async ({ params }) => {
    const { job, day } = dayOf(ports.jobs, params);
    return await answerVesselDay(answerPorts, job, day);
  });
  api.route<{ Params: DayParams; Querystring: { readonly version?: unknown } }>({
    method: ['GET', 'HEAD'],
    url: '/jobs/:job/days/:vessel/:date/object',
    async handler(request, reply) {
      const { day } = dayOf(ports.jobs, request.params);
      return await send(day, request, reply);
    },
  });
}
