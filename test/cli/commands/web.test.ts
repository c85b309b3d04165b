import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestLake } from '../../helpers/run.ts';
import {
  callCli,
  exportEnv,
  FEW_SERIES,
  mustExport,
  newLake,
  startCli,
  startTestService,
  writeJobs,
} from '../../helpers/run.ts';

let lake: TestLake;
let jobsDir: string;
/** What the page needs: nothing of service or Redis. */
let env: Record<string, string>;

beforeAll(async () => {
  lake = await newLake();
  const service = await startTestService();
  await mustExport({ service, lakeUrl: lake.url });
  jobsDir = await writeJobs({ measurements: FEW_SERIES });
  const { LAKE_URL, JOBS_DIR } = exportEnv(service, lake.url, jobsDir);
  env = { LAKE_URL: LAKE_URL!, JOBS_DIR: JOBS_DIR! };
  await service.close();
});
afterAll(async () => {
  await rm(jobsDir, { recursive: true, force: true });
  await lake[Symbol.asyncDispose]();
});

test('the page is served from a lake alone, and ends with the first signal', async () => {
  const cli = startCli(['web', '--port', '0'], env);
  await cli.until('stdout', /\n/);
  const url = cli.stdout.trim();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const shell = await fetch(url);
  expect([shell.status, shell.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(await (await fetch(`${url}/api/about`)).json()).toMatchObject({
    ...{ lakeUrl: env.LAKE_URL, layout: 'plain', hasFleet: false },
    jobs: [{ name: 'measurements', dataset: 'measurements', hasSchedule: false }],
  });
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/api/fleet`)).status).toBe(404);
  cli.process.kill('SIGINT');
  const { code, stdout } = await cli.ended;
  expect([code, stdout]).toEqual([0, `${url}\n`]);
});

test.for([
  [
    'no lake',
    async () => ({ LAKE_URL: pathToFileURL(join(lake.dir, 'nowhere')).href }),
    [],
    /there is no lake at LAKE_URL/,
  ],
  [
    'an empty folder',
    async () => {
      const path = `${lake.dir}-empty`;
      await mkdir(path, { recursive: true });
      return { LAKE_URL: pathToFileURL(path).href };
    },
    [],
    /there is no lake at LAKE_URL/,
  ],
  ['no folder of jobs', async () => ({ JOBS_DIR: '/nowhere' }), [], /JOBS_DIR: cannot read '\/nowhere'/],
  ['a host for all and no password', async () => ({}), ['--host', '0.0.0.0'], /Set WEB_READ_PASSWORD/],
  ['no host', async () => ({}), ['--host', 'a b'], /HTTP_HOST.*got 'a b', expected a host name/],
  ['a port that is none', async () => ({}), ['--port', '65536'], /HTTP_PORT.*got '65536', expected a port/],
  ['a short password', async () => ({ WEB_ACT_PASSWORD: 'short' }), [], /WEB_ACT_PASSWORD.*at least 12/],
] as const)('%s is told, with what to set', async ([, changed, args, said]) => {
  const given = { ...env, ...(await changed()) };
  const { code, stdout, stderr } = await callCli(['web', '--port', '0', ...args], given);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(said);
  expect(stderr).not.toContain("'short'");
  await rm(`${lake.dir}-empty`, { recursive: true, force: true });
});

test('a port that is taken is told, whoever has it', async () => {
  await using other = createServer((_request, answer) => answer.end('{"service":"vessel-export"}'));
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const { port } = other.address() as AddressInfo;
  const { code, stdout, stderr } = await callCli(['web', '--port', String(port)], env);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/cannot listen on 127\.0\.0\.1:\d+: .*in use.*--port/);
});
