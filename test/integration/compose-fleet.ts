/** What docker-compose.yml starts, as plain processes: its commands, its settings, its jobs, in other places. */
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { ComposeServiceName } from '../helpers/compose-file.ts';
import {
  composeServices,
  composeText,
  environmentOf,
  plain,
  secretFiles,
  secretOf,
  wordsOf,
} from '../helpers/compose-file.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import type { RunningCli } from '../helpers/run.ts';
import { startProgram } from '../helpers/run.ts';
import type { TestS3 } from '../helpers/s3.ts';
import { copyLake } from '../helpers/s3.ts';
import { newTempFolder } from '../helpers/temp.ts';

/** The folder that is `/app` in a container. */
const APP = join(import.meta.dirname, '../..');
const services = composeServices();
type ExportService = 'scheduler' | 'worker';

export type ComposeFleet = Awaited<ReturnType<typeof startComposeFleet>>;

/** Start what the exporters depend on: Redis, a bucket, the query service with one vessel that sends little. */
export async function startComposeFleet(s3: TestS3) {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await newTempFolder());
  await symlink(join(APP, 'src/bin.js'), join(folder.path, 'vessel-export'));
  const secretsDir = join(folder.path, 'secrets');
  await copySecrets(secretsDir, s3);
  const redis = opened.use(await startOwnRedis(redisSettings(folder.path, secretsDir)));
  const { bucket, drop } = await s3.newBucket();
  opened.defer(drop);
  const running: RunningCli[] = [];
  opened.defer(async () => {
    for (const { process } of running) process.kill('SIGKILL');
    await Promise.all(running.map(({ ended }) => ended));
  });
  const start = (words: readonly string[], env: Record<string, string>) => {
    // The command, and the same Node as here, also where a shell looks for them.
    const path = { PATH: [folder.path, dirname(process.execPath), process.env.PATH].join(':') };
    const started = startProgram(words, { ...env, ...path }, APP);
    running.push(started);
    return started;
  };

  const query = services['query-service'];
  const queryWords = wordsOf(query).map((word) =>
    word.includes('vessel-export service')
      ? moved(word, [
          ['"/tmp/', `"${folder.path}/`],
          ['--clients /tmp/', `--clients ${folder.path}/`],
          ['/run/secrets/', `${secretsDir}/`],
          ['--host 0.0.0.0', '--host 127.0.0.1'],
          ['--port 8080', '--port 0'],
          ['--vessels 5', '--vessels 1'],
          ['--readings-per-day 100000', '--readings-per-day 1000'],
        ])
      : word,
  );
  const queryService = start(queryWords, environmentOf(query));
  await queryService.until('stdout', /\n/);
  const { baseUrl, authUrl } = JSON.parse(queryService.stdout);

  const url = `s3://${bucket}/lake`;
  const settingsOf = (name: ExportService): Record<string, string> => {
    const env = environmentOf(services[name]);
    return {
      ...env,
      ...secretsIn(env, secretsDir),
      QUERY_BASE_URL: moved(env.QUERY_BASE_URL!, [['http://query-service:8080', new URL(baseUrl).origin]]),
      QUERY_AUTH_URL: moved(env.QUERY_AUTH_URL!, [['http://query-service:8080', new URL(authUrl).origin]]),
      LAKE_URL: moved(env.LAKE_URL!, [['s3://vessels/', `s3://${bucket}/`]]),
      AWS_ENDPOINT_URL_S3: moved(env.AWS_ENDPOINT_URL_S3!, [['http://s3:8333', s3.endpoint]]),
      REDIS_URL: moved(env.REDIS_URL!, [['redis://redis:6379', redis.url]]),
      HTTP_HOST: moved(env.HTTP_HOST!, [['0.0.0.0', '127.0.0.1']]),
      HTTP_PORT: moved(env.HTTP_PORT!, [['9464', '0']]),
    };
  };
  const settings = settingsOf('scheduler');
  const stack = opened.move();
  return {
    service: {
      baseUrl,
      authUrl,
      clientId: settings.QUERY_CLIENT_ID!,
      clientSecret: secretOf('query_client_secret'),
    },
    queryService,
    /** As `docker compose up SERVICE`. */
    up: (name: ExportService) => start(wordsOf(services[name]), settingsOf(name)),
    /** As `docker compose exec SCHEDULER WORDS…`, to its end. */
    exec: (words: readonly string[]) => start(words, settings).ended,
    /** Copy the lake into a folder. */
    copyLake: (dir: string) => copyLake(url, settings, dir),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The secrets of the file as it names them, but for the keys of this store. */
async function copySecrets(dir: string, s3: TestS3): Promise<void> {
  await mkdir(dir);
  for (const [name, path] of Object.entries(secretFiles())) await copyFile(path, join(dir, name));
  await writeFile(join(dir, 'aws_access_key_id'), `${s3.accessKeyId}\n`);
  await writeFile(join(dir, 'aws_secret_access_key'), `${s3.secretAccessKey}\n`);
}

/** The settings that name files below /run/secrets, for a folder here. */
function secretsIn(env: Record<string, string>, secretsDir: string): Record<string, string> {
  const named = Object.entries(env).filter(([name]) => name.endsWith('_FILE'));
  return Object.fromEntries(named.map(([name, path]) => [name, moved(path, [['/run/secrets', secretsDir]])]));
}

/** What the container of Redis hands to its server: its shell runs, with the server's place taken by `printf`. */
function redisSettings(dir: string, secretsDir: string): string[] {
  const [shell, option, script] = services.redis.command.map(plain);
  const here = moved(script!.replaceAll('/tmp/', `${dir}/`), [
    ['/run/secrets/', `${secretsDir}/`],
    ['exec valkey-server', "printf '%s\\n'"],
  ]);
  const { status, stdout, stderr } = spawnSync(shell!, [option!, here], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.trim().split('\n');
}

/** The exit code of a service's health check, asked of a process that listens on `port`. */
export function healthOf(name: ComposeServiceName, port: string): number | null {
  const [kind, ...words] = services[name].healthcheck.test.map(plain);
  expect(kind).toBe('CMD');
  const asked = words.map((word) => word.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`));
  expect(asked.join(' ')).toContain(`:${port}/`);
  const [program, ...args] = asked;
  return spawnSync(program === 'node' ? process.execPath : program!, args).status;
}

/** The words after `docker compose exec scheduler` in the head of the file, of three days in place of a month. */
export function exampleBackfill(): string[] {
  const words = /docker compose exec scheduler (.+)$/m.exec(composeText())![1]!;
  return moved(words, [['--to 2026-02-01', '--to 2026-01-04']]).split(' ');
}

/** Replace what must stand there. */
function moved(text: string, changes: readonly (readonly [from: string, to: string])[]): string {
  return changes.reduce((changed, [from, to]) => {
    expect(changed).toContain(from);
    return changed.replace(from, to);
  }, text);
}
