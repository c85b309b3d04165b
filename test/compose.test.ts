/** docker-compose.yml: what can be held to account without an engine. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../src/config/config.ts';
import { VARIABLES } from '../src/config/variables.ts';
import { runCli } from './helpers/run.ts';

interface ComposeService {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly healthcheck?: object;
  readonly ports?: readonly string[];
  readonly deploy?: { readonly replicas: number };
}

const root = join(import.meta.dirname, '..');
const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  services: Record<string, ComposeService>;
};
const ours = ['scheduler', 'worker'] as const;

/** What compose makes of `${NAME:-default}` where nothing is set. */
function defaultsOf(environment: ComposeService['environment'] = {}): Record<string, string> {
  const plain = (text: string | number) => String(text).replace(/\$\{\w+:-([^}]*)\}/g, '$1');
  return Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, plain(text)]));
}

test('there are Redis, an S3 store, the query service, a scheduler and two workers', () => {
  expect(Object.keys(services).sort()).toEqual(['query-service', 'redis', 's3', 'scheduler', 'worker']);
  expect(services.worker!.deploy).toEqual({ replicas: 2 });
  expect(services.redis!.command.join(' ')).toContain('--maxmemory-policy noeviction');
});

test('each has a health check, and listens on this machine only', () => {
  for (const [name, { healthcheck, ports = [] }] of Object.entries(services)) {
    expect(healthcheck, name).toBeDefined();
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

test('images have versions', () => {
  for (const { image } of Object.values(services))
    expect(image).toMatch(/^vessel-export$|:[\d.]+(-alpine)?$/);
});

test.for(ours)('the settings of the %s are complete, and known', (name) => {
  const env = defaultsOf(services[name]!.environment);
  const known = VARIABLES.map((variable) => variable.name as string);
  expect(Object.keys(env).filter((key) => !known.includes(key) && !key.startsWith('AWS_'))).toEqual([]);
  const { settings } = loadConfig({ ...env, JOBS_DIR: join(root, 'jobs') });
  expect(settings.REDIS_URL).toBe('redis://redis:6379');
});

test('the service knows the credentials that the others have', () => {
  const [client] = JSON.parse(String(services['query-service']!.environment!.CLIENTS));
  const env = defaultsOf(services.worker!.environment);
  expect([client.clientId, client.clientSecret]).toEqual([env.QUERY_CLIENT_ID, env.QUERY_CLIENT_SECRET]);
  const s3 = defaultsOf(services.s3!.environment);
  expect(s3.AWS_SECRET_ACCESS_KEY).toBe(env.AWS_SECRET_ACCESS_KEY);
  expect(env.LAKE_URL).toContain(`s3://${s3.S3_BUCKET}/`);
});

test.for([...ours, 'query-service'])('the command of the %s exists', async (name) => {
  const words = services[name]!.command.join(' ').replace(/^.*src\/bin\.js /s, '');
  const [command, ...options] = words.split(/\s+/);
  const { code, stdout } = await runCli([command!, '--help']);
  expect(code).toBe(0);
  for (const option of options.filter((word) => word.startsWith('--'))) expect(stdout).toContain(option);
});

const compose = [['docker', 'compose'], ['docker-compose']].find(
  ([program, ...args]) => spawnSync(program!, [...args, 'version']).status === 0,
);

test.skipIf(compose === undefined)('compose takes it', () => {
  const [program, ...args] = compose!;
  const { status, stderr } = spawnSync(
    program!,
    [...args, '-f', join(root, 'docker-compose.yml'), 'config'],
    {
      encoding: 'utf8',
    },
  );
  expect([status, stderr]).toEqual([0, '']);
});
