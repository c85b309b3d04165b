/** What a program imports: run, verify and status as functions. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobDefinitions } from '../src/index.ts';
import {
  CancelledError,
  ConfigError,
  exportVesselDays,
  statusOfVesselDays,
  verifyVesselDays,
} from '../src/index.ts';
import type { TestLake, TestService } from './helpers/run.ts';
import { DATE, newLake, startTestService, VESSEL } from './helpers/run.ts';

const NEXT_DATE = '2026-01-06';
const UNKNOWN_VESSEL = 'IMO1234567';
const jobs: JobDefinitions = {
  few: { dataset: 'measurements', vessels: [VESSEL, UNKNOWN_VESSEL], select: ['flat/{vessel}/S*'] },
};
const range = { from: DATE, to: NEXT_DATE };
let service: TestService;
let lake: TestLake;

beforeAll(async () => {
  service = await startTestService();
  lake = await newLake();
});
afterAll(async () => {
  await service.close();
  await lake[Symbol.asyncDispose]();
});

const lakeOnly = () => ({ LAKE_URL: lake.url, LOG_LEVEL: 'info' });
const env = () => ({
  ...lakeOnly(),
  QUERY_BASE_URL: service.baseUrl,
  QUERY_AUTH_URL: service.authUrl,
  QUERY_CLIENT_ID: service.clientId,
  QUERY_CLIENT_SECRET: service.clientSecret,
});

test('a lake is exported with receipts, told of, verified, and found damaged', async () => {
  const lines: string[] = [];
  const seen: string[] = [];
  const exported = await exportVesselDays({
    env: env(),
    jobs,
    ...range,
    onLog: (line) => lines.push(line),
    onResult: ({ day }) => seen.push(day.vessel),
  });
  const [good, bad] = [VESSEL, UNKNOWN_VESSEL].map((vessel) =>
    exported.find(({ day }) => day.vessel === vessel),
  );
  expect(exported).toHaveLength(2);
  expect(good).toMatchObject({
    status: 'published',
    receipt: { vessel: VESSEL, date: DATE, proof: 'exact' },
  });
  expect(good!.rows).toBe(good!.receipt!.rows);
  expect(bad).toMatchObject({ day: { vessel: UNKNOWN_VESSEL }, status: 'failed', code: expect.any(String) });
  expect(bad).not.toHaveProperty('receipt');
  expect(seen.toSorted()).toEqual([UNKNOWN_VESSEL, VESSEL].toSorted());
  expect(lines.map((line) => JSON.parse(line).msg)).toContain('published');

  const again = await exportVesselDays({ env: env(), jobs, ...range, vessels: [VESSEL] });
  expect(again).toEqual([
    { ...good, status: 'done', resumed: undefined, sizeBytes: undefined, receipt: good!.receipt },
  ]);

  const states = await statusOfVesselDays({ env: lakeOnly(), jobs, ...range });
  expect(states.map(({ day, state }) => [day.vessel, state])).toEqual([
    [VESSEL, 'published'],
    [UNKNOWN_VESSEL, 'failed'],
  ]);
  const verify = { jobs, ...range, vessels: [VESSEL] };
  const sound = { day: { job: 'few', vessel: VESSEL, date: DATE }, rows: good!.rows, findings: [] };
  expect(await verifyVesselDays({ env: lakeOnly(), ...verify })).toMatchObject([sound]);
  expect(await verifyVesselDays({ env: env(), ...verify, deep: true })).toMatchObject([sound]);

  await rm(join(lake.dir, good!.receipt!.object!.key));
  const [damaged] = await verifyVesselDays({ env: lakeOnly(), ...verify });
  expect(damaged!.findings).toMatchObject([{ name: 'object-missing', where: good!.receipt!.object!.key }]);
});

test('every fault of options, settings and jobs is named', async () => {
  const wrong = { env: env(), from: NEXT_DATE, to: 'soon', vessels: ['imo1'], jobs: [] };
  await expect(exportVesselDays(wrong)).rejects.toThrow(
    /^to: got 'soon', expected .*\nvessels: got 'imo1', expected .*\njobs: got none, expected at least one/,
  );
  await expect(statusOfVesselDays({ env: env(), jobs, from: DATE, to: DATE })).rejects.toThrow('is empty');
  const definitions = { Few: jobs.few!, few: { ...jobs.few!, select: [] } };
  const faults = exportVesselDays({ env: { ...lakeOnly() }, jobs: definitions, ...range });
  await expect(faults).rejects.toThrow(/QUERY_BASE_URL: not set.*jobs\.Few: .*jobs\.few: select: /s);
  await expect(faults).rejects.toBeInstanceOf(ConfigError);
});

test('a signal ends it, whatever its reason, and the next call makes the day', async () => {
  await using own = await newLake();
  const options = { env: { ...env(), LAKE_URL: own.url }, jobs, ...range, vessels: [VESSEL] };
  const abort = new AbortController();
  service.faults = ({ family }) => {
    if (family !== 'measurements') return undefined;
    abort.abort('enough');
    return { kind: 'stall', at: 'body', afterBytes: 20_000 };
  };
  const seen: string[] = [];
  const onResult = ({ status }: { status: string }) => seen.push(status);
  const cancelled = exportVesselDays({ ...options, signal: abort.signal, onResult });
  await expect(cancelled).rejects.toBeInstanceOf(CancelledError);
  expect(seen).toEqual(['interrupted']);
  service.faults = undefined;
  expect(await exportVesselDays(options)).toMatchObject([{ status: 'published' }]);
  const verified = verifyVesselDays({ ...options, signal: abort.signal });
  await expect(verified).rejects.toBeInstanceOf(CancelledError);
  await expect(statusOfVesselDays({ ...options, signal: abort.signal })).rejects.toThrow('aborted');
});
