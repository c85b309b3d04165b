import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type App, openApp } from '../../src/app.ts';
import { DataError } from '../../src/core/errors.ts';
import { silentLog, systemClock } from '../../src/core/model/index.ts';
import { createPerformDay, probeLake, probeService } from '../../src/fleet/work.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { lakeFiles, noteOf } from '../helpers/lake.ts';
import { RUN_EVENT } from '../helpers/openlineage.ts';
import type { TestLake } from '../helpers/run.ts';
import {
  DATE,
  exportEnv,
  MEASUREMENTS,
  newLake,
  serviceForTests,
  VESSEL,
  writeJobs,
} from '../helpers/run.ts';

const never = new AbortController().signal;
let nowMs = Date.parse(`${DATE}T12:00:00Z`);
const clock = { ...systemClock, nowMs: () => nowMs };
const service = await serviceForTests({ readingsPerDay: 1_000 });
let lake: TestLake;
let jobsDir: string;
let app: App;
let perform: ReturnType<typeof createPerformDay>;

beforeAll(async () => {
  lake = await newLake();
  jobsDir = await writeJobs({
    measurements: MEASUREMENTS,
    metadata: { dataset: 'metadata', select: ['flat/{vessel}/*'] },
  });
  app = await openApp(loadConfig(exportEnv(service, lake.url, jobsDir)), {}, silentLog, {
    clock,
    encoderThreads: 0,
  });
  perform = createPerformDay(app.ports, app.config.jobs);
});
afterAll(async () => {
  await app.close();
  await lake[Symbol.asyncDispose]();
  await rm(jobsDir, { recursive: true });
});

const queued = (job: string, date: string, more = {}) =>
  ({ job, vessel: VESSEL, date, kind: 'nightly', ...more }) as const;

test('a vessel-day is exported, done when it comes again, and exported again when it is forced', async () => {
  const day = queued('measurements', '2026-01-04');
  expect(await perform(day, never)).toMatchObject({ status: 'published' });
  expect(await perform(day, never)).toMatchObject({ status: 'done' });
  expect(await perform({ ...day, force: true }, never)).toMatchObject({ status: 'published' });
});

test('lineage tells of a vessel-day of the queue, and is delivered before the process ends', async () => {
  const events: unknown[] = [];
  await using server = await startHttpServer(async (request, response) => {
    events.push(JSON.parse((await request.toArray()).join('')));
    response.writeHead(201).end();
  });
  const env = { ...exportEnv(service, lake.url, jobsDir), OPENLINEAGE_URL: server.url };
  const overrides = { clock, encoderThreads: 0 };
  const told = await openApp(loadConfig(env), {}, silentLog, overrides);
  const day = queued('measurements', '2026-01-01');
  expect(await createPerformDay(told.ports, told.config.jobs)(day, never)).toMatchObject({
    status: 'published',
  });
  await told.close();
  const [start, complete] = events.map((event) => RUN_EVENT.parse(event));
  expect([start, complete]).toMatchObject([{ eventType: 'START' }, { eventType: 'COMPLETE' }]);
  expect(complete!.run.facets.tags!.tags).toContainEqual(
    expect.objectContaining({ key: 'origin', value: 'nightly' }),
  );
});

test('a vessel-day that is given up is noted without being asked for, unless it is done', async () => {
  const day = queued('measurements', '2026-01-02');
  const before = service.requests.length;
  const giveUp = new DataError('workers-died', 'three workers died');
  await expect(perform(day, never, giveUp)).rejects.toBe(giveUp);
  expect(service.requests.length).toBe(before);
  const { job, vessel, date } = day;
  expect(await noteOf(lake.dir, { job, vessel, date })).toMatchObject({
    state: 'failed',
    code: 'workers-died',
    message: 'three workers died',
  });
  expect([...(await lakeFiles(lake.dir)).keys()].filter((key) => key.startsWith('_checkpoints'))).toEqual([]);
  expect(await perform(day, never)).toMatchObject({ status: 'published' });
  expect(await noteOf(lake.dir, { job, vessel, date })).toBeUndefined();
  expect(await perform(day, never, giveUp)).toMatchObject({ status: 'done' });
});

test('what was published since it was compared is done', async () => {
  const day = { ...queued('measurements', '2026-01-03'), force: true };
  const compared = (epoch: number) => ({ epoch, totalsSha256: '0'.repeat(64) });
  expect(await perform(day, never)).toMatchObject({ status: 'published' });
  expect(await perform({ ...day, compared: compared(1) }, never)).toMatchObject({ status: 'published' });
  expect(await perform({ ...day, compared: compared(1) }, never)).toMatchObject({ status: 'done' });
});

test('a vessel-day that is not over by the service is not exported, and is to come back', async () => {
  const [today, before] = [nowMs, service.requests.length];
  nowMs = Date.parse('2026-01-07T06:00:00Z');
  service.faults = ({ family }) =>
    family === 'metadata' ? { kind: 'date', value: 'Tue, 06 Jan 2026 23:30:00 GMT' } : undefined;
  const day = queued('measurements', '2026-01-06');
  const reason = { code: 'day-not-over', delayMs: expect.closeTo(1_800_000, -5) };
  await expect(perform(day, never)).rejects.toMatchObject(reason);
  const asked = service.requests.length - before;
  expect(asked).toBeLessThanOrEqual(2);
  // The witness is still fresh: nothing is asked.
  await expect(perform(day, never)).rejects.toMatchObject({
    ...reason,
    message: expect.stringContaining('390 minutes behind'),
  });
  expect(service.requests.length - before).toBe(asked);
  const files = [...(await lakeFiles(lake.dir)).keys()];
  expect(files.filter((key) => key.includes('date=2026-01-06'))).toEqual([]);
  service.faults = undefined;
  nowMs = today;
  // Real time is later than any of these.
  await probeService(app.ports, app.config.jobs[0]!, never);
});

test('a vessel-day that is not due yet is left alone', async () => {
  expect(await perform(queued('measurements', DATE), never)).toMatchObject({ status: 'not-due' });
});

test('a snapshot is taken on its day, compared with the last, and never made up', async () => {
  expect(await perform(queued('metadata', DATE), never)).toMatchObject({ status: 'published' });
  nowMs += 86_400_000;
  expect(await perform(queued('metadata', DATE), never)).toMatchObject({ status: 'not-due' });
  expect(await perform(queued('metadata', '2026-01-06'), never)).toMatchObject({ status: 'unchanged' });
});

test('a job that this process does not know is named, with those it knows', async () => {
  await expect(perform(queued('other', '2026-01-04'), never)).rejects.toMatchObject({
    code: 'unknown-job',
    message: expect.stringMatching(/'other'.*measurements, metadata/),
  });
});

test('the probe passes while the service takes the credentials, whatever else it answers', async () => {
  const [job] = app.config.jobs;
  await probeService(app.ports, job!, never);
  service.faults = ({ family }) => (family === 'metadata' ? { kind: 'status', status: 404 } : undefined);
  await probeService(app.ports, job!, never);
  service.faults = ({ family }) => (family === 'metadata' ? { kind: 'revoke-tokens' } : undefined);
  await expect(probeService(app.ports, job!, never)).rejects.toMatchObject({ code: 'credentials-refused' });
  service.faults = undefined;
});

test('the probe of the lake leaves nothing', async () => {
  await probeLake(app.ports, []);
  expect([...(await lakeFiles(lake.dir)).keys()].filter((key) => key.startsWith('_probes'))).toEqual([]);
});
