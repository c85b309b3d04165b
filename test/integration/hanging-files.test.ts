/** Pipes in the place of files: nothing waits for their other end, and what hangs all the same ends by a second signal. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, unlink, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { claimKey, detailKey, noteKey, objectKey, receiptKey } from '../../src/lake/keys.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { canStartOwnRedis, startOwnRedis } from '../helpers/redis.ts';
import type { RunExportOptions } from '../helpers/run.ts';
import {
  callCli,
  DATE,
  exportEnv,
  FEW_SERIES,
  mustExport,
  newLake,
  runExport,
  serviceForTests,
  startCli,
  VESSEL,
  writeJobs,
} from '../helpers/run.ts';
import { newTempFolder } from '../helpers/temp.ts';

const DAY = { job: 'measurements', vessel: VESSEL, date: DATE };
const ONE_DAY = ['--from', DATE, '--to', '2026-01-06'];

const service = await serviceForTests();
let jobsDir: string;
beforeAll(async () => {
  jobsDir = await writeJobs({ measurements: FEW_SERIES });
});
afterAll(async () => {
  await rm(jobsDir, { recursive: true, force: true });
});

async function makePipe(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await unlink(path).catch(() => {});
  execFileSync('mkfifo', [path]);
}

test('a store answers for more pipes than there are threads, and for files beside them', async () => {
  await using lake = await newLake();
  const store = createLocalStore(lake.dir);
  const pipes = Array.from({ length: 12 }, (_, n) => `pipe-${n}`);
  for (const pipe of pipes) await makePipe(join(lake.dir, pipe));
  await store.put('file', Buffer.from('content'));
  const conflict = { code: 'key-conflict', message: expect.stringContaining('a pipe') };
  for (const key of pipes) {
    await expect(store.get(key)).rejects.toMatchObject(conflict);
    await expect(store.getRange(key, 0, 8)).rejects.toMatchObject(conflict);
    await expect(store.putIfAbsent(key, Buffer.from('x'))).rejects.toMatchObject(conflict);
    expect(await store.head(key)).toBeUndefined();
  }
  const upload = await store.begin('object', 'nonce-1');
  await makePipe(join(lake.dir, '.object.nonce-1.upload'));
  await expect(store.append(upload, 1, Buffer.from('x'))).rejects.toMatchObject(conflict);
  expect(await store.adopt(upload, [], 'nonce-2')).toBeUndefined();
  expect(Buffer.from((await store.get('file'))!.bytes).toString()).toBe('content');
});

test.for([
  ['receipt', receiptKey(DAY)],
  ['claim', claimKey(DAY, 7)],
  ['object', objectKey(DAY)],
  ['detail', detailKey(DAY)],
  ['note', noteKey(DAY)],
] as const)('a pipe in the place of a %s keeps nothing waiting', async ([kind, key]) => {
  await using lake = await newLake();
  const options: RunExportOptions = { service, lakeUrl: lake.url };
  await mustExport(options);
  await makePipe(join(lake.dir, key));
  const env = exportEnv(service, lake.url, jobsDir);
  const [status, verified] = await Promise.all([
    callCli(['status', ...ONE_DAY], env),
    callCli(['verify', ...ONE_DAY, '--deep'], env),
  ]);
  for (const { code } of [status, verified]) expect([0, 1]).toContain(code);
  const ran = await runExport({ ...options, args: { force: true } });
  expect([0, 1]).toContain(ran.code);
  const said = [status, verified, ran].map(({ stdout, stderr }) => stdout + stderr).join('\n');
  if (kind === 'receipt') expect(said).toContain('a pipe');
  if (kind === 'object') expect(verified.code).toBe(1);
});

const HANG = `
import { open } from 'node:fs/promises';
process.once('SIGUSR2', () => {
  for (let n = 0; n < 8; n++) void open(process.env.PIPE);
  console.error('hangs');
});
`;

test('a second signal ends a process all of whose threads hang in file system calls', async () => {
  await using lake = await newLake();
  await using folder = await newTempFolder();
  await makePipe(join(folder.path, 'hangs'));
  const hang = join(folder.path, 'hang.mjs');
  await writeFile(hang, HANG);
  const stalled = Promise.withResolvers<void>();
  service.faults = ({ family }) => {
    if (family !== 'measurements') return undefined;
    stalled.resolve();
    return { kind: 'stall', at: 'headers' };
  };
  const cli = startCli(['run', ...ONE_DAY], {
    ...exportEnv(service, lake.url, jobsDir),
    PIPE: join(folder.path, 'hangs'),
    NODE_OPTIONS: `--import ${pathToFileURL(hang).href}`,
  });
  onTestFinished(() => void cli.process.kill('SIGKILL'));
  await stalled.promise;
  cli.process.kill('SIGUSR2');
  await cli.until('stderr', /hangs/);
  cli.process.kill('SIGINT');
  await cli.until('stderr', /stopping; once more to stop at once/);
  cli.process.kill('SIGINT');
  const ended = await cli.ended;
  service.faults = undefined;
  // A shell calls the end by a signal 128 and its number.
  expect(ended.code ?? 128 + constants.signals[ended.signal!]).toBe(130);
});

test.skipIf(!canStartOwnRedis())('a second signal does not wait for a Redis that stands still', async () => {
  await using lake = await newLake();
  await using redis = await startOwnRedis();
  const env = { ...exportEnv(service, lake.url, jobsDir), REDIS_URL: redis.url, HTTP_PORT: '0' };
  const cli = startCli(['worker'], env);
  await cli.until('stderr', /is ready/);
  redis.freeze();
  cli.process.kill('SIGTERM');
  await cli.until('stderr', /stopping; once more/);
  cli.process.kill('SIGTERM');
  expect(await cli.ended).toMatchObject({ code: 143, signal: null });
  redis.thaw();
});

test.for([
  [
    'the secret',
    ['run', ...ONE_DAY],
    (pipe: string) => ({ QUERY_CLIENT_SECRET: '', QUERY_CLIENT_SECRET_FILE: pipe }),
  ],
  ['the clients of a service', ['service', '--port', '0', '--clients', 'PIPE'], () => ({})],
] as const)('one signal ends a process that waits for %s from a pipe', async ([, args, more]) => {
  await using lake = await newLake();
  await using folder = await newTempFolder();
  const pipe = join(folder.path, 'pipe');
  await makePipe(pipe);
  const env = { ...exportEnv(service, lake.url, jobsDir), ...more(pipe) };
  const cli = startCli(
    args.map((word) => (word === 'PIPE' ? pipe : word)),
    env,
  );
  // Opening its other end waits until the process has opened this one: then it reads, and nothing comes.
  const writer = spawn('sh', ['-c', 'exec 3>"$1"; echo open; exec sleep 600', 'sh', pipe]);
  onTestFinished(() => void writer.kill('SIGKILL'));
  await once(writer.stdout, 'data');
  cli.process.kill('SIGTERM');
  expect(await cli.ended).toMatchObject({ code: null, signal: 'SIGTERM' });
});
