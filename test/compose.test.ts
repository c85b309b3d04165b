/** docker-compose.yml: what can be held to account without an engine. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../src/config/config.ts';
import { VARIABLES } from '../src/config/variables.ts';
import { COMPOSE_FILE, COMPOSE_SERVICES, composeServices, environmentOf } from './helpers/compose-file.ts';
import { runCli } from './helpers/run.ts';

const services = composeServices();
const ours = ['scheduler', 'worker'] as const;

test('there are Redis, an S3 store, the query service, a scheduler and two workers', () => {
  expect(Object.keys(services).sort()).toEqual([...COMPOSE_SERVICES].sort());
  expect(services.worker.deploy).toEqual({ replicas: 2 });
  expect(services.redis.command.join(' ')).toContain('--maxmemory-policy noeviction');
});

test('each has a health check, and listens on this machine only', () => {
  for (const [name, { healthcheck, ports = [] }] of Object.entries(services)) {
    expect(healthcheck, name).toBeDefined();
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

test('foreign images have versions, and no two builds have one name', () => {
  for (const { image, build } of Object.values(services)) {
    if (build === undefined) expect(image).toMatch(/:[\d.]+(-alpine)?$/);
    // Compose builds all at once, and Docker's image store refuses the second of a name.
    else expect(image).toBeUndefined();
  }
});

test.for(ours)('the settings of the %s are complete, and known', (name) => {
  const env = environmentOf(services[name]);
  const known = VARIABLES.map((variable) => variable.name as string);
  const named = Object.keys(services[name].environment!).filter((key) => !key.startsWith('AWS_'));
  // Left out: what belongs to the image, and a prefix in a Redis that nobody else uses.
  expect([...named, 'JOBS_DIR', 'TEMP_DIR', 'REDIS_PREFIX'].sort()).toEqual(known.sort());
  const { settings } = loadConfig({ ...env, JOBS_DIR: join(import.meta.dirname, '../jobs') });
  expect(settings.REDIS_URL).toBe('redis://redis:6379');
});

test('the service knows the credentials that the others have', () => {
  const [client] = JSON.parse(environmentOf(services['query-service']).CLIENTS!);
  const env = environmentOf(services.worker);
  expect([client.clientId, client.clientSecret]).toEqual([env.QUERY_CLIENT_ID, env.QUERY_CLIENT_SECRET]);
  const s3 = environmentOf(services.s3);
  expect(s3.AWS_SECRET_ACCESS_KEY).toBe(env.AWS_SECRET_ACCESS_KEY);
  expect(env.LAKE_URL).toContain(`s3://${s3.S3_BUCKET}/`);
});

test.for([...ours, 'query-service'] as const)('the command of the %s exists', async (name) => {
  const words = services[name].command.join(' ').replace(/^.*vessel-export /s, '');
  const [command, ...options] = words.split(/\s+/);
  const { code, stdout } = await runCli([command!, '--help']);
  expect(code).toBe(0);
  for (const option of options.filter((word) => word.startsWith('--'))) expect(stdout).toContain(option);
});

const compose = [['docker', 'compose'], ['docker-compose']].find(
  ([program, ...args]) => spawnSync(program!, [...args, 'version']).status === 0,
);
if (compose === undefined && !process.env.CI) process.stderr.write(`\n*** ${noCompose()} ***\n\n`);

function noCompose(): string {
  return 'COMPOSE WAS NOT ASKED about docker-compose.yml: neither docker compose nor docker-compose works here (Debian: .ci/install-compose)';
}

test.skipIf(compose === undefined && !process.env.CI)('compose takes it', () => {
  if (compose === undefined) throw new Error(`it must be asked here (CI is set): ${noCompose()}`);
  const [program, ...args] = compose;
  const { status, stderr } = spawnSync(program!, [...args, '-f', COMPOSE_FILE, 'config'], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
});
