/** A Redis that answers and takes no writes is named as such, and is not taken for one that is well. */
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { RetriableError } from '../../src/core/errors.ts';
import { silentLog } from '../../src/core/model/index.ts';
import { openVesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { nameRefusal } from '../../src/redis/write-refusals.ts';
import { canStartOwnRedis, startOwnRedis } from '../helpers/redis.ts';

const redis = canStartOwnRedis() ? await startOwnRedis() : undefined;
const connection = redis && (await openRedis(redis.url));

afterAll(async () => {
  await connection?.close();
  await redis?.stop();
});

/** How Redis gets there, and back. */
const STATES: readonly (readonly [code: string, bad: readonly string[], good: readonly string[]])[] = [
  ['redis-full', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
  [
    'redis-too-few-replicas',
    ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
  ],
  ['redis-read-only', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
];

describe.skipIf(redis === undefined).each(STATES)('a Redis that is %s', (code, [bad, ...badArgs], good) => {
  afterEach(async () => {
    const [name, ...args] = good;
    await redis!.command(name!, ...args);
  });

  test('fails the probe, commands, scripts and the queue by that name, and is well again after', async () => {
    const { client, probe, run } = connection!;
    const queued = connection!.openForQueue();
    const queue = openVesselDayQueue({ redis: queued, prefix: 'refusals', log: silentLog });
    await probe(code);
    await queue.bull.add('day', {});
    await redis!.command(bad!, ...badArgs);
    // What was just found well is not asked again for a second, and one that was read-only is connected to once more.
    const script = "return redis.call('set', KEYS[1], '1')";
    for (const write of [
      () => probe(code),
      () => client.set('refusals:key', '1'),
      () => run(script, ['refusals:key'], []),
      () => queue.bull.add('day', {}),
    ])
      await expect
        .poll(() => write().catch((error: unknown) => error), { timeout: 5_000 })
        .toMatchObject({
          name: 'RetriableError',
          code,
          message: expect.stringMatching(/takes no writes: ./),
        });
    await expect.poll(() => client.status).toBe('ready');
    expect(await client.get('refusals:none')).toBeNull();
    await redis!.command(good[0]!, ...good.slice(1));
    await expect.poll(() => probe(code).then(() => 'well'), { timeout: 5_000 }).toBe('well');
  });
});

test('what Redis 6 says of a script is understood, and nothing else is renamed', () => {
  const script =
    "ERR Error running script (call to f_0a1b): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.";
  for (const [text, code] of [
    [script, 'redis-full'],
    ["MISCONF Redis is configured to save RDB snapshots, but it's currently unable to", 'redis-cannot-save'],
  ] as const)
    expect(nameRefusal(new Error(text), 'redis://x')).toMatchObject({ code });
  const other = new Error('WRONGTYPE Operation against a key -OOM x');
  expect(nameRefusal(other, 'redis://x')).toBe(other);
  expect(nameRefusal(new Error('OOM x'), 'redis://x')).toBeInstanceOf(RetriableError);
});

test.each([
  "ERR ACL failure in script: User narrow has no permissions to run the 'time' command script: 1a8c, on @user_script:1.",
  "ERR The user executing the script can't run this command or subcommand script: 1a8c, on @user_script:1.",
  "NOPERM this user has no permissions to run the 'client|list' command",
])('that a user lacks rights is understood of Redis 7 and 8 and of Valkey 9: %s', (text) => {
  expect(nameRefusal(new Error(text), 'redis://x')).toMatchObject({
    name: 'ConfigError',
    code: 'redis-refused',
  });
});

test.skipIf(redis === undefined)(
  'a user without the rights is told so, by command and by script',
  async () => {
    await redis!.command(
      'ACL',
      'SETUSER',
      'narrow',
      'on',
      '>secret-word',
      '~*',
      '&*',
      '+@all',
      '-client',
      '-time',
    );
    const narrow = await openRedis(redis!.url.replace('redis://', 'redis://narrow:secret-word@'));
    try {
      for (const work of [
        () => narrow.client.client('LIST'),
        () => narrow.run("return redis.call('time')", ['narrow:key'], []),
      ]) {
        const fault = await work().catch((error: unknown) => error);
        expect(fault).toMatchObject({ name: 'ConfigError', code: 'redis-refused' });
        expect((fault as Error).message).toContain('docs/operating.md, Redis');
        expect((fault as Error).message).not.toContain('secret-word');
      }
    } finally {
      await narrow.close();
    }
  },
);
