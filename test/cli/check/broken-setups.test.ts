/** `check` against broken set-ups, each made of real parts: it names what is broken, and nothing else. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PutBucketPolicyCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { checkCommand } from '../../../src/cli/commands/check.ts';
import { type Clock, systemClock } from '../../../src/core/model/index.ts';
import { commandRun } from '../../helpers/command-run.ts';
import type { FaultPort } from '../../helpers/faulty-service/faults.ts';
import { startProvider } from '../../helpers/openid-provider.ts';
import { refusingPort } from '../../helpers/ports.ts';
import { canStartOwnRedis, startOwnRedis } from '../../helpers/redis.ts';
import type { JobFile, TestService } from '../../helpers/run.ts';
import { exportEnv, runCli, startTestService, VESSEL, writeJobs } from '../../helpers/run.ts';
import { s3ForTests, type TestBucket } from '../../helpers/s3.ts';
import { awsEnv, plainClient } from '../../helpers/s3-client.ts';
import { mountSmallDisk } from '../../helpers/small-disk.ts';
import { newTempFolder, type TempFolder } from '../../helpers/temp.ts';
import { EXPIRED, SELF_SIGNED } from '../../source/fetch/self-signed.ts';
import { startFaultProxy } from '../../store/fault-proxy.ts';
import { SCHEMAS_DIR } from '../commands/schemas.ts';

const s3 = await s3ForTests();
const hasRedis = canStartOwnRedis();
const smallDisk = await mountSmallDisk();

type Env = Readonly<Record<string, string>>;
interface Broken {
  readonly name: string;
  readonly env?: Env;
  readonly jobs?: Readonly<Record<string, JobFile>>;
  readonly clock?: Clock;
  readonly faults?: FaultPort;
  /** What is not as it should be: `subject/check`, its code, and words of its message. */
  readonly found: readonly [place: string, code: string, words: RegExp];
  readonly state?: 'warning';
}

const GOOD: JobFile = { dataset: 'measurements', select: ['flat/{vessel}/Shaft Power'] };
/** Time flies, so that what does not answer has had its patience soon; and what answers on a busy machine has some left. */
const HASTE = 4;
const hasty: Clock = {
  nowMs: systemClock.nowMs,
  monotonicMs: () => HASTE * systemClock.monotonicMs(),
  sleep: (ms, signal) => systemClock.sleep(ms / HASTE, signal),
};
const at = (date: string): Clock => ({ ...systemClock, nowMs: () => Date.parse(`${date}T12:00:00Z`) });

let service: TestService;
let oldService: TestService;
let folder: TempFolder;
let bucket: TestBucket | undefined;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  service = await startTestService();
  oldService = await startTestService({ clock: at('2027-04-01') });
  folder = await newTempFolder();
  bucket = await s3?.newBucket();
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
  await service.close();
  await oldService.close();
  await folder.remove();
  await bucket?.drop();
  await smallDisk?.remove();
});

/** Run it, hold what it prints against its schema, and say what is not ok. */
async function check({ env = {}, jobs = { first: GOOD }, clock, faults }: Omit<Broken, 'name' | 'found'>) {
  service.faults = faults;
  const place = { service, lakeUrl: pathToFileURL(join(folder.path, 'lake')).href, jobs, env };
  const ran = await commandRun(place, (context) =>
    checkCommand(context, [], { json: true }, clock === undefined ? {} : { clock }),
  );
  service.faults = undefined;
  for (const secret of [service.clientSecret, 'hush-hush'])
    expect(ran.stdout + ran.stderr).not.toContain(secret);
  const schema = z.fromJSONSchema(JSON.parse(readFileSync(join(SCHEMAS_DIR, 'check.schema.json'), 'utf8')));
  const printed = JSON.parse(ran.stdout) as {
    totals: Record<string, number>;
    checks: { subject: string; check: string; state: string; code?: string; message: string }[];
  };
  schema.parse(printed);
  const not = (state: string) => printed.checks.filter((one) => one.state === state);
  return { code: ran.code, checks: printed.checks, failed: not('failed'), warnings: not('warning') };
}

async function expectNamed({ found, state, name, ...setup }: Broken): Promise<void> {
  const [place, code, words] = found;
  const { failed, warnings, ...ran } = await check(setup);
  const [of, others] = state === 'warning' ? [warnings, failed] : [failed, []];
  expect(
    of.map((one) => ({ place: `${one.subject}/${one.check}`, code: one.code })),
    name,
  ).toEqual([{ place, code }]);
  expect(of[0]!.message).toMatch(words);
  expect(others).toEqual([]);
  expect(ran.code).toBe(state === 'warning' ? 0 : 1);
}

test('nothing is wrong', async () => {
  const { code, checks } = await check({
    jobs: { first: GOOD, all: { ...GOOD, vessels: { discover: 'flat/*/*' } } },
  });
  expect(checks.filter(({ state }) => state !== 'ok').map(({ subject }) => subject)).toEqual(['redis']);
  expect(code).toBe(0);
  expect(checks.map(({ message }) => message)).toContain(
    'flat/{vessel}/Shaft Power selects 1 series of 1 vessel',
  );
});

test('the provider at which people sign in is asked what it can; one that is none, or away, is named', async () => {
  await using provider = await startProvider({ people: {} });
  provider.serves('http://localhost');
  const env = {
    ...{ PUBLIC_URL: 'http://localhost:9464', WEB_OIDC_ISSUER: provider.issuer },
    ...{ WEB_OIDC_CLIENT_ID: 'page', WEB_OIDC_CLIENT_SECRET: 'hush-hush-hush' },
  };
  const { code, checks } = await check({ env });
  expect(code).toBe(0);
  expect(checks.find(({ subject }) => subject === 'page')).toMatchObject({
    state: 'ok',
    message: expect.stringContaining('http://localhost:9464/api/session/provider/return'),
  });
  provider.instead = (_request, response) => void response.writeHead(404).end();
  await expectNamed({ name: 'none', env, found: ['page/provider', 'provider-wrong', /status 404/] });
  provider.instead = (request) => void request.socket.destroy();
  const found = ['page/provider', 'provider-unreachable', /check WEB_OIDC_ISSUER/] as const;
  await expectNamed({ name: 'away', env, found });
  provider.instead = () => {};
  await expectNamed({
    name: 'silent',
    env,
    clock: hasty,
    found: ['page/provider', 'no-answer', /within 5 s/],
  });
});

const NOT_THERE = 'no-such-host.invalid';
const SIMPLE: readonly Broken[] = [
  {
    name: 'a wrong secret',
    env: { QUERY_CLIENT_SECRET: 'hush-hush' },
    found: ['service/token', 'credentials-refused', /check QUERY_CLIENT_ID, QUERY_CLIENT_SECRET/],
  },
  {
    name: 'an unresolvable name',
    env: { QUERY_BASE_URL: `https://${NOT_THERE}/fleet`, QUERY_AUTH_URL: `https://${NOT_THERE}` },
    found: ['service/name', 'host-unknown', /no-such-host\.invalid.*check QUERY_BASE_URL and QUERY_AUTH_URL/],
  },
  {
    name: 'an old version of the API that ends within six months',
    env: { QUERY_API_VERSION: '2025-10-31' },
    faults: () => ({ kind: 'date', value: new Date('2026-10-01T12:00:00Z').toUTCString() }),
    clock: at('2026-10-01'),
    found: ['service/api-version', 'version-ends', /2027-03-10: set QUERY_API_VERSION=2026-09-10/],
    state: 'warning',
  },
  {
    name: 'another version in the answer',
    faults: ({ family }) =>
      family === 'metadata' ? { kind: 'api-version', value: '2025-10-31' } : undefined,
    found: ['service/api-version', 'wrong-api-version', /requested API version 2026-09-10/],
  },
  {
    name: 'a clock that is off',
    clock: { ...systemClock, nowMs: () => Date.now() - 3 * 3_600_000 },
    found: ['service/clock', 'clock-skew', /180 min behind the service's .*NTP/],
  },
  {
    name: 'a service that hangs',
    faults: ({ family }) => (family === 'metadata' ? { kind: 'stall', at: 'headers' } : undefined),
    clock: hasty,
    found: ['service/metadata', 'headers-timeout', /no answer within 5 s/],
  },
  {
    name: 'a token endpoint that is ill',
    faults: ({ family }) => (family === 'token' ? { kind: 'status', status: 503 } : undefined),
    found: ['service/token', 'server-error', /access token.*503/],
  },
  {
    name: 'a read-only folder',
    env: { LAKE_URL: 'file:///sys/vessel-export-lake' },
    found: ['lake/put', 'no-permission', /permission denied.*set LAKE_URL to another one/],
  },
  {
    name: 'an S3 endpoint that does not exist',
    env: {
      LAKE_URL: 's3://vessels/lake',
      AWS_ENDPOINT_URL_S3: `http://${NOT_THERE}`,
      AWS_ACCESS_KEY_ID: 'k',
      AWS_SECRET_ACCESS_KEY: 'hush-hush',
    },
    found: ['lake/list', 's3-unavailable', /no-such-host\.invalid/],
  },
  {
    name: 'an S3 setting that cannot be used',
    env: { LAKE_URL: 's3://vessels/lake', AWS_ENDPOINT_URL_S3: 'storage' },
    found: ['lake/list', 'aws-endpoint', /AWS_ENDPOINT_URL_S3 is "storage"/],
  },
  {
    name: 'a folder for temporary files that is not there',
    env: { TEMP_DIR: '/nowhere/at/all' },
    found: ['settings/temp-folder', 'temp-folder', /'\/nowhere\/at\/all'.*set TEMP_DIR/],
  },
  {
    name: 'a typing error in a job file',
    jobs: { first: GOOD, second: { ...GOOD, verfy: 'off' } },
    found: ['settings/settings', 'configuration', /second\.yaml.*unknown key 'verfy'.*did you mean 'verify'/],
  },
  {
    name: 'a typing error in an expression',
    jobs: { first: GOOD, second: { ...GOOD, select: ['flat/{vessel}/Shaft Powr'] } },
    found: [
      'jobs/second',
      'nothing-selected',
      /selects nothing of IMO9321483; did you mean 'Shaft Power'\?.*second\.yaml/,
    ],
  },
  {
    name: 'a vessel that the service does not know',
    jobs: { first: GOOD, second: { ...GOOD, vessels: [VESSEL, 'IMO1234567'] } },
    found: ['jobs/second', 'nothing-selected', /selects nothing of IMO1234567;/],
  },
  {
    name: 'a discovery that finds nothing',
    jobs: { first: GOOD, second: { ...GOOD, vessels: { discover: 'flat/IMO77*/*' } } },
    found: ['jobs/second', 'no-vessels', /no vessel was discovered/],
  },
  {
    name: 'a missing setting',
    env: { QUERY_CLIENT_ID: '' },
    found: ['settings/settings', 'configuration', /QUERY_CLIENT_ID: not set/],
  },
];

test.for(SIMPLE)('$name is named', expectNamed);

test('a wrong tenant, and a wrong path of the token endpoint', async () => {
  await expectNamed({
    name: 'tenant',
    env: { QUERY_BASE_URL: service.baseUrl.replace(/fleet$/, 'fleat') },
    found: ['service/metadata', 'not-found', /QUERY_BASE_URL.*is 'fleat' the tenant\?/],
  });
  await expectNamed({
    name: 'token endpoint',
    env: { QUERY_AUTH_URL: `${service.authUrl}/wrong` },
    found: ['service/token', 'token-endpoint-wrong', /answered 404, expected 200; check QUERY_AUTH_URL/],
  });
});

test('a version of the API that is gone', async () => {
  const { baseUrl, authUrl, clientId, clientSecret } = oldService;
  await expectNamed({
    name: 'gone',
    env: {
      ...{ QUERY_BASE_URL: baseUrl, QUERY_AUTH_URL: authUrl, QUERY_CLIENT_ID: clientId },
      ...{ QUERY_CLIENT_SECRET: clientSecret, QUERY_API_VERSION: '2025-10-31' },
    },
    found: ['service/api-version', 'bad-request', /was deactivated after 2027-03-10/],
  });
});

/** A listener that is there, until the end of the tests; its port. */
async function listening(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

const addresses = (origin: string): Env => ({
  QUERY_BASE_URL: `${origin}/fleet`,
  QUERY_AUTH_URL: `${origin}/auth`,
});

test('a closed port, and one that never answers', async () => {
  await expectNamed({
    name: 'closed',
    env: addresses(`http://127.0.0.1:${await refusingPort()}`),
    found: ['service/connection', 'service-unreachable', /ECONNREFUSED.*check QUERY_BASE_URL/],
  });
  const silent = await listening(createServer((socket) => void ends.push(() => socket.destroy())));
  await Promise.all([
    expectNamed({
      name: 'silent',
      env: addresses(`http://127.0.0.1:${silent}`),
      clock: hasty,
      found: ['service/token', 'headers-timeout', /access token.*no answer within 5 s/],
    }),
    expectNamed({
      name: 'silent TLS',
      env: addresses(`https://127.0.0.1:${silent}`),
      clock: hasty,
      found: ['service/tls', 'tls-failed', /no answer within 5 s.*https/],
    }),
  ]);
});

test('a certificate that nobody has signed, and one that has expired', async () => {
  const selfSigned = await listening(createTlsServer(SELF_SIGNED));
  await expectNamed({
    name: 'self-signed',
    env: addresses(`https://127.0.0.1:${selfSigned}`),
    found: ['service/tls', 'certificate-refused', /SELF_SIGNED.*NODE_EXTRA_CA_CERTS/],
  });
  const expired = await listening(createTlsServer(EXPIRED));
  const authority = join(folder.path, 'expired.pem');
  await writeFile(authority, EXPIRED.cert);
  const jobs = await writeJobs({ first: GOOD });
  ends.push(() => rm(jobs, { recursive: true }));
  // Node reads the authorities that it trusts when it starts.
  const { code, stdout } = await runCli(['check'], {
    ...exportEnv(service, pathToFileURL(join(folder.path, 'lake')).href, jobs),
    ...addresses(`https://127.0.0.1:${expired}`),
    NODE_EXTRA_CA_CERTS: authority,
  });
  expect(code).toBe(1);
  expect(stdout.match(/ ✗ .*/g)).toHaveLength(1);
  expect(stdout).toMatch(
    /✗ tls +the certificate of 127\.0\.0\.1 does not verify \(CERT_HAS_EXPIRED.*inform the operator/,
  );
});

test('a file in the place of the lake', async () => {
  const path = join(folder.path, 'a-file');
  await writeFile(path, '');
  await expectNamed({
    name: 'file',
    env: { LAKE_URL: pathToFileURL(path).href },
    found: ['lake/put', 'key-conflict', /a file exists in place of a folder/],
  });
});

test.skipIf(smallDisk === undefined)('a disk that is full, or nearly', async () => {
  const lake = join(smallDisk!.path, 'lake');
  await mkdir(lake);
  const env = { LAKE_URL: pathToFileURL(lake).href };
  await expectNamed({
    name: 'nearly',
    env,
    found: ['lake/put', 'little-room', /only 0\.0 GB left/],
    state: 'warning',
  });
  await writeFile(join(smallDisk!.path, 'fill'), Buffer.alloc(2 << 20)).catch(() => {});
  await expectNamed({ name: 'full', env, found: ['lake/put', 'disk-full', /Free space there/] });
});

test.skipIf(!hasRedis)('a Redis that evicts, is full, refuses the password, or is not there', async () => {
  const settings = ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'];
  await using redis = await startOwnRedis(settings);
  const env = { REDIS_URL: redis.url };
  await expectNamed({
    name: 'evicts',
    env,
    found: ['redis/eviction', 'evicts', /allkeys-lru.*set maxmemory-policy noeviction/],
  });
  await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  await expectNamed({
    name: 'may evict',
    env,
    found: ['redis/eviction', 'may-evict', /allkeys-lru/],
    state: 'warning',
  });
  await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await redis.command('CONFIG', 'SET', 'maxmemory', '600kb');
  await expectNamed({ name: 'full', env, found: ['redis/memory', 'memory-full', /raise maxmemory/] });
  const refused: Env = { REDIS_URL: redis.url, REDIS_PASSWORD: 'hush-hush' };
  await redis.command('CONFIG', 'SET', 'requirepass', 'another');
  await expectNamed({
    name: 'refused',
    env: refused,
    found: ['redis/connection', 'redis-refused', /check REDIS_URL and REDIS_PASSWORD/],
  });
});

test.skipIf(!hasRedis)('a Redis whose port is closed', async () => {
  const env = { REDIS_URL: `redis://127.0.0.1:${await refusingPort()}` };
  await expectNamed({
    name: 'closed',
    env,
    found: ['redis/connection', 'redis-unreachable', /ECONNREFUSED/],
  });
});

test.skipIf(s3 === undefined)('an S3 store that refuses, forgets, or hangs', async () => {
  const { endpoint } = s3!;
  const lake = (name: string, more: Env = {}): Env => ({
    ...{ LAKE_URL: `s3://${name}/lake`, ...awsEnv(s3!), ...more },
  });
  const good = lake(bucket!.bucket);
  const { failed } = await check({ env: good });
  expect(failed).toEqual([]);
  await expectNamed({
    name: 'bucket',
    env: lake('vessel-export-no-such'),
    found: ['lake/list', 'no-bucket', /Create the bucket, or correct LAKE_URL/],
  });
  const stranger = lake(bucket!.bucket, { AWS_SECRET_ACCESS_KEY: 'hush-hush-hush' });
  await expectNamed({
    name: 'key',
    env: stranger,
    found: ['lake/list', 'bad-credentials', /Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY/],
  });
  await using proxy = await startFaultProxy(endpoint, async ({ method, headers }) =>
    method === 'PUT' && headers['if-none-match'] !== undefined ? 200 : undefined,
  );
  const through = lake(bucket!.bucket, { AWS_ENDPOINT_URL_S3: proxy.endpoint });
  const careless = await check({ env: { ...through, LAKE_LAYOUT: 'delta' } });
  expect(careless.failed).toMatchObject([
    { check: 'conditional-put', message: expect.stringContaining('If-None-Match') },
  ]);
  proxy.always = () => ({ kind: 'hang' });
  await expectNamed({
    name: 'hangs',
    env: through,
    clock: hasty,
    found: ['lake/list', 'no-answer', /no answer within 5 s/],
  });
  const statement = {
    Effect: 'Deny',
    Principal: '*',
    Action: ['s3:PutObject'],
    Resource: [`arn:aws:s3:::${bucket!.bucket}/*`],
  };
  const client = plainClient(s3!);
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  await client.send(new PutBucketPolicyCommand({ Bucket: bucket!.bucket, Policy }));
  client.destroy();
  await expectNamed({ name: 'policy', env: good, found: ['lake/put', 'no-permission', /s3:PutObject/] });
});

test.skipIf(s3 === undefined)('a store that lacks conditions on completing uploads', async () => {
  const own = await s3!.newBucket();
  const { endpoint } = s3!;
  // Those that the server refuses with 501 are lacking in another way, with the same consequence.
  await using proxy = await startFaultProxy(endpoint, async ({ method, url, headers }) => {
    const hasCondition = headers['if-match'] !== undefined;
    return (method === 'PUT' && hasCondition) ||
      (method === 'POST' && url.includes('uploadId') && headers['if-none-match'] !== undefined)
      ? 501
      : undefined;
  });
  const { failed, warnings } = await check({
    env: {
      ...{ LAKE_URL: `s3://${own.bucket}`, ...awsEnv({ ...s3!, endpoint: proxy.endpoint }) },
    },
  });
  expect(failed).toEqual([]);
  expect(warnings.map(({ check }) => check)).toEqual(['conditional-replace', 'conditional-complete']);
  const left = await check({
    env: {
      LAKE_URL: `s3://${own.bucket}`,
      ...awsEnv(s3!),
    },
  });
  expect(left.failed).toEqual([]);
  // Nothing is left: an empty bucket can be dropped.
  await own.drop();
});
