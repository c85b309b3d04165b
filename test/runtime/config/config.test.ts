import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { ConfigError } from '../../../src/core/errors.ts';
import { readNetworks } from '../../../src/core/model/web-address.ts';
import { settingsHash } from '../../../src/core/plan/settings-hash.ts';
import { loadConfig, pickJobs, showSettings } from '../../../src/runtime/config/config.ts';
import { parseJob } from '../../../src/runtime/config/jobs.ts';
import { newTempFolder } from '../../helpers/temp.ts';

const JOB = 'dataset: measurements\nvessels: [IMO9321483]\nselect: ["flat/{vessel}/*"]\n';

/** Sound settings, and the examples of jobs. */
const EXAMPLES = resolve('jobs');
function environment(more: Record<string, string | undefined> = {}, jobsDir = EXAMPLES) {
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

test('a job of JOBS_EXCLUDED is not there, whatever its file says, and its name says why', async () => {
  await using folder = await newTempFolder();
  const files = { 'measurements.yaml': JOB, 'mine.yaml': JOB, 'broken.yaml': ':' };
  const env = environment({ JOBS_EXCLUDED: 'measurements, broken' }, writeJobs(folder.path, files));
  const config = loadConfig(env);
  expect(config.jobs.map(({ name }) => name)).toEqual(['mine']);
  expect(faultsOf(() => pickJobs(config, ['measurements']))).toMatch(
    /no job 'measurements' in .*jobs without those of JOBS_EXCLUDED \(measurements, broken\); there are: mine/,
  );
});

test('a valid environment gives settings with defaults and origins', async () => {
  await using folder = await newTempFolder();
  const dir = folder.path;
  const config = loadConfig(environment({}, writeJobs(dir, { 'measurements.yaml': JOB })));
  expect(config.settings.QUERY_BASE_URL).toBe('https://api.example.com/tenant');
  expect(config.settings.QUERY_MAX_CONCURRENCY).toBe(4);
  expect(config.origins.QUERY_MAX_CONCURRENCY).toBe('default');
  expect(config.origins.LAKE_URL).toBe('environment');
  expect(config.jobs).toEqual([
    {
      name: 'measurements',
      path: join(dir, 'jobs', 'measurements.yaml'),
      dataset: 'measurements',
      vessels: ['IMO9321483'],
      select: ['flat/{vessel}/*'],
      transport: 'ndjson',
      verify: 'exact',
    },
  ]);
});

test('an expression that is optional is named so, and changes no settings hash', async () => {
  const jobOf = (second: string) => {
    const text = JOB.replace('["flat/{vessel}/*"]', `["flat/{vessel}/*", ${second}]`);
    return parseJob('measurements.yaml', 'measurements', text);
  };
  const optional = jobOf('{ expression: "jsmea/{vessel}/*", optional: true }').job!;
  expect(optional.select).toEqual(['flat/{vessel}/*', 'jsmea/{vessel}/*']);
  expect(optional.optional).toEqual(['jsmea/{vessel}/*']);
  const plain = jobOf('"jsmea/{vessel}/*"').job!;
  expect(jobOf('{ expression: "jsmea/{vessel}/*" }').job).toEqual(plain);
  expect(plain).not.toHaveProperty('optional');
  expect(settingsHash(optional, '2026-09-10')).toBe(settingsHash(plain, '2026-09-10'));
  expect(settingsHash(plain, '2026-09-10')).toBe('9a9e689dcf2aecc7');
  expect(jobOf('{ expresion: "jsmea/{vessel}/*" }').faults.join()).toContain('select.1');
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
      environment(
        {
          QUERY_BASE_URL: 'ftp://api.example.com',
          QUERY_CLIENT_SECRET: undefined,
          QUERY_MAX_CONCURRENCY: '0',
          LAKE_URL: 'gs://bucket',
        },
        jobs,
      ),
    ),
  );
  for (const expected of [
    "QUERY_BASE_URL (environment): got 'ftp://api.example.com', expected an http(s) URL",
    'QUERY_CLIENT_SECRET: not set',
    'QUERY_CLIENT_SECRET_FILE',
    "QUERY_MAX_CONCURRENCY (environment): got '0', expected a whole number of at least 1",
    "LAKE_URL (environment): got 'gs://bucket', expected file:///path, s3://bucket/prefix",
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

test('the secret may come from a file, and is shown nowhere', async () => {
  await using folder = await newTempFolder();
  const dir = folder.path;
  const path = join(dir, 'secret');
  writeFileSync(path, 'from-a-file\n');
  const env = environment({
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
  expect(loadConfig(environment()).settings).not.toHaveProperty('REDIS_URL');
  const env = environment({ REDIS_URL: 'redis://reader:pass@wo/rd@redis.example.com' });
  expect(faultsOf(() => loadConfig(env))).toContain("got 'redis://reader:***@redis.example.com'");
  const percent = faultsOf(() => loadConfig(environment({ REDIS_URL: 'redis://:hush%zz@redis' })));
  expect(percent).toMatch(/got 'redis:\/\/:\*\*\*@redis', expected .*; a '%' in a password is written %25/);
  const good = environment({ REDIS_URL: 'rediss://reader:password@redis.example.com:6380/2' });
  expect(loadConfig(good).settings).toMatchObject({
    REDIS_URL: 'rediss://reader:password@redis.example.com:6380/2',
    REDIS_PREFIX: 'vessel-export',
    QUERY_PACE_GROUP: 'all',
  });
  const shown = showSettings(good).settings.find(({ name }) => name === 'REDIS_URL');
  expect(shown?.value).toBe('rediss://reader:***@redis.example.com:6380/2');
});

const PROVIDER = {
  ...{
    WEB_OIDC_ISSUER: 'https://id.example',
    WEB_OIDC_CLIENT_ID: 'page',
    PUBLIC_URL: 'https://page.example',
  },
  WEB_OIDC_CLIENT_SECRET: 'a secret of the page',
};

test('what a file cannot give as a secret is said with its name, and nothing of what is in it', async () => {
  await using folder = await newTempFolder();
  const file = (name: string, text: string | Buffer) => {
    writeFileSync(join(folder.path, name), text);
    return join(folder.path, name);
  };
  const faults = faultsOf(() =>
    loadConfig({
      ...environment({ QUERY_CLIENT_SECRET: undefined }),
      QUERY_CLIENT_SECRET_FILE: file('empty', '\n'),
      REDIS_URL: 'redis://:one@redis',
      REDIS_PASSWORD_FILE: file('password', 'the-other\n'),
      S3_SSE: 'AES256',
      S3_SSE_KMS_KEY_ID: 'a-key',
      WEB_ACT_PASSWORD_FILE: file('huge', 'hush'.repeat(20_000)),
    }),
  );
  expect(faults).toContain(
    `QUERY_CLIENT_SECRET (file ${join(folder.path, 'empty')}): it is empty, expected not empty`,
  );
  expect(faults).toContain('S3_SSE_KMS_KEY_ID: names a key, and S3_SSE is AES256, expected S3_SSE=aws:kms');
  expect(faults).toContain('REDIS_PASSWORD: set, and REDIS_URL holds a password too, expected one of them');
  expect(faults).toContain(
    `WEB_ACT_PASSWORD_FILE: '${join(folder.path, 'huge')}' has 80000 bytes, expected a secret of at most 65536`,
  );
  expect(faults).not.toMatch(/the-other|hush/);
  const missing = faultsOf(() =>
    loadConfig(environment({ REDIS_PASSWORD_FILE: '/nowhere', WEB_ACT_PASSWORD_FILE: folder.path })),
  );
  expect(missing).toContain("REDIS_PASSWORD_FILE: cannot read '/nowhere': there is no such file");
  expect(missing).toContain(`cannot read '${folder.path}': it is a folder, expected a file`);
});

test.for([
  [
    { WEB_READ_PASSWORD: 'the same password', WEB_ACT_PASSWORD: 'the same password' },
    /^WEB_ACT_PASSWORD: equal to/,
  ],
  [{ WEB_USER_HEADER: 'x-user' }, /^WEB_USER_HEADER: set without TRUSTED_PROXY/],
  [{ WEB_GROUPS_HEADER: 'x-groups' }, /^WEB_GROUPS_HEADER: set without WEB_USER_HEADER/],
  [
    { WEB_OIDC_ISSUER: 'https://id.example' },
    /^WEB_OIDC_ISSUER: set without WEB_OIDC_CLIENT_ID, WEB_OIDC_CLIENT_SECRET, PUBLIC_URL/,
  ],
  [{ WEB_OIDC_CLIENT_ID: 'page' }, /^WEB_OIDC_CLIENT_ID: set without WEB_OIDC_ISSUER/],
  [{ ...PROVIDER, WEB_OIDC_ISSUER: 'http://id.example' }, /^WEB_OIDC_ISSUER: got plain http to 'id.example'/],
  [{ ...PROVIDER, PUBLIC_URL: 'http://page.example' }, /^PUBLIC_URL: got plain http to 'page.example'/],
  [{ PUBLIC_URL: 'https://page.example/path' }, /^PUBLIC_URL .*without a path/],
  [{ WEB_ACT_GROUPS: 'office' }, /^WEB_ACT_GROUPS: set, but nothing names users/],
  [{ WEB_READ_GROUPS: ' , ' }, /^WEB_READ_GROUPS .*names separated by commas/],
  [{ TRUSTED_PROXY: '0.0.0.0/0' }, /^TRUSTED_PROXY .*addresses and networks/],
  [{ TRUSTED_PROXY: '0.0.0.0/1,128.0.0.0/1' }, /^TRUSTED_PROXY .*at most \/8/],
  [{ TRUSTED_PROXY: '::/1' }, /^TRUSTED_PROXY .*at most \/8/],
  [{ TRUSTED_PROXY: '::/0' }, /^TRUSTED_PROXY /],
  [{ TRUSTED_PROXY: '10.0.0.1, proxy.example' }, /^TRUSTED_PROXY /],
  [{ TRUSTED_PROXY: '10.0.0.0/33' }, /^TRUSTED_PROXY /],
  [{ WEB_OIDC_SCOPE: 'profile' }, /^WEB_OIDC_SCOPE .*openid among them/],
  [{ WEB_USER_HEADER: 'x user', TRUSTED_PROXY: '10.0.0.1' }, /^WEB_USER_HEADER .*name of a header/],
] as const)('who may look and act is refused where it is wrong or not whole: %o', async ([env, fault]) => {
  const faults = faultsOf(() => loadConfig(environment(env)));
  const [, ...lines] = faults.split('\n').map((line) => line.replace(/^ *- /, ''));
  expect(lines[0]).toMatch(fault);
  expect(faults).not.toContain('the same password');
});

test('people are named by a proxy and a provider', async () => {
  const { settings } = loadConfig(
    environment({
      ...{ ...PROVIDER, TRUSTED_PROXY: '10.0.0.0/8, fd00::1', WEB_USER_HEADER: 'X-Forwarded-User' },
      ...{ WEB_GROUPS_HEADER: 'X-Forwarded-Groups', WEB_ACT_GROUPS: 'office, on call ' },
    }),
  );
  expect(settings).toMatchObject({
    ...{ WEB_USER_HEADER: 'x-forwarded-user', WEB_ACT_GROUPS: ['office', 'on call'] },
    ...{ PUBLIC_URL: 'https://page.example', WEB_OIDC_NAME_CLAIM: 'preferred_username' },
  });
  const isProxy = readNetworks(settings.TRUSTED_PROXY!)!;
  const believed = [
    '10.1.2.3',
    '::ffff:10.1.2.3',
    'fd00::1',
    '11.0.0.1',
    'fd00::2',
    '',
    undefined,
    '10.1.2.3 ',
  ];
  expect(believed.map(isProxy)).toEqual([true, true, true, false, false, false, false, false]);
});

test('an empty file is a setting that is not set, where it may be left out', async () => {
  await using folder = await newTempFolder();
  const empty = join(folder.path, 'empty');
  writeFileSync(empty, '\n');
  const env = environment({
    REDIS_PASSWORD_FILE: empty,
    WEB_ACT_PASSWORD_FILE: empty,
  });
  const { settings } = loadConfig(env);
  expect(settings).not.toHaveProperty('REDIS_PASSWORD');
  expect(settings).not.toHaveProperty('WEB_ACT_PASSWORD');
});

test.for([
  ['settle: 24h', 'lookback: 1d', "settle: got '24h', expected less than reconcile.lookback (1d)"],
  ['settle: 15d', 'timezone: UTC', "settle: got '15d', expected less than reconcile.lookback (14d)"],
  ['settle: 23h', 'lookback: 1d', undefined],
] as const)('a look-back must be longer than a day takes to settle: %s, %s', ([settle, lookback, fault]) => {
  const text = `schedule: { cron: "15 6 * * *", ${settle} }\nreconcile: { cron: "45 7 * * *", ${lookback} }\n`;
  const { faults } = parseJob('a.yaml', 'a', JOB + text);
  expect(faults).toEqual(fault === undefined ? [] : [expect.stringContaining(fault)]);
});

test('since is a date, and metadata have no past', () => {
  expect(parseJob('a.yaml', 'a', `${JOB}since: 2024-01-01\n`).job).toMatchObject({ since: '2024-01-01' });
  expect(parseJob('a.yaml', 'a', `${JOB}since: 2024-02-30\n`).faults).toEqual([
    expect.stringContaining('since: got "2024-02-30", expected a UTC date YYYY-MM-DD'),
  ]);
  const metadata = JOB.replace('measurements', 'metadata');
  expect(parseJob('a.yaml', 'a', `${metadata}since: 2024-01-01\n`).faults).toEqual([
    expect.stringContaining('no history of metadata'),
  ]);
});

test('statistics always ask for count', async () => {
  await using folder = await newTempFolder();
  const dir = folder.path;
  const job =
    'dataset: statistics\nvessels: [IMO9321483]\nselect: ["id/a"]\nwindow: 10m\naggregations: [mean]\n';
  const config = loadConfig(environment({}, writeJobs(dir, { 'statistics.yaml': job })));
  expect(config.jobs[0]).toMatchObject({ aggregations: ['mean', 'count'], windowMicros: 600_000_000 });
});

test.each([
  ['s3://', 'the name of the bucket is missing'],
  ['file://lake', `for that folder write ${pathToFileURL(resolve('lake')).href}`],
  ['file:lake', `for that folder write ${pathToFileURL(resolve('lake')).href}`],
  ['./lake', `for that folder write ${pathToFileURL(resolve('lake')).href}`],
  ['s3://bucket//lake', 'its prefix cannot be used'],
])('LAKE_URL=%s is a fault that says what to write', async (LAKE_URL, advice) => {
  const { settings, faults } = showSettings(environment({ LAKE_URL }));
  expect(faults).toEqual([
    expect.stringContaining(`LAKE_URL (environment): got '${LAKE_URL}', expected file:///`),
  ]);
  expect(faults[0]).toContain(advice);
  expect(settings.find(({ name }) => name === 'LAKE_URL')).toMatchObject({
    value: LAKE_URL,
    valid: false,
    origin: 'environment',
  });
});

test('what is set but not valid is shown as such, secrets masked', async () => {
  const { settings } = showSettings(
    environment({
      QUERY_BASE_URL: 'http://api.example.com',
      QUERY_AUTH_URL: undefined,
      QUERY_CLIENT_SECRET_FILE: '/nowhere',
      WEB_ACT_PASSWORD: 'short',
    }),
  );
  const shownAs = (name: string) => settings.find((setting) => setting.name === name);
  expect(shownAs('QUERY_BASE_URL')).toMatchObject({ value: 'http://api.example.com', valid: false });
  expect(shownAs('QUERY_AUTH_URL')).toMatchObject({ value: null, valid: true, origin: 'not set' });
  expect(shownAs('QUERY_CLIENT_SECRET')).toMatchObject({ value: null, valid: false, origin: 'environment' });
  expect(shownAs('WEB_ACT_PASSWORD')).toMatchObject({ value: '***', valid: false });
  expect(JSON.stringify(settings)).not.toMatch(/very-secret|short/);
});

test('a misspelt variable is named where the right one is missing, and in warnings', async () => {
  const env = environment({
    LAKE_URL: undefined,
    LAKE_ULR: 'file:///lake',
    WORKER_CONCURENCY: '9',
    REDIS_UR_FILE: '/x',
    QUERY_THING: 'other',
  });
  expect(faultsOf(() => loadConfig(env))).toMatch(
    /- LAKE_URL: not set.*; LAKE_ULR is set: did you mean this\?/,
  );
  expect(showSettings(env).warnings).toEqual([
    'LAKE_ULR is set and no setting; did you mean LAKE_URL?',
    'WORKER_CONCURENCY is set and no setting; did you mean WORKER_CONCURRENCY?',
    'REDIS_UR_FILE is set and no setting; did you mean REDIS_URL_FILE?',
  ]);
});

test('what is no setting any more is said with what took its place, never with its value', async () => {
  const env = environment({ QUEUE_BOARD_PASSWORD: 'hush hush hush', QUEUE_BOARD_PASSWORD_FILE: '/x' });
  loadConfig(env);
  const { warnings } = showSettings(env);
  expect(warnings).toEqual([
    expect.stringMatching(/^QUEUE_BOARD_PASSWORD is set and no setting any more: .*WEB_ACT_PASSWORD/),
    expect.stringMatching(/^QUEUE_BOARD_PASSWORD_FILE is set and no setting any more/),
  ]);
  expect(warnings.join()).not.toContain('hush');
});

test('unknown keys of a job, and unknown jobs, are answered with the nearest there is', async () => {
  await using folder = await newTempFolder();
  const jobs = writeJobs(folder.path, {
    'measurements.yaml': `${JOB}transprot: json\nschedule: { corn: "15 6 * * *", cron: "15 6 * * *" }\n`,
  });
  const text = faultsOf(() => loadConfig(environment({}, jobs)));
  expect(text).toContain(`${join(jobs, 'measurements.yaml')}: (the whole file): unknown key 'transprot'`);
  expect(text).toContain("did you mean 'transport'?");
  expect(text).toMatch(
    /schedule: unknown key 'corn', expected one of cron, timezone, settle; did you mean 'cron'\?/,
  );
  writeJobs(folder.path, { 'measurements.yaml': JOB });
  const config = loadConfig(environment({}, jobs));
  expect(faultsOf(() => pickJobs(config, ['mesurements']))).toContain("did you mean 'measurements'?");
  expect(faultsOf(() => pickJobs(config, ['xyz']))).not.toContain('did you mean');
});

test.each(['hello', '15 6 * * * * *', '99 6 * * *', '0 6 31 2 *'])('the cron %s is one fault', (cron) => {
  const { faults } = parseJob('a.yaml', 'a', `${JOB}schedule: { cron: "${cron}" }\n`);
  expect(faults).toEqual([expect.stringContaining(`a.yaml: schedule.cron: got "${cron}"`)]);
});
