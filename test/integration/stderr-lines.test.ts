/** stderr of the processes that run until they are told to stop: JSON lines that can be joined, whatever happens. */

import { rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canStartOwnRedis, startOwnRedis } from '../helpers/redis.ts';
import type { RunningCli } from '../helpers/run.ts';
import {
  exportEnv,
  FEW_SERIES,
  newLake,
  runCli,
  startCli,
  startTestService,
  VESSEL,
  writeJobs,
} from '../helpers/run.ts';
import { newTempFolder } from '../helpers/temp.ts';

type Line = Readonly<Record<string, unknown>> & { readonly msg: string };

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

/** What libraries and Node itself may do in such a process; sent for by signals. */
const NOISE = `
process.on('SIGUSR2', () => {
  console.error('two\\nlines');
  console.warn('%s of a library', 'words');
  process.stderr.write('no end of line');
  process.stderr.write(', yet\\n');
  process.emitWarning('odd', { type: 'OddWarning', code: 'ODD' });
  new (process.getBuiltinModule('node:worker_threads').Worker)('console.error("from a thread")', { eval: true });
});
process.on('SIGWINCH', () => void Promise.reject(new Error('nobody caught this')));
`;

/** Every line that the process has written, each of which must be JSON with what every line has. */
function linesOf({ process, stderr }: Pick<RunningCli, 'process' | 'stderr'>): Line[] {
  expect(stderr.endsWith('\n')).toBe(true);
  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as Line);
  for (const line of lines) {
    expect(line).toMatchObject({
      level: expect.stringMatching(/^(debug|info|warn|error)$/),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      worker: `${hostname()}:${process.pid}`,
      traceId: TRACE_ID,
      msg: expect.any(String),
    });
  }
  return lines;
}

/** Redis, a service, a lake and a job, and the environment of processes in which somebody else writes too. */
async function openNoisyFleet() {
  const redis = await startOwnRedis(['--maxmemory-policy', 'noeviction']);
  onTestFinished(() => redis[Symbol.asyncDispose]());
  const service = await startTestService();
  onTestFinished(() => service.close());
  const lake = await newLake();
  onTestFinished(() => lake[Symbol.asyncDispose]());
  const folder = await newTempFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const jobsDir = await writeJobs({ measurements: FEW_SERIES });
  onTestFinished(() => rm(jobsDir, { recursive: true, force: true }));
  const noise = join(folder.path, 'noise.mjs');
  await writeFile(noise, NOISE);
  const env = {
    ...exportEnv(service, lake.url, jobsDir),
    REDIS_URL: redis.url,
    HTTP_PORT: '0',
    NODE_OPTIONS: `--import ${pathToFileURL(noise).href}`,
    TRACEPARENT: `00-${TRACE_ID}-b7ad6b7169203331-01`,
  };
  return { redis, service, env };
}

describe.skipIf(!canStartOwnRedis())('a fleet', () => {
  test('writes lines of JSON and nothing else, which vessel-day, epoch and request join', async () => {
    const { redis, service, env } = await openNoisyFleet();
    let refused = 0;
    service.faults = ({ family, range }) => {
      if (family !== 'measurements') return undefined;
      if (range!.fromMicros >= Date.parse('2026-01-06T00:00:00Z') * 1_000)
        return { kind: 'garbage', body: '{"id":"x"}\n', contentType: 'application/x-ndjson' };
      return refused++ === 0 ? { kind: 'status', status: 503 } : undefined;
    };
    const [worker, scheduler] = [startCli(['worker'], env), startCli(['schedule'], env)];
    onTestFinished(() => void [worker, scheduler].map(({ process }) => process.kill('SIGKILL')));
    await Promise.all([worker, scheduler].map((one) => one.until('stderr', /is ready/)));
    const range = ['--from', '2026-01-05', '--to', '2026-01-07'];
    await runCli(['backfill', 'measurements', ...range, '--detach'], env);
    await worker.until('stderr', /2026-01-05".*"msg":"published"/);
    await worker.until('stderr', /2026-01-06".*"msg":"(retrying|failed)"/);
    await redis.kill();
    await Promise.all([worker, scheduler].map((one) => one.until('stderr', /lost Redis/)));
    await redis.start();
    await Promise.all([worker, scheduler].map((one) => one.until('stderr', /Redis is back/)));
    worker.process.kill('SIGUSR2');
    await worker.until('stderr', /from a thread/);
    await worker.until('stderr', /OddWarning/);
    for (const { process } of [worker, scheduler]) process.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, stdout: '' });
    expect(await scheduler.ended).toMatchObject({ code: 0, stdout: '' });

    linesOf(scheduler);
    const said = linesOf(worker);
    const ofDay = (date: string) =>
      said.filter(({ vesselDay }) => vesselDay === `measurements/${VESSEL}/${date}`);
    const published = ofDay('2026-01-05');
    expect(published.at(-1)).toMatchObject({ msg: 'published', epoch: 1 });
    // The failed try, its repetition and the end of the vessel-day are joined.
    const again = published.find(({ msg }) => msg.endsWith('trying again'))!;
    expect(again).toMatchObject({ epoch: 1, status: 503, requestId: expect.any(String) });
    const ended = published.filter(({ msg }) => msg.endsWith('request ended'));
    expect(ended.find(({ status }) => status === 503)).toMatchObject({ requestId: again.requestId });
    expect(new Set(ended.map(({ requestId }) => requestId)).size).toBe(ended.length);
    expect(ended.length).toBeGreaterThanOrEqual(4);
    const failed = ofDay('2026-01-06').find(({ msg }) => msg === 'retrying' || msg === 'failed')!;
    expect(failed).toMatchObject({ epoch: 1, code: 'missing-field' });
    const [, named] = /\(request ([0-9a-f-]{36})\)/.exec(failed.reason as string)!;
    expect(ofDay('2026-01-06').filter(({ requestId }) => requestId === named).length).toBeGreaterThan(0);

    const foreign = said.filter(({ from }) => from === 'stderr').map(({ msg }) => msg);
    expect(foreign).toEqual(
      expect.arrayContaining(['two', 'lines', 'words of a library', 'no end of line, yet', 'from a thread']),
    );
    expect(said.find(({ from }) => from === 'node')).toMatchObject({
      level: 'warn',
      code: 'ODD',
      msg: 'odd',
    });
  });

  test('says as such a line what ends it: an error that nobody caught, a wrong setting, a wrong option', async () => {
    const { env: loud } = await openNoisyFleet();
    const env = { ...loud, LOG_LEVEL: 'silent' };
    const worker = startCli(['worker'], { ...env, LOG_LEVEL: 'info' });
    const [settings, option] = [
      startCli(['schedule'], { ...env, LAKE_URL: '' }),
      startCli(['worker', '--many'], env),
    ];
    await worker.until('stderr', /is ready/);
    worker.process.kill('SIGWINCH');
    expect(await worker.ended).toMatchObject({ code: 1, signal: null });
    expect(linesOf(worker).at(-1)).toMatchObject({
      level: 'error',
      code: 'internal-error',
      origin: 'unhandledRejection',
      stack: expect.stringContaining('nobody caught this'),
    });
    expect(await settings.ended).toMatchObject({ code: 2 });
    expect(linesOf(settings)).toMatchObject([
      { code: 'configuration', msg: expect.stringContaining('LAKE_URL') },
    ]);
    expect(await option.ended).toMatchObject({ code: 2 });
    expect(linesOf(option)[0]).toMatchObject({ code: 'usage', msg: "error: unknown option '--many'" });
  });
});
