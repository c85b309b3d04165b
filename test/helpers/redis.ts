import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { afterAll } from 'vitest';
import { sharedLimitNames } from '../../src/app.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { composeServices, secretOf } from './compose-file.ts';
import { startContainer } from './docker.ts';
import { refusingPort } from './ports.ts';
import { newTempFolder } from './temp.ts';

/** A real Redis for tests. Keys go under a prefix of one's own: others may use it too. */
export interface TestRedis {
  readonly url: string;
  /** A prefix that nobody has; what is under it is deleted by `stop`. */
  newPrefix(): string;
  /** Delete what the tests left behind, and end the server if it was started here. */
  stop(): Promise<void>;
}

/**
 * The Redis that tests run against, the first of:
 *   1. `REDIS_URL`
 *   2. that of docker-compose.yml in a container, where a Docker engine answers and can start it
 *   3. `redis-server` (or `valkey-server`) on PATH, on a free port
 *   4. none: undefined, said loudly; where `CI` is set an error
 * Call it at the top of a test file, pass the answer to `describe.skipIf`, and `stop` it in the end.
 */
export async function redisForTests(): Promise<TestRedis | undefined> {
  const { REDIS_URL } = process.env;
  if (REDIS_URL) return withPrefixes(REDIS_URL, async () => {});
  const { redis } = composeServices();
  // Tests have prefixes of their own.
  const command = redis.command.map((text) => text.replace(/[~&]vessel-export:\*/g, (one) => `${one[0]}*`));
  const container = await startContainer({ ...redis, command }, 6379);
  if (container !== undefined)
    return withPrefixes(
      `redis://:${encodeURIComponent(secretOf('redis_password'))}@${container.host}:${container.port}`,
      container.stop,
    );
  if (serverProgram() !== undefined) {
    const own = await startOwnRedis();
    return withPrefixes(own.url, own.stop);
  }
  return unavailable();
}

/** And a connection to it, also for queues: all of it ends with the file. */
export async function queueRedisForTests() {
  const server = await redisForTests();
  const connection = server && (await openRedis(server.url));
  afterAll(async () => {
    await connection?.close();
    await server?.stop();
  });
  return { server, connection, redis: connection?.openForQueue() as Redis };
}

/** Is there a program that `startOwnRedis` can start? Says so loudly when not; where `CI` is set it throws. */
export function canStartOwnRedis(): boolean {
  if (serverProgram() !== undefined) return true;
  unavailable();
  return false;
}

export type OwnRedis = Awaited<ReturnType<typeof startOwnRedis>>;

/** Start a server of one's own, to be restarted, flushed or stopped in the middle, without persistence in a temporary folder; more settings as `--name`, `value`. */
export async function startOwnRedis(settings: readonly string[] = []) {
  const program = serverProgram();
  if (program === undefined) throw new Error('redis-server is not on PATH');
  const folder = await newTempFolder();
  const port = await refusingPort();
  let server = await launch(program, port, folder.path, settings);
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
  };
  const stop = async () => {
    await kill();
    await folder.remove();
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    /** End it as `kill -9` does: nothing is saved. */
    kill,
    /** Start it again, on the same port. */
    start: async () => {
      server = await launch(program, port, folder.path, settings);
    },
    /** Stand still without closing connections, and go on. */
    freeze: () => void server.kill('SIGSTOP'),
    thaw: () => void server.kill('SIGCONT'),
    /** Say something to it, on a connection of its own. */
    command: async (name: string, ...args: string[]): Promise<unknown> => {
      const redis = new Redis(port, '127.0.0.1');
      try {
        return await redis.call(name, ...args);
      } finally {
        redis.disconnect();
      }
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/**
 * A Redis that knows its past, under this prefix and for the service's client: in one that is new nobody gets a slot for
 * two seconds.
 */
export async function knowLimits(
  url: string,
  prefix: string,
  { clientId, baseUrl }: { readonly clientId: string; readonly baseUrl: string },
): Promise<void> {
  const redis = new Redis(url);
  const { credential } = sharedLimitNames({
    QUERY_CLIENT_ID: clientId,
    QUERY_BASE_URL: baseUrl,
    QUERY_PACE_GROUP: '',
  });
  const [, server] = /run_id:(\w+)/.exec(await redis.info('server'))!;
  await redis.hset(`${prefix}:cap:{${credential}}:state`, { server });
  redis.disconnect();
}

async function launch(program: string, port: number, folder: string, settings: readonly string[]) {
  const defaults = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  const server = spawn(program, [...defaults, ...settings], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said: string[] = [];
  server.stderr.on('data', (chunk) => said.push(String(chunk)));
  const lines = createInterface(server.stdout);
  for await (const text of lines) {
    said.push(text);
    if (/Ready to accept connections/.test(text)) {
      lines.close();
      server.stdout.resume();
      return server;
    }
  }
  throw new Error(`${program} did not start: ${said.join('\n')}`);
}

function serverProgram(): string | undefined {
  return ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);
}

function unavailable(): undefined {
  const reason =
    'no Redis: REDIS_URL is not set, no Docker engine can start one, and redis-server is not on PATH (Debian: .ci/install-redis)';
  if (process.env.CI) throw new Error(`the Redis tests must run here (CI is set): ${reason}`);
  process.stderr.write(`\n*** THE REDIS TESTS WERE NOT RUN: ${reason} ***\n\n`);
}

function withPrefixes(url: string, stopServer: () => Promise<void>): TestRedis {
  const prefixes: string[] = [];
  return {
    url,
    newPrefix: () => {
      const prefix = `test-${randomBytes(6).toString('hex')}`;
      prefixes.push(prefix);
      return prefix;
    },
    stop: async () => {
      const redis = new Redis(url);
      for (const prefix of prefixes) await dropKeys(redis, prefix);
      redis.disconnect();
      await stopServer();
    },
  };
}

async function dropKeys(redis: Redis, prefix: string): Promise<void> {
  for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
    if (keys.length > 0) await redis.unlink(keys);
  }
}
