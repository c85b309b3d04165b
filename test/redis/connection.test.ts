import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { ConfigError, RetriableError } from '../../src/core/errors.ts';
import type { Log } from '../../src/core/model/ports.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { refusingPort } from '../helpers/ports.ts';
import { canStartOwnRedis, startOwnRedis } from '../helpers/redis.ts';

interface Line {
  readonly level: string;
  readonly message: string;
  readonly text: string;
}

function collectingLog(): Log & { readonly lines: Line[]; until(message: string): Promise<void> } {
  const lines: Line[] = [];
  const watchers = new Set<() => void>();
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, text: JSON.stringify(fields) });
    for (const watch of watchers) watch();
  };
  const until = (message: string) =>
    new Promise<void>((resolve) => {
      const watch = () => {
        if (lines.some((line) => line.message === message)) resolve();
      };
      watchers.add(watch);
      watch();
    });
  return { lines, until, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

async function faultOf(url: string, patienceMs = 300): Promise<Error & { code: string }> {
  try {
    const connection = await openRedis(url, { patienceMs });
    await connection.close();
  } catch (error) {
    return error as Error & { code: string };
  }
  throw new Error('it was opened');
}

test.each([
  'localhost:6379',
  'http://localhost',
  'redis://',
  'redis://host/notanumber',
  'redis://host?password=hidden-words',
  'redis://:hidden%words@host',
  'redis://:%ff%fe@host',
])('%s is no address of a Redis', async (url) => {
  const fault = await faultOf(url);
  expect(fault).toBeInstanceOf(ConfigError);
  expect(fault.code).toBe('redis-url');
  expect(fault.message).toMatch(/^REDIS_URL: got/);
});

test('a Redis out of reach is named with its password masked', async () => {
  // Long enough for the refusal to be heard.
  const fault = await faultOf(`redis://reader:very-secret@127.0.0.1:${await refusingPort()}`, 1_000);
  expect(fault).toBeInstanceOf(RetriableError);
  expect(fault.code).toBe('redis-unreachable');
  expect(fault.message).toMatch(
    /^REDIS_URL: Redis at redis:\/\/reader:\*\*\*@127\.0\.0\.1:\d+ is out of reach: .*ECONNREFUSED/,
  );
  expect(fault.message).not.toContain('very-secret');
});

test('something that falls silent once it is ready is out of reach too', async () => {
  let asked = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      // ioredis asks for itself first, then we do.
      for (const [word] of bytes.toString().matchAll(/\b(hello|client|info)(?=\r\n)/gi)) {
        if (word !== 'info') socket.write('+OK\r\n');
        else if (++asked === 1) socket.write('$19\r\nredis_version:7.0.0\r\n');
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fault = await openRedis(url, { answerTimeoutMs: 1_000 }).catch((error: unknown) => error);
  server.close();
  expect(asked).toBe(2);
  expect(fault).toBeInstanceOf(RetriableError);
  expect(fault).toMatchObject({
    code: 'redis-unreachable',
    message: expect.stringContaining('check the address and that it runs'),
  });
});

test('something mute is out of reach too', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fault = await faultOf(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(fault.code).toBe('redis-unreachable');
  expect(fault.message).toContain('no answer');
  server.close();
});

describe.skipIf(!canStartOwnRedis())('a real Redis', () => {
  test('that takes no such password, user or database is a fault of the settings', async () => {
    await using redis = await startOwnRedis();
    await redis.command('ACL', 'SETUSER', 'narrow', 'on', '>pass', '~*', '&*', '+@all', '-info');
    expect((await faultOf(`${redis.url}/99`, 5_000)).code).toBe('redis-refused');
    await redis.command('ACL', 'SETUSER', 'default', 'resetpass', '>right-password');
    const at = `127.0.0.1:${redis.port}`;
    for (const [url, says] of [
      [`redis://:wrong-password@${at}`, 'check REDIS_URL and REDIS_PASSWORD'],
      [`redis://${at}`, 'check REDIS_URL and REDIS_PASSWORD'],
      // It may not ask what Redis is.
      [`redis://narrow:pass@${at}`, 'NOPERM'],
    ] as const) {
      const fault = await faultOf(url, 5_000);
      expect(fault).toBeInstanceOf(ConfigError);
      expect(fault).toMatchObject({ code: 'redis-refused', message: expect.stringContaining(says) });
      expect(fault.message).not.toContain('wrong-password');
    }
    const connection = await openRedis(`redis://:right-password@${at}`);
    expect(await connection.client.ping()).toBe('PONG');
    await connection.close();
  });

  test.each(['', 'default@'])(
    'takes a password beside the URL redis://%s…, in the connections of queues too, and never shows it',
    async (user) => {
      const password = 'r@ght: 100%/"pass"';
      await using redis = await startOwnRedis();
      await redis.command('CONFIG', 'SET', 'requirepass', password);
      const url = redis.url.replace('//', `//${user}`);
      const connection = await openRedis(() => ({ url, password }));
      expect(await connection.openForQueue().ping()).toBe('PONG');
      await connection.close();
      const refused = openRedis(() => ({ url, password: `${password}!` }));
      const fault = await refused.catch((error: Error) => error);
      expect(fault).toMatchObject({ code: 'redis-refused' });
      expect((fault as Error).message).toContain(
        `redis://${user.replace('@', '')}:***@127.0.0.1:${redis.port}`,
      );
      expect((fault as Error).message).not.toContain('pass"');
    },
  );

  test('that may evict keys is used with a warning', async () => {
    await using redis = await startOwnRedis(['--maxmemory-policy', 'allkeys-lru']);
    const log = collectingLog();
    await (await openRedis(redis.url, { log })).close();
    expect(log.lines).toMatchObject([{ level: 'warn', text: expect.stringContaining('allkeys-lru') }]);
  });

  test('that goes and comes back is told of once each, and listened to again', async () => {
    await using redis = await startOwnRedis();
    const log = collectingLog();
    const connection = await openRedis(redis.url, { log, steadyMs: 100 });
    const heard: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    connection.listen('news', (message) => {
      heard.push(message);
      resolve();
    });
    await redis.kill();
    await log.until('lost Redis; connecting again');
    await expect(connection.run('return 1', [], [])).rejects.toThrow();
    await redis.start();
    await log.until('Redis is back');
    expect(await connection.run('return 1', [], [])).toBe(1);
    while (((await redis.command('PUBSUB', 'NUMSUB', 'news')) as [string, number])[1] === 0);
    await redis.command('PUBLISH', 'news', 'hello');
    await promise;
    expect(heard).toEqual(['hello']);
    expect(log.lines.map(({ level }) => level)).toEqual(['warn', 'info']);
    await connection.close();
  });

  test('that comes and goes is one line when it is lost, and one with a count when it lasts', async () => {
    await using redis = await startOwnRedis();
    const log = collectingLog();
    const connection = await openRedis(redis.url, { log, steadyMs: 500 });
    for (let times = 0; times < 10; times++) {
      await expect.poll(() => connection.client.status, { interval: 5 }).toBe('ready');
      const closed = once(connection.client, 'close');
      await connection.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no').catch(() => {});
      await closed;
    }
    await log.until('Redis is back');
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'lost Redis; connecting again'],
      ['info', 'Redis is back'],
    ]);
    expect(JSON.parse(log.lines[1]!.text)).toMatchObject({ times: 10 });
    await connection.close();
  });

  test('that does not answer a command loses the connection, and the command fails', async () => {
    await using redis = await startOwnRedis();
    const log = collectingLog();
    const connection = await openRedis(redis.url, { log, answerTimeoutMs: 1_000, steadyMs: 100 });
    redis.freeze();
    await expect(connection.run('return 1', [], [])).rejects.toThrow();
    redis.thaw();
    await log.until('Redis is back');
    expect(await connection.run('return 1', [], [])).toBe(1);
    await connection.close();
  });

  test('gives a queue a connection whose commands wait, and closes it too', async () => {
    await using redis = await startOwnRedis();
    const connection = await openRedis(redis.url);
    const forQueue = connection.openForQueue();
    await forQueue.ping();
    await redis.kill();
    const waiting = forQueue.set('a', '1');
    await redis.start();
    expect(await waiting).toBe('OK');
    if (connection.client.status !== 'ready') await once(connection.client, 'ready');
    await connection.close();
    expect([forQueue.status, connection.client.status]).toEqual(['end', 'end']);
  });

  test('is closed while Redis is out of reach', async () => {
    await using redis = await startOwnRedis();
    const connection = await openRedis(redis.url);
    const forQueue = connection.openForQueue();
    await forQueue.ping();
    const trying = [forQueue, connection.client].map((client) => once(client, 'reconnecting'));
    await redis.kill();
    await Promise.all(trying);
    await connection.close();
    await redis.start();
    // Nobody comes back.
    expect(await redis.command('client', 'list')).not.toContain('name=vessel-export');
  });
});
