/** What Redis lets a fleet do by the rights that docker-compose.yml and the documentation name. */
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { composeText } from '../helpers/compose-file.ts';
import { canStartOwnRedis, startOwnRedis } from '../helpers/redis.ts';

const rights = /rights='([^']+)'/.exec(composeText())![1]!.split(' ');

test('the documentation names the same rights', () => {
  const operating = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const named = rights.filter((right) => !right.startsWith('reset')).join(' ');
  expect(operating.replace(/\s+/g, ' ')).toContain(`\`${named}\``);
});

test.skipIf(!canStartOwnRedis())('a fleet can do nothing to what others have in its Redis', async () => {
  await using server = await startOwnRedis();
  await server.command('ACL', 'SETUSER', 'fleet', 'on', '>pass', ...rights);
  const redis = new Redis(server.port, '127.0.0.1', { username: 'fleet', password: 'pass' });
  onTestFinished(() => redis.disconnect());
  for (const [name, ...args] of [
    ['eval', "return redis.call('SET', KEYS[1], '1')", '1', 'vessel-export:key'],
    ...[['script', 'load', 'return 1'], ['script', 'exists', 'x'], ['client', 'list'], ['info'], ['time']],
    ['publish', 'vessel-export:cap:{x}', 'news'],
  ] as const)
    await redis.call(name, ...args);
  for (const [name, ...args] of [
    ...[['get', 'other'], ['publish', 'other', 'x'], ['keys', '*'], ['flushall'], ['config', 'get', '*']],
    ['eval', "return redis.call('SET', KEYS[1], '1')", '1', 'other'],
    ['function', 'load', "#!lua name=x\nredis.register_function('x', function() return 1 end)"],
    ...[
      ['function', 'flush'],
      ['script', 'flush'],
      ['script', 'kill'],
      ['client', 'kill', 'id', '1'],
    ],
  ] as const)
    await expect(redis.call(name, ...args), `${name} ${args[0]}`).rejects.toThrow(/NOPERM|unknown command/);
});
