/** A service that is ill answers 404, 403 or pages of its gateway: what failed then is exported once it is well. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Fault } from '../helpers/faulty-service/faults.ts';
import { expectExactDay } from '../helpers/lake.ts';
import { redisForTests } from '../helpers/redis.ts';
import type { JobFile, TestService } from '../helpers/run.ts';
import { DATE, newLake, startTestService, VESSEL } from '../helpers/run.ts';
import type { InProcessFleet } from './fleet-in-process.ts';
import { openInProcessFleet } from './fleet-in-process.ts';

const redis = await redisForTests();
const DAY_MS = 86_400_000;
const JOB: JobFile = {
  dataset: 'measurements',
  vessels: [VESSEL],
  select: ['flat/{vessel}/Shaft *'],
  schedule: { cron: '15 6 * * *', settle: '6h' },
  reconcile: { cron: '45 7 1 1 *', lookback: '3d' },
};
const PAGE = '<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>\n';
const NOT_FOUND: Fault = { kind: 'status', status: 404 };
const FORBIDDEN: Fault = { kind: 'status', status: 403 };
const HTML: Fault = { kind: 'garbage', body: PAGE, contentType: 'text/html' };
/** What a family makes of an answer is tried beside its reader; here, that the queue and the next firing follow. */
const CASES: readonly (readonly [what: string, family: string, transport: string, fault: Fault])[] = [
  ['404', 'metadata', 'ndjson', NOT_FOUND],
  ['403', 'measurements', 'ndjson', FORBIDDEN],
  ['a page of HTML with status 200', 'statistics', 'ndjson', HTML],
  ['a page of HTML with status 200', 'measurements', 'json', HTML],
];

describe.skipIf(redis === undefined)('an ill service', () => {
  let service: TestService;
  let bench: InProcessFleet;

  const open = async (job: JobFile) => {
    await using lake = await newLake();
    const startMs = Date.parse(`${DATE}T08:00:00Z`) + DAY_MS;
    return await openInProcessFleet({ service, lakeDir: lake.dir, job, redis: redis!, startMs });
  };
  beforeEach(async () => {
    service = await startTestService({ readingsPerDay: 1_000 });
    return async () => {
      await bench[Symbol.asyncDispose]();
      await service.close();
    };
  });
  afterAll(() => redis!.stop());

  const failed = async () => (await bench.fleet.queue.deadLetters()).length;

  for (const [what, family, transport, fault] of CASES) {
    test(`${what} to ${family} as ${transport}: tried again by the next firing`, async () => {
      bench = await open({ ...JOB, transport });
      service.faults = (request) => (request.family === family ? fault : undefined);
      bench.schedule();
      bench.work();
      await expect.poll(failed).toBe(3);
      expect((await bench.fleet.queue.deadLetters()).every(({ mayPass }) => mayPass)).toBe(true);
      service.faults = undefined;
      bench.advance(DAY_MS);
      await expect.poll(() => bench.published().length).toBe(3);
      for (const text of bench.published()) {
        const day = { job: 'measurements', vessel: VESSEL, date: text.split('/')[2]! };
        const expressions = [`flat/${VESSEL}/Shaft *`];
        const exact = { lakeDir: bench.lake.dir, day, expressions };
        await expectExactDay(service, exact);
      }
    });
  }
});
