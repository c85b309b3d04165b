import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig, pickJobs, showSettings } from '../../src/config/config.ts';
import { ConfigError } from '../../src/errors.ts';
import { newTempFolder } from '../helpers/temp.ts';

const JOB = 'dataset: measurements\nvessels: [IMO9321483]\nselect: ["flat/{vessel}/*"]\n';

function environment(jobsDir: string, more: Record<string, string | undefined> = {}) {
  return {
    QUERY_BASE_URL: 'https://api.example.com/tenant/',
    QUERY_AUTH_URL: 'https://auth.example.com',
    QUERY_CLIENT_ID: 'reader',
    QUERY_CLIENT_SECRET: 'very-secret',
    LAKE_URL: 'file:///data/lake',
    JOBS_DIR: jobsDir,
    ...more,
  };
}

function writeJobs(root: string, files: Record<string, string>): string {
  const folder = join(root, 'jobs');
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function faultsOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }
  throw new Error('no fault was reported');
}

test('a valid environment gives settings with defaults and origins', async () => {
  await using folder = await newTempFolder();
  const dir = folder.path;
  const config = loadConfig(environment(writeJobs(dir, { 'measurements.yaml': JOB })));
  expect(config.settings.QUERY_BASE_URL).toBe('https://api.example.com/tenant');
  expect(config.settings.QUERY_MAX_CONCURRENCY).toBe(4);
  expect(config.origins.QUERY_MAX_CONCURRENCY).toBe('default');
  expect(config.origins.LAKE_URL).toBe('environment');
  expect(config.jobs).toEqual([
    {
      name: 'measurements',
      dataset: 'measurements',
      vessels: ['IMO9321483'],
      select: ['flat/{vessel}/*'],
      transport: 'ndjson',
      verify: 'exact',
    },
  ]);
});

test('every fault of environment and job files is reported at once, with place, value and rule', async () => {
  await using folder = await newTempFolder();
  const dir = folder.path;
  const jobs = writeJobs(dir, {
    'a.yaml': 'dataset: measurments\nvessels: [9321483]\nselect: []\ncolour: red\n',
    'b.yaml':
      'dataset: statistics\nvessels: [IMO9321483]\nselect: ["flat/{vessel}/*"]\nwindow: 7m\ntransport: parquet\n',
    'Bad Name.yaml': JOB,
    'c.yaml': 'dataset: [unclosed\n',
  });
  const text = faultsOf(() =>
    loadConfig(
      environment(jobs, {
        QUERY_BASE_URL: 'ftp://api.example.com',
        QUERY_CLIENT_SECRET: undefined,
        QUERY_MAX_CONCURRENCY: '0',
        LAKE_URL: 'gs://bucket',
      }),
    ),
  );
  for (const expected of [
    "QUERY_BASE_URL (environment): got 'ftp://api.example.com', expected an http(s) URL",
    'QUERY_CLIENT_SECRET: not set',
    'QUERY_CLIENT_SECRET_FILE',
    "QUERY_MAX_CONCURRENCY (environment): got '0', expected a whole number of at least 1",
    "LAKE_URL (environment): got 'gs://bucket', expected file:///path or s3://bucket/prefix",
    'a.yaml: dataset:',
    'a.yaml: vessels',
    'a.yaml: select:',
    'colour',
    "b.yaml: window: got '7m'",
    'b.yaml: transport: the service sends Parquet for measurements only',
    "Bad Name.yaml: the name 'Bad Name' becomes a folder",
    'c.yaml:',
  ]) {
    expect(text).toContain(expected);
  }
});

test('plain http is for this machine only, unless it is allowed', async () => {
  await using folder = await newTempFolder();
  const dir = folder.path;
  const jobs = writeJobs(dir, { 'measurements.yaml': JOB });
  const remote = { QUERY_BASE_URL: 'http://api.example.com/t' };
  expect(faultsOf(() => loadConfig(environment(jobs, remote)))).toContain('plain http');
  expect(loadConfig(environment(jobs, { ...remote, QUERY_ALLOW_HTTP: '1' })).jobs).toHaveLength(1);
  for (const host of ['localhost:8080', '127.0.0.1:1', '[::1]:80']) {
    expect(loadConfig(environment(jobs, { QUERY_BASE_URL: `http://${host}/t` })).jobs).toHaveLength(1);
  }
});

test('the secret may come from a file, and is shown nowhere', async () => {
  await using folder = await newTempFolder();
  const dir = folder.path;
  const path = join(dir, 'secret');
  writeFileSync(path, 'from-a-file\n');
  const env = environment(writeJobs(dir, { 'measurements.yaml': JOB }), {
    QUERY_CLIENT_SECRET: undefined,
    QUERY_CLIENT_SECRET_FILE: path,
  });
  expect(loadConfig(env).settings.QUERY_CLIENT_SECRET).toBe('from-a-file');
  const shown = showSettings(env);
  expect(JSON.stringify(shown)).not.toContain('from-a-file');
  expect(shown.settings.find(({ name }) => name === 'QUERY_CLIENT_SECRET')).toMatchObject({
    value: '***',
    origin: `file ${path}`,
  });
  expect(faultsOf(() => loadConfig({ ...env, QUERY_CLIENT_SECRET: 'x' }))).toContain('both are set');
});

test('a Redis may be left out, and its password is shown nowhere', async () => {
  await using folder = await newTempFolder();
  const jobs = writeJobs(folder.path, { 'measurements.yaml': JOB });
  expect(loadConfig(environment(jobs)).settings).not.toHaveProperty('REDIS_URL');
  const env = environment(jobs, { REDIS_URL: 'redis://reader:pass@wo/rd@redis.example.com' });
  expect(faultsOf(() => loadConfig(env))).toContain("got 'redis://reader:***@redis.example.com'");
  const good = environment(jobs, { REDIS_URL: 'rediss://reader:password@redis.example.com:6380/2' });
  expect(loadConfig(good).settings).toMatchObject({
    REDIS_URL: 'rediss://reader:password@redis.example.com:6380/2',
    REDIS_PREFIX: 'vessel-export',
    QUERY_PACE_GROUP: 'all',
  });
  const shown = showSettings(good).settings.find(({ name }) => name === 'REDIS_URL');
  expect(shown?.value).toBe('rediss://reader:***@redis.example.com:6380/2');
});

test('statistics always ask for count', async () => {
  await using folder = await newTempFolder();
  const dir = folder.path;
  const job =
    'dataset: statistics\nvessels: [IMO9321483]\nselect: ["id/a"]\nwindow: 10m\naggregations: [mean]\n';
  const config = loadConfig(environment(writeJobs(dir, { 'statistics.yaml': job })));
  expect(config.jobs[0]).toMatchObject({ aggregations: ['mean', 'count'], windowMicros: 600_000_000 });
});

test('a job that does not exist is named with those that do', async () => {
  await using folder = await newTempFolder();
  const dir = folder.path;
  const config = loadConfig(environment(writeJobs(dir, { 'measurements.yaml': JOB })));
  expect(faultsOf(() => pickJobs(config, ['statistic']))).toContain("no job 'statistic'");
  expect(pickJobs(config, []).map(({ name }) => name)).toEqual(['measurements']);
});
