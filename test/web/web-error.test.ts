import { afterAll, describe, expect, test } from 'vitest';
import { openRedis } from '../../src/redis/connection.ts';
import { askRedis } from '../../src/web/web-error.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { redisForTests } from '../helpers/redis.ts';

const without = 'nothing is known';

test('nobody waits longer than two seconds, and a late failure is nobody’s', async () => {
  const clock = createManualClock();
  const { promise, reject } = Promise.withResolvers<string>();
  const asking = askRedis(promise, without, { status: 'ready' }, clock);
  const refused = expect(asking).rejects.toMatchObject({
    ...{ status: 503, code: 'redis-away' },
    message: 'Redis is out of reach: nothing is known',
  });
  expect(clock.sleeping()).toEqual([2_000]);
  await clock.advance(2_000);
  await refused;
  // Vitest fails a run in which a promise is rejected that nobody looks at.
  reject(new Error('connection lost'));
  await clock.advance(0);
});

const redis = await redisForTests();
describe.skipIf(redis === undefined)('a Redis that is there', () => {
  afterAll(() => redis?.stop());

  test('answers, or refuses with its reason; once it is closed it is away', async () => {
    const clock = createManualClock();
    const connection = await openRedis(redis!.url);
    const { client } = connection;
    try {
      const ask = (asked: Promise<unknown>) => askRedis(asked, without, client, clock);
      expect(await ask(client.ping())).toBe('PONG');
      await expect(ask(client.call('nonsense'))).rejects.toMatchObject({
        ...{ status: 503, code: 'redis-refuses' },
        message: expect.stringMatching(/^Redis refuses \(ERR unknown command.*\): nothing is known$/),
      });
      expect(clock.sleeping()).toEqual([]);
    } finally {
      await connection.close();
    }
    await expect(askRedis(client.ping(), without, client, clock)).rejects.toMatchObject({
      code: 'redis-away',
    });
  });
});
