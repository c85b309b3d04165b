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
interface Setup {
  readonly env?: Env;
  readonly jobs?: Readonly<Record<string, JobFile>>;
  readonly clock?: Clock;
  readonly faults?: FaultPort;
  /** As what it is told; default: failed. */
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
async function check({ env = {}, jobs = { first: GOOD }, clock, faults }: Setup) {
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

/** What is not as it should be, by `subject/check code`, and words of its message. */
async function expectNamed(found: string, words: RegExp, { state, ...setup }: Setup) {
  const { failed, warnings, ...ran } = await check(setup);
  const [of, others] = state === 'warning' ? [warnings, failed] : [failed, []];
  expect(of.map((one) => `${one.subject}/${one.check} ${one.code}`)).toEqual([found]);
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
  await expectNamed('page/provider provider-wrong', /status 404/, { env });
  provider.instead = (request) => void request.socket.destroy();
  await expectNamed('page/provider provider-unreachable', /check WEB_OIDC_ISSUER/, { env });
  provider.instead = () => {};
  await expectNamed('page/provider no-answer', /within 5 s/, { env, clock: hasty });
});

const NOT_THERE = 'no-such-host.invalid';
const SIMPLE: Readonly<Record<string, Parameters<typeof expectNamed>>> = {
  'a wrong secret': [
    'service/token credentials-refused',
    /check QUERY_CLIENT_ID, QUERY_CLIENT_SECRET/,
    { env: { QUERY_CLIENT_SECRET: 'hush-hush' } },
  ],
  'an unresolvable name': [
    'service/name host-unknown',
    /no-such-host\.invalid.*check QUERY_BASE_URL and QUERY_AUTH_URL/,
    { env: { QUERY_BASE_URL: `https://${NOT_THERE}/fleet`, QUERY_AUTH_URL: `https://${NOT_THERE}` } },
  ],
  'an old version of the API that ends within six months': [
    'service/api-version version-ends',
    /2027-03-10: set QUERY_API_VERSION=2026-09-10/,
    {
      env: { QUERY_API_VERSION: '2025-10-31' },
      faults: () => ({ kind: 'date', value: new Date('2026-10-01T12:00:00Z').toUTCString() }),
      clock: at('2026-10-01'),
      state: 'warning',
    },
  ],
  'another version in the answer': [
    'service/api-version wrong-api-version',
    /requested API version 2026-09-10/,
    {
      faults: ({ family }) =>
        family === 'metadata' ? { kind: 'api-version', value: '2025-10-31' } : undefined,
    },
  ],
  'a clock that is off': [
    'service/clock clock-skew',
    /180 min behind the service's .*NTP/,
    { clock: { ...systemClock, nowMs: () => Date.now() - 3 * 3_600_000 } },
  ],
  'a service that hangs': [
    'service/metadata headers-timeout',
    /no answer within 5 s/,
    {
      faults: ({ family }) => (family === 'metadata' ? { kind: 'stall', at: 'headers' } : undefined),
      clock: hasty,
    },
  ],
  'a token endpoint that is ill': [
    'service/token server-error',
    /access token.*503/,
    { faults: ({ family }) => (family === 'token' ? { kind: 'status', status: 503 } : undefined) },
  ],
  'a read-only folder': [
    'lake/put no-permission',
    /permission denied.*set LAKE_URL to another one/,
    { env: { LAKE_URL: 'file:///sys/vessel-export-lake' } },
  ],
  'an S3 endpoint that does not exist': [
    'lake/list s3-unavailable',
    /no-such-host\.invalid/,
    {
      env: {
        LAKE_URL: 's3://vessels/lake',
        AWS_ENDPOINT_URL_S3: `http://${NOT_THERE}`,
        AWS_ACCESS_KEY_ID: 'k',
        AWS_SECRET_ACCESS_KEY: 'hush-hush',
      },
    },
  ],
  'an S3 setting that cannot be used': [
    'lake/list aws-endpoint',
    /AWS_ENDPOINT_URL_S3 is "storage"/,
    { env: { LAKE_URL: 's3://vessels/lake', AWS_ENDPOINT_URL_S3: 'storage' } },
  ],
  'a folder for temporary files that is not there': [
    'settings/temp-folder temp-folder',
    /'\/nowhere\/at\/all'.*set TEMP_DIR/,
    { env: { TEMP_DIR: '/nowhere/at/all' } },
  ],
  'a typing error in a job file': [
    'settings/settings configuration',
    /second\.yaml.*unknown key 'verfy'.*did you mean 'verify'/,
    { jobs: { first: GOOD, second: { ...GOOD, verfy: 'off' } } },
  ],
  'a typing error in an expression': [
    'jobs/second nothing-selected',
    /selects nothing of IMO9321483; did you mean 'Shaft Power'\?.*second\.yaml/,
    { jobs: { first: GOOD, second: { ...GOOD, select: ['flat/{vessel}/Shaft Powr'] } } },
  ],
  'a vessel that the service does not know': [
    'jobs/second nothing-selected',
    /selects nothing of IMO1234567;/,
    { jobs: { first: GOOD, second: { ...GOOD, vessels: [VESSEL, 'IMO1234567'] } } },
  ],
  'a discovery that finds nothing': [
    'jobs/second no-vessels',
    /no vessel was discovered/,
    { jobs: { first: GOOD, second: { ...GOOD, vessels: { discover: 'flat/IMO77*/*' } } } },
  ],
  'a missing setting': [
    'settings/settings configuration',
    /QUERY_CLIENT_ID: not set/,
    { env: { QUERY_CLIENT_ID: '' } },
  ],
};

test.for(Object.entries(SIMPLE))('%s is named', ([, broken]) => expectNamed(...broken));

test('a wrong tenant, and a wrong path of the token endpoint', async () => {
  await expectNamed('service/metadata not-found', /QUERY_BASE_URL.*is 'fleat' the tenant\?/, {
    env: { QUERY_BASE_URL: service.baseUrl.replace(/fleet$/, 'fleat') },
  });
  await expectNamed(
    'service/token token-endpoint-wrong',
    /answered 404, expected 200; check QUERY_AUTH_URL/,
    { env: { QUERY_AUTH_URL: `${service.authUrl}/wrong` } },
  );
});

test('a version of the API that is gone', async () => {
  const { baseUrl, authUrl, clientId, clientSecret } = oldService;
  await expectNamed('service/api-version bad-request', /was deactivated after 2027-03-10/, {
    env: {
      ...{ QUERY_BASE_URL: baseUrl, QUERY_AUTH_URL: authUrl, QUERY_CLIENT_ID: clientId },
      ...{ QUERY_CLIENT_SECRET: clientSecret, QUERY_API_VERSION: '2025-10-31' },
    },
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
  await expectNamed('service/connection service-unreachable', /ECONNREFUSED.*check QUERY_BASE_URL/, {
    env: addresses(`http://127.0.0.1:${await refusingPort()}`),
  });
  const silent = await listening(createServer((socket) => void ends.push(() => socket.destroy())));
  await Promise.all([
    expectNamed('service/token headers-timeout', /access token.*no answer within 5 s/, {
      env: addresses(`http://127.0.0.1:${silent}`),
      clock: hasty,
    }),
    expectNamed('service/tls tls-failed', /no answer within 5 s.*https/, {
      env: addresses(`https://127.0.0.1:${silent}`),
      clock: hasty,
    }),
  ]);
});

test('a certificate that nobody has signed, and one that has expired', async () => {
  const selfSigned = await listening(createTlsServer(SELF_SIGNED));
  await expectNamed('service/tls certificate-refused', /SELF_SIGNED.*NODE_EXTRA_CA_CERTS/, {
    env: addresses(`https://127.0.0.1:${selfSigned}`),
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
  await expectNamed('lake/put key-conflict', /a file exists in place of a folder/, {
    env: { LAKE_URL: pathToFileURL(path).href },
  });
});

test.skipIf(smallDisk === undefined)('a disk that is full, or nearly', async () => {
  const lake = join(smallDisk!.path, 'lake');
  await mkdir(lake);
  const env = { LAKE_URL: pathToFileURL(lake).href };
  await expectNamed('lake/put little-room', /only 0\.0 GB left/, { env, state: 'warning' });
  await writeFile(join(smallDisk!.path, 'fill'), Buffer.alloc(2 << 20)).catch(() => {});
  await expectNamed('lake/put disk-full', /Free space there/, { env });
});

test.skipIf(!hasRedis)('a Redis that evicts, is full, refuses the password, or is not there', async () => {
  const settings = ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'];
  await using redis = await startOwnRedis(settings);
  const env = { REDIS_URL: redis.url };
  await expectNamed('redis/eviction evicts', /allkeys-lru.*set maxmemory-policy noeviction/, { env });
  await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  await expectNamed('redis/eviction may-evict', /allkeys-lru/, { env, state: 'warning' });
  await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await redis.command('CONFIG', 'SET', 'maxmemory', '600kb');
  await expectNamed('redis/memory memory-full', /raise maxmemory/, { env });
  const refused: Env = { REDIS_URL: redis.url, REDIS_PASSWORD: 'hush-hush' };
  await redis.command('CONFIG', 'SET', 'requirepass', 'another');
  await expectNamed('redis/connection redis-refused', /check REDIS_URL and REDIS_PASSWORD/, { env: refused });
});

test.skipIf(!hasRedis)('a Redis whose port is closed', async () => {
  const env = { REDIS_URL: `redis://127.0.0.1:${await refusingPort()}` };
  await expectNamed('redis/connection redis-unreachable', /ECONNREFUSED/, { env });
});

test.skipIf(s3 === undefined)('an S3 store that refuses, forgets, or hangs', async () => {
  const { endpoint } = s3!;
  const lake = (name: string, more: Env = {}): Env => ({
    ...{ LAKE_URL: `s3://${name}/lake`, ...awsEnv(s3!), ...more },
  });
  const good = lake(bucket!.bucket);
  const { failed } = await check({ env: good });
  expect(failed).toEqual([]);
  await expectNamed('lake/list no-bucket', /Create the bucket, or correct LAKE_URL/, {
    env: lake('vessel-export-no-such'),
  });
  const stranger = lake(bucket!.bucket, { AWS_SECRET_ACCESS_KEY: 'hush-hush-hush' });
  await expectNamed('lake/list bad-credentials', /Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY/, {
    env: stranger,
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
  await expectNamed('lake/list no-answer', /no answer within 5 s/, { env: through, clock: hasty });
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
  await expectNamed('lake/put no-permission', /s3:PutObject/, { env: good });
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
  const env = { LAKE_URL: `s3://${own.bucket}`, ...awsEnv({ ...s3!, endpoint: proxy.endpoint }) };
  const { failed, warnings } = await check({ env });
  expect(failed).toEqual([]);
  expect(warnings.map(({ check }) => check)).toEqual(['conditional-replace', 'conditional-complete']);
  const left = await check({ env: { LAKE_URL: `s3://${own.bucket}`, ...awsEnv(s3!) } });
  expect(left.failed).toEqual([]);
  // Nothing is left: an empty bucket can be dropped.
  await own.drop();
});
