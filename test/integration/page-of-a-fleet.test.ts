/** The page as `schedule` and `worker` serve it. */
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisForTests } from '../helpers/redis.ts';
import type { RunningCli, TestLake, TestService } from '../helpers/run.ts';
import {
  exportEnv,
  FEW_SERIES,
  mustExport,
  newLake,
  startCli,
  startTestService,
  writeJobs,
} from '../helpers/run.ts';
import { ACT_HEADERS, signIn } from '../helpers/web.ts';

const READ = 'a password to look';
const ACT = 'a password to act!';
const redis = await redisForTests();

describe.skipIf(redis === undefined)('a fleet', () => {
  let service: TestService;
  let lake: TestLake;
  let env: Record<string, string>;

  beforeAll(async () => {
    [service, lake] = await Promise.all([startTestService(), newLake()]);
    await mustExport({ service, lakeUrl: lake.url });
    const jobsDir = await writeJobs({ measurements: FEW_SERIES });
    env = {
      ...exportEnv(service, lake.url, jobsDir),
      ...{ REDIS_URL: redis!.url, REDIS_PREFIX: redis!.newPrefix(), HTTP_PORT: '0', LOG_LEVEL: 'info' },
    };
  });
  afterAll(async () => {
    await service.close();
    await rm(env.JOBS_DIR!, { recursive: true, force: true });
    await lake[Symbol.asyncDispose]();
    await redis!.stop();
  });

  /** A process that listens, and where. */
  async function start(name: 'schedule' | 'worker', more: Record<string, string>) {
    const cli: RunningCli = startCli([name], { ...env, ...more });
    await cli.until('stderr', /"http":"[^"]+"/);
    const [, url] = /"http":"([^"]+)"/.exec(cli.stderr)!;
    return { cli, url: url!.replace('0.0.0.0', '127.0.0.1') };
  }

  test('a scheduler shows lake and fleet, counts wrong passwords, and says what became of the board', async () => {
    const { cli, url } = await start('schedule', {
      ...{ WEB_READ_PASSWORD: READ, WEB_ACT_PASSWORD: ACT, QUEUE_BOARD_PASSWORD: 'hush hush hush' },
    });
    const statusOf = async (path: string, headers = {}) => (await fetch(url + path, { headers })).status;
    expect(await statusOf('/')).toBe(200);
    expect(await statusOf('/api/fleet')).toBe(401);
    expect(await statusOf('/queue/')).toBe(404);
    const body = JSON.stringify({ name: 'Eve', password: 'a wrong password' });
    const wrong = await fetch(`${url}/api/session`, { method: 'POST', headers: ACT_HEADERS, body });
    expect(wrong.status).toBe(401);
    const cookie = await signIn(url, ACT);
    const get = async (path: string) => await (await fetch(url + path, { headers: { cookie } })).json();
    expect(await get('/api/about')).toMatchObject({ hasFleet: true, lakeUrl: lake.url });
    expect(await get('/api/fleet')).toMatchObject({ hold: null, queue: expect.any(Array) });
    expect(await get('/api/jobs/measurements/coverage')).toMatchObject({ job: 'measurements' });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('vessel_export_web_login_failures_total{outcome="wrong"} 1');
    cli.process.kill('SIGTERM');
    const { code, stderr } = await cli.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/QUEUE_BOARD_PASSWORD is set and no setting any more/);
    for (const secret of ['hush hush', READ, ACT, 'a wrong password', cookie.split('=')[1]!])
      expect(stderr).not.toContain(secret);
    for (const line of stderr.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });

  test('a worker that others can reach serves no page without a password, and health all the same', async () => {
    const { cli, url } = await start('worker', { HTTP_HOST: '0.0.0.0', WEB_ACT_PASSWORD: ACT });
    const page = await fetch(url);
    expect(page.status).toBe(403);
    expect(await page.text()).toContain('WEB_READ_PASSWORD');
    for (const path of ['/health', '/ready', '/metrics']) expect((await fetch(url + path)).status).toBe(200);
    cli.process.kill('SIGTERM');
    expect((await cli.ended).code).toBe(0);
  });
});
