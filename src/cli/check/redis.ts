/** Checks Redis: whether it is reachable, new enough, and keeps what the queue needs. */
import type { Clock } from '../../core/model/index.ts';
import type { Settings } from '../../runtime/config/variables.ts';
import type { CheckResult, Finding } from './result.ts';
import { failed, faultOf, inTime, resultsOf, skipped, warning } from './result.ts';

/** How long a refused connection is retried: Redis may be starting. */
const CONNECT_PATIENCE_MS = 2_500;
const FULL_SHARE = 0.9;

export async function* checkRedis(
  { REDIS_URL, REDIS_PASSWORD, REDIS_PREFIX }: Partial<Settings>,
  clock: Clock,
): AsyncGenerator<CheckResult> {
  const resultOf = resultsOf('redis');
  if (REDIS_URL === undefined) {
    const why = 'REDIS_URL is not set, or cannot be used: only a fleet (schedule, worker, backfill) needs it';
    yield resultOf('connection', skipped(why));
    return;
  }
  const { openRedis } = await import('../../redis/connection.ts');
  const { describeRedis, SAFE_EVICTION_POLICY } = await import('../../redis/server.ts');
  try {
    const login = { url: REDIS_URL, password: REDIS_PASSWORD };
    const connection = await openRedis(() => login, { patienceMs: CONNECT_PATIENCE_MS });
    try {
      const server = await inTime(clock, 'Redis', () => describeRedis(connection.client));
      yield resultOf('connection', 'Redis answers, and takes the credentials');
      yield resultOf('version', `Redis is version ${server.version}`);
      yield resultOf('eviction', evictionOf(server, SAFE_EVICTION_POLICY));
      const memory = resultOf('memory', memoryOf(server));
      yield memory;
      if (memory.state !== 'failed' && REDIS_PREFIX !== undefined) {
        const written = connection.probe(REDIS_PREFIX).then(() => 'Redis takes writes', faultOf);
        yield resultOf('writes', await written);
      }
    } finally {
      await connection.close();
    }
  } catch (thrown) {
    yield resultOf('connection', faultOf(thrown));
  }
}

type Memory = Awaited<ReturnType<typeof import('../../redis/server.ts').describeRedis>>;

function evictionOf({ evictionPolicy: policy, maxMemoryBytes }: Memory, safe: string): Finding {
  if (policy === undefined)
    return warning('unknown-policy', `Redis does not say its eviction policy, expected ${safe}`);
  if (policy === safe) return `Redis evicts no keys (maxmemory-policy ${safe})`;
  const advice = `set maxmemory-policy ${safe}`;
  // Without a limit Redis evicts nothing.
  if (maxMemoryBytes === 0)
    return warning(
      'may-evict',
      `Redis has maxmemory-policy ${policy}, which takes effect once it has a maxmemory: ${advice}`,
    );
  const found = `Redis evicts keys when its memory is full (maxmemory-policy ${policy})`;
  return failed('evicts', `${found}, and the queue with them: ${advice}`);
}

function memoryOf({ maxMemoryBytes, usedMemoryBytes }: Memory): Finding {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  if (maxMemoryBytes === 0) return `Redis holds ${megabytes(usedMemoryBytes)}, without a limit of its own`;
  const found = `Redis holds ${megabytes(usedMemoryBytes)} of ${megabytes(maxMemoryBytes)}`;
  if (usedMemoryBytes <= FULL_SHARE * maxMemoryBytes) return found;
  const advice = 'raise maxmemory, or find what else fills it; it refuses writes beyond that';
  return failed('memory-full', `${found}: ${advice}`);
}
