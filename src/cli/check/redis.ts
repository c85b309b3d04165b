/** Redis: is it there, is it new enough, does it keep what the queue needs. */
import type { Clock } from '../../core/model/index.ts';
import type { RedisConnection } from '../../redis/connection.ts';
import type { Settings } from '../../runtime/config/variables.ts';
import type { CheckResult } from './result.ts';
import { inTime, resultsOf } from './result.ts';

const { ok, warning, failed, skipped, error } = resultsOf('redis');

/** A refused connection is tried again for so long: Redis may be starting. */
const CONNECT_PATIENCE_MS = 2_500;
/** A queue that is nearly out of memory. */
const FULL_SHARE = 0.9;

export async function* checkRedis(
  { REDIS_URL, REDIS_PASSWORD, REDIS_PREFIX }: Partial<Settings>,
  clock: Clock,
): AsyncGenerator<CheckResult> {
  if (REDIS_URL === undefined) {
    yield skipped(
      'connection',
      'REDIS_URL is not set, or cannot be used: only a fleet (schedule, worker, backfill) needs it',
    );
    return;
  }
  const { openRedis, describeRedis, SAFE_EVICTION_POLICY } = await import('../../redis/connection.ts');
  try {
    const login = { url: REDIS_URL, password: REDIS_PASSWORD };
    const connection = await openRedis(() => login, { patienceMs: CONNECT_PATIENCE_MS });
    try {
      const server = await inTime(clock, 'Redis', () => describeRedis(connection.client));
      yield ok('connection', 'Redis answers, and takes the credentials');
      yield ok('version', `Redis is version ${server.version}`);
      yield checkEviction(server, SAFE_EVICTION_POLICY);
      const memory = checkMemory(server);
      yield memory;
      if (memory.state !== 'failed' && REDIS_PREFIX !== undefined)
        yield await checkWrites(connection, REDIS_PREFIX);
    } finally {
      await connection.close();
    }
  } catch (thrown) {
    yield error('connection', thrown);
  }
}

async function checkWrites({ probe }: RedisConnection, prefix: string): Promise<CheckResult> {
  try {
    await probe(prefix);
    return ok('writes', 'Redis takes writes');
  } catch (thrown) {
    return error('writes', thrown);
  }
}

interface Memory {
  readonly evictionPolicy: string | undefined;
  readonly maxMemoryBytes: number;
  readonly usedMemoryBytes: number;
}

function checkEviction({ evictionPolicy: policy, maxMemoryBytes }: Memory, safe: string): CheckResult {
  if (policy === undefined)
    return warning('eviction', `Redis does not say its eviction policy, expected ${safe}`, 'unknown-policy');
  if (policy === safe) return ok('eviction', `Redis evicts no keys (maxmemory-policy ${safe})`);
  const advice = `set maxmemory-policy ${safe}`;
  // Without a limit its memory is never full.
  if (maxMemoryBytes === 0)
    return warning(
      'eviction',
      `Redis has maxmemory-policy ${policy}, which takes effect once it has a maxmemory: ${advice}`,
      'may-evict',
    );
  return failed(
    'eviction',
    `Redis evicts keys when its memory is full (maxmemory-policy ${policy}), and the queue with them: ${advice}`,
    'evicts',
  );
}

function checkMemory({ maxMemoryBytes, usedMemoryBytes }: Memory): CheckResult {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  if (maxMemoryBytes === 0)
    return ok('memory', `Redis holds ${megabytes(usedMemoryBytes)}, without a limit of its own`);
  const found = `Redis holds ${megabytes(usedMemoryBytes)} of ${megabytes(maxMemoryBytes)}`;
  return usedMemoryBytes > FULL_SHARE * maxMemoryBytes
    ? failed(
        'memory',
        `${found}: raise maxmemory, or look who else fills it; it refuses to write beyond that`,
        'memory-full',
      )
    : ok('memory', found);
}
