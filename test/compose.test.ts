/** docker-compose.yml: what can be held to account without an engine. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../src/runtime/config/config.ts';
import { VARIABLES } from '../src/runtime/config/variables.ts';
import {
  COMPOSE_FILE,
  COMPOSE_SERVICES,
  composeServices,
  composeText,
  environmentOf,
  plain,
  secretFiles,
  secretOf,
} from './helpers/compose-file.ts';
import { startHttpServer } from './helpers/http-server.ts';
import { runCli } from './helpers/run.ts';

const ROOT = join(import.meta.dirname, '..');
const services = composeServices();
const ours = ['scheduler', 'worker'] as const;

test('there are Redis, an S3 store, the query service, a scheduler and two workers', () => {
  expect(Object.keys(services).sort()).toEqual([...COMPOSE_SERVICES].sort());
  expect(services.worker.deploy).toEqual({ replicas: 2 });
  expect(services.redis.command.join(' ')).toContain('--maxmemory-policy noeviction');
});

test.for(COMPOSE_SERVICES)('%s is confined: no capability, no write beside its volumes, bounded', (name) => {
  const { read_only, cap_drop, cap_add, security_opt, pids_limit, mem_limit, logging } = services[name];
  expect({ read_only, cap_drop, security_opt }).toEqual({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  });
  // Of others' images, one hands its folder to its own user before it becomes that.
  expect(cap_add ?? []).toEqual(name === 's3' ? ['CHOWN', 'SETGID', 'SETUID'] : []);
  expect(pids_limit).toBeGreaterThan(0);
  expect(plain(mem_limit!)).toMatch(/^\d+g$/);
  expect(logging?.options).toMatchObject({ 'max-size': '10m', 'max-file': '5' });
});

test('no secret is in the file: each is a file of its own, which may be another', () => {
  const files = secretFiles();
  for (const [name, path] of Object.entries(files)) {
    expect(readFileSync(path, 'utf8'), name).toMatch(/^(|compose\n|only-for-this-machine\n)$/);
    expect(composeText()).toContain(`\${${name.toUpperCase()}_FILE:-`);
  }
  expect(composeText()).not.toContain('only-for-this-machine');
  for (const service of Object.values(services)) {
    for (const name of service.secrets ?? []) expect(Object.keys(files)).toContain(name);
    const env = environmentOf(service);
    const named = Object.entries(env).filter(([name]) => /SECRET|PASSWORD|TOKEN|_KEY/.test(name));
    for (const [name, path] of named) expect(`${name} ${path}`).toMatch(/_FILE \/run\/secrets\/\w+$/);
  }
});

test('jobs are mounted, and the lake of a file:// URL is one volume for all', () => {
  for (const name of ours) {
    expect(services[name].volumes).toEqual(expect.arrayContaining(['./jobs:/app/jobs:ro', 'lake:/lake']));
  }
});

test('every port of this machine can be chosen', () => {
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  expect(ports).toHaveLength(4);
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\$\{[A-Z0-9_]+:?-\d*\}:\d+$/);
});

test('each has a health check', () => {
  for (const [name, { healthcheck }] of Object.entries(services)) expect(healthcheck, name).toBeDefined();
});

test('foreign images have versions, and no two builds have one name', () => {
  for (const { image, build } of Object.values(services)) {
    if (build === undefined) expect(image).toMatch(/:\d+\.\d+(\.\d+-alpine)?$/);
    // Compose builds all at once, and Docker's image store refuses the second of a name.
    else expect(image).toBeUndefined();
  }
});

test('the image runs on the Node.js that the tests run on', () => {
  const from = [...readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^FROM (\S+)/gm)];
  const { node } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).devDependencies;
  expect(from.map((match) => match[1])).toEqual([`node:${node}-trixie-slim`, `node:${node}-trixie-slim`]);
});

test.for(ours)('the settings of the %s are complete, and known', (name) => {
  const env = environmentOf(services[name]);
  const known = VARIABLES.map((variable) => variable.name as string);
  const named = Object.keys(services[name].environment!).filter((key) => !key.startsWith('AWS_'));
  const settingsOf = new Set(named.map((key) => key.replace(/_FILE$/, '')));
  // Left out: what belongs to the image, and a prefix in a Redis that nobody else uses.
  expect([...settingsOf, 'JOBS_DIR', 'REDIS_PREFIX'].sort()).toEqual(known.sort());
  const files = secretFiles();
  const here = Object.entries(env).map(([key, value]) => [
    key,
    key.endsWith('_FILE') ? files[basename(value)] : value,
  ]);
  const { settings } = loadConfig({ ...Object.fromEntries(here), JOBS_DIR: join(ROOT, 'jobs') });
  expect(settings).toMatchObject({
    REDIS_URL: 'redis://redis:6379',
    REDIS_PASSWORD: secretOf('redis_password'),
    QUERY_CLIENT_SECRET: secretOf('query_client_secret'),
  });
});

test('the service knows the client that the others are', () => {
  const { environment, secrets } = services['query-service'];
  expect(environment).toMatchObject({ QUERY_CLIENT_ID: services.worker.environment!.QUERY_CLIENT_ID });
  expect(secrets).toEqual(['query_client_secret']);
  expect(services.s3.secrets).toEqual(['aws_access_key_id', 'aws_secret_access_key']);
  const { LAKE_URL } = environmentOf(services.worker);
  expect(LAKE_URL).toContain(`s3://${environmentOf(services.s3).S3_BUCKET}/`);
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

test('the health check of the image asks where HTTP_PORT is set, and is content elsewhere', async () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const [program, ...args] = JSON.parse(
    /^HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(dockerfile.replaceAll('\\\n', ''))![1]!,
  );
  expect(program).toBe('node');
  let status = 200;
  const { port, close } = await startHttpServer((request, response) => {
    response.writeHead(request.url === '/health' ? status : 404).end();
  });
  const codeWith = async (env: Record<string, string>) => {
    const [code] = await once(spawn(process.execPath, args, { env, stdio: 'ignore' }), 'exit');
    return code;
  };
  expect(await codeWith({})).toBe(0);
  expect(await codeWith({ HTTP_PORT: String(port) })).toBe(0);
  status = 503;
  expect(await codeWith({ HTTP_PORT: String(port) })).toBe(1);
  await close();
  expect(await codeWith({ HTTP_PORT: String(port) })).toBe(1);
});
