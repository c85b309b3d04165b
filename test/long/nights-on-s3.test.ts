/**
 * Nights on a server of S3 or Azure as users have them, by the commands: killed in the middle, run again, late data, verified, cleaned up.
 * `npm run stores` runs it on each server there is.
 */
import { rm } from 'node:fs/promises';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { addDays } from '../../src/core/model/index.ts';
import { openStore } from '../../src/store/open-store.ts';
import { azuriteForTests } from '../helpers/azurite.ts';
import { s3Server } from '../helpers/bucket-server.ts';
import { serviceNames } from '../helpers/lake.ts';
import type { RanCli } from '../helpers/run.ts';
import { DATE, exportEnv, runCli, serviceOfTest, startCli, VESSEL, writeJobs } from '../helpers/run.ts';
import { s3ForTests } from '../helpers/s3.ts';

const s3 = await s3ForTests();
const JOB = { dataset: 'measurements', vessels: { discover: 'flat/*/*' }, select: ['flat/{vessel}/S*'] };
/** The second sorts before the first by bytes, and after it where a store lists a folder before its siblings. */
const JOBS = {
  night: JOB,
  'night-by-hour': { ...JOB, dataset: 'statistics', window: '1h', aggregations: ['mean', 'count'] },
};
const RANGE = ['--from', DATE, '--to', addDays(DATE, 3)];
const VESSELS = 3;

const azurite = await azuriteForTests()?.();
afterAll(() => azurite?.stop());
const servers = [
  ['S3', s3 && s3Server(s3)],
  ['Azure', azurite],
] as const;
const PLACES = servers.flatMap(([name, server]) =>
  ['plain', 'delta'].flatMap((layout) => (server === undefined ? [] : [[name, layout, server] as const])),
);

test.each(PLACES)('two jobs, three vessels, three days: %s, %s', async (_, layout, server) => {
  const service = await serviceOfTest({ vessels: VESSELS, readingsPerDay: 3_000 });
  const { bucket, drop } = await server.newBucket();
  const jobsDir = await writeJobs(JOBS);
  onTestFinished(async () => {
    await drop();
    await rm(jobsDir, { recursive: true, force: true });
  });
  const lakeUrl = server.urlOf(bucket);
  const env = {
    ...{ ...exportEnv(service, lakeUrl, jobsDir), ...server.envAt(server.origin) },
    ...{ LAKE_LAYOUT: layout, LOG_LEVEL: 'info', WORKER_CONCURRENCY: '2' },
  };
  const must = async (...args: string[]): Promise<RanCli> => {
    const ran = await runCli(args, env);
    expect(ran.code, `${args.join(' ')}\n${ran.stdout}\n${ran.stderr}`).toBe(0);
    return ran;
  };
  const statesOf = async () => {
    const { stdout } = await must('status', ...RANGE, '--json');
    return JSON.parse(stdout).days.map(({ state }: { state: string }) => state);
  };

  // Killed as soon as something is published, while other days are under way.
  const first = startCli(['run', ...RANGE, '--verbose'], env);
  await Promise.race([first.until('stderr', /published/), first.ended]);
  first.process.kill('SIGKILL');
  await first.ended;

  await must('run', ...RANGE);
  const again = JSON.parse((await must('run', ...RANGE, '--json')).stdout).days as { exported: boolean }[];
  expect(again.map(({ exported }) => exported)).toEqual(Array(VESSELS * 3 * 2).fill(false));

  const [series] = (await serviceNames(service, [`flat/${VESSEL}/Shaft Power`])).keys();
  const timestampMicros = Date.parse(`${DATE}T12:00:00Z`) * 1_000 + 1;
  service.overlay.addReadings(series!, [{ timestampMicros, valueText: '1.5' }]);
  const count = async () =>
    Number((await must('sql', '--csv', 'SELECT count(*) FROM readings')).stdout.split('\n')[1]);
  const before = await count();
  await must('reconcile', ...RANGE, '--run');
  expect(await count()).toBe(before + 1);

  await must('verify', ...RANGE, '--deep');
  await must('gc', '--yes');
  await must('verify', ...RANGE, '--deep');
  expect(await statesOf()).toEqual(Array(VESSELS * 3 * 2).fill('published'));
  const store = await openStore(lakeUrl, env);
  const keys = (await Array.fromAsync(store.list(''))).map(({ key }) => key);
  const uploads = await Array.fromAsync(store.listUploads(''));
  await store.close();
  expect(keys.filter((key) => /^_(checkpoints|probes)\//.test(key))).toEqual([]);
  expect(uploads).toEqual([]);
});
