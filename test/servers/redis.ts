/**
 * `npm run redis-servers`: the tests of Redis and of the fleet on other servers than the machine's: `bash .ci/install-redis-servers`.
 * Ends with 1 where one fails that is not known to.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { newTempFolder } from '../helpers/temp.ts';
import { runTests } from './run-tests.ts';

const FILES = ['test/redis', 'test/integration/fleet.test.ts'];
/** Before 7 a script may write with too few replicas: the server's own way. */
const DEVIATIONS: Readonly<Record<string, readonly RegExp[]>> = {
  'redis-6.2.5': [/a Redis that is redis-too-few-replicas/],
};

const script = readFileSync(join(import.meta.dirname, '../../.ci/install-redis-servers'), 'utf8');
const { REDIS_SERVERS_DIR, XDG_CACHE_HOME, PATH = '' } = process.env;
const folder =
  REDIS_SERVERS_DIR ??
  join(
    XDG_CACHE_HOME ?? join(homedir(), '.cache'),
    'vessel-export',
    `redis-servers-${/^version=(\S+)$/m.exec(script)?.[1]}`,
  );
if (!existsSync(join(folder, 'installed')))
  throw new Error(`no Redis servers in ${folder}: bash .ci/install-redis-servers brings them`);

for (const name of readFileSync(join(folder, 'installed'), 'utf8').trim().split('\n')) {
  const bin = join(folder, name);
  const version = execFileSync(join(bin, 'redis-server'), ['--version'], { encoding: 'utf8' });
  await using temp = await newTempFolder();
  // The tests start the `redis-server` that they find first.
  const env: NodeJS.ProcessEnv = { ...process.env, PATH: `${bin}${delimiter}${PATH}` };
  delete env.REDIS_URL;
  const { passed, failed } = await runTests(FILES, env, join(temp.path, 'result.json'));
  const unexpected = failed.filter(
    (test) => !(DEVIATIONS[name] ?? []).some((shape) => shape.test(test.name)),
  );
  const [, words] = /^(\S+ server v=\S+)/.exec(version) ?? [];
  console.log(
    `${words}: ${passed} tests pass, ${failed.length} do not, ${failed.length - unexpected.length} of them known`,
  );
  for (const { name: test, message } of unexpected) console.log(`  UNEXPECTED ${test}\n${message}`);
  if (unexpected.length > 0 || passed === 0) process.exitCode = 1;
}
