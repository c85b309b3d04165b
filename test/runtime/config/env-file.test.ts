/** `.env`: what it adds, what it never overrides, and what it says of itself. */
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../../src/core/errors.ts';
import { withEnvFile } from '../../../src/runtime/config/env-file.ts';
import { runCli, startProgram, writeJobs } from '../../helpers/run.ts';
import { newTempFolder, type TempFolder } from '../../helpers/temp.ts';

const BIN = resolve(import.meta.dirname, '../../../src/bin.js');
let folder: TempFolder;
beforeEach(async () => {
  folder = await newTempFolder();
});
afterEach(() => folder.remove());

async function write(text: string, mode = 0o600): Promise<string> {
  const path = join(folder.path, '.env');
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}

test('adds what is not set, and overrides nothing, be it empty or in its other form', async () => {
  const path = await write(
    `\uFEFF# a comment\nexport LAKE_URL='s3://a/b # no comment'\nLOG_LEVEL=debug # a comment\nJOBS_DIR=there\nREDIS_URL=redis://a\nQUERY_CLIENT_SECRET=hush\nREDIS_PASSWORD=\nNOTE="two\nlines"\n`,
  );
  const set = { JOBS_DIR: 'here', REDIS_URL: '', QUERY_CLIENT_SECRET_FILE: '/run/secret' };
  const { env, envFile } = withEnvFile(set, path);
  expect(env).toEqual({ ...set, LAKE_URL: 's3://a/b # no comment', LOG_LEVEL: 'debug', NOTE: 'two\nlines' });
  expect([...envFile!.names]).toEqual(['LAKE_URL', 'LOG_LEVEL', 'NOTE']);
  expect(envFile!.warnings).toEqual([]);
});

test.for([
  ['QUERY_CLIENT_SECRET=hush', 0o644, 'holds QUERY_CLIENT_SECRET, and others may read it (mode 644)'],
  ['REDIS_URL=redis://:hush@redis', 0o640, 'holds REDIS_URL'],
  ['AWS_SECRET_ACCESS_KEY=hush', 0o604, 'holds AWS_SECRET_ACCESS_KEY'],
  ['NODE_EXTRA_CA_CERTS=ca.pem', 0o600, 'has no effect: Node.js reads it when it starts'],
] as const)('%s, mode %o: a warning', async ([text, mode, warning]) => {
  const { envFile } = withEnvFile({}, await write(text, mode));
  expect(envFile!.warnings).toEqual([expect.stringContaining(warning)]);
  expect(envFile!.warnings.join()).not.toContain('hush');
});

test('others may read what holds no secret', async () => {
  expect(withEnvFile({}, await write('LAKE_URL=file:///lake\n', 0o644)).envFile?.warnings).toEqual([]);
});

test.for([
  ['QUERY_CLIENT_SECRET hush', "line 1 has no '='"],
  ['A=1\n\nhush', "line 3 has no '='"],
  ['QUERY BASE URL=x', "'QUERY BASE URL' is no name of a variable"],
  ['A=\xff', 'not valid UTF-8', 'latin1'],
  ['A='.padEnd(300_000, 'x'), 'longer than'],
] as const)('%s is refused, without being shown', async ([text, expected, encoding = 'utf8']) => {
  const path = join(folder.path, 'settings');
  await writeFile(path, text, encoding as BufferEncoding);
  const read = () => withEnvFile({}, path);
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(expected);
  expect(read).not.toThrow('hush');
});

test('a file that is named must be there; .env need not, and may be a folder', async () => {
  expect(() => withEnvFile({}, join(folder.path, 'none'))).toThrow(/no such file/);
  expect(() => withEnvFile({}, folder.path)).toThrow(/it is a folder/);
  expect(withEnvFile({ A: '1' }, false)).toEqual({ env: { A: '1' } });
  const config = () => startProgram([process.execPath, BIN, 'config', '--json'], {}, folder.path).ended;
  expect((await config()).stdout).toContain('"origin": "not set"');
  await mkdir(join(folder.path, '.env'));
  expect((await config()).stdout).toContain('"origin": "not set"');
});

test('commands read it from the working folder or from where --env-file says, and config says so', async () => {
  const path = await write(
    'QUERY_BASE_URL=https://api.example.com/fleet\nQUERY_CLIENT_SECRET=hush-hush\nLAKE_URL=nowhere:lake\n',
    0o644,
  );
  const jobs = await writeJobs({ measurements: { dataset: 'measurements', select: ['flat/{vessel}/*'] } });
  onTestFinished(() => rm(jobs, { recursive: true }));
  const env = { JOBS_DIR: jobs, QUERY_CLIENT_ID: 'me' };
  const here = await startProgram([process.execPath, BIN, 'config'], env, folder.path).ended;
  expect(here.code).toBe(2);
  expect(here.stdout).toMatch(/QUERY_BASE_URL +https:\/\/api\.example\.com\/fleet +file \.env /);
  expect(here.stdout).toMatch(/QUERY_CLIENT_ID +me +environment /);
  expect(here.stdout).toMatch(/QUERY_CLIENT_SECRET +\*\*\* +file \.env /);
  expect(here.stderr).toContain("fault: LAKE_URL (file .env): got 'nowhere:lake'");
  expect(here.stderr.match(/others may read it/g)).toHaveLength(1);
  expect(here.stdout + here.stderr).not.toContain('hush-hush');
  const named = await runCli(['status', '--env-file', path], env);
  expect(named.code).toBe(2);
  expect(named.stderr).toContain(`LAKE_URL (file ${path}): got 'nowhere:lake'`);
  expect(named.stderr).toContain('others may read it');
  const before = await runCli(['--env-file', path, 'worker'], { ...env, QUERY_AUTH_URL: 'x' });
  // A process that runs on writes lines of JSON alone.
  const lines = before.stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ level }) => level)).toEqual(['warn', 'error']);
});
