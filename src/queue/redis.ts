/** The connection to Redis: checked once when it is opened, kept and made again for as long as it is open. */
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { ConfigError, cleanForeignText, messageOf, RetriableError } from '../errors.ts';
import type { Log } from '../model/ports.ts';
import { silentLog } from '../model/ports.ts';

export interface RedisConnection {
  /** For commands that fail at once while Redis is out of reach; it reconnects by itself. */
  readonly client: Redis;
  /** Run a script; sent once, then known by its digest. Rejects while Redis is out of reach. */
  run(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Called on every message of a channel, also after a reconnect. Returns how to end it. */
  listen(channel: string, onMessage: (message: string) => void): () => void;
  /** Called whenever Redis is in reach again. Returns how to end it. */
  onReady(listener: () => void): () => void;
  /**
   * One more connection, for a queue: its commands wait while Redis is out of reach, and blocking ones are
   * allowed. It is closed with this one.
   */
  openForQueue(): Redis;
  /** Close all connections; no command may be under way. */
  close(): Promise<void>;
}

export interface RedisConnectionOptions {
  readonly log?: Log;
  /** How long to try before it counts as out of reach. */
  readonly patienceMs?: number;
  /** A command without an answer for so long means that the connection is dead. */
  readonly answerTimeoutMs?: number;
}

const LEAST_VERSION = [6, 2] as const;
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 5_000;
const LONGEST_RETRY_MS = 500;

/**
 * Connect and check the server. Throws ConfigError (`redis-url`, `redis-refused`, `redis-version`) and
 * RetriableError `redis-unreachable`. Later losses are logged once each and mended in the background.
 */
export async function openRedis(url: string, options: RedisConnectionOptions = {}): Promise<RedisConnection> {
  const { log = silentLog, patienceMs = 5_000, answerTimeoutMs = ANSWER_TIMEOUT_MS } = options;
  const shownUrl = maskUrl(url);
  checkUrl(url, shownUrl);
  const client = new Redis(url, {
    ...COMMON_OPTIONS,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    socketTimeout: answerTimeoutMs,
  });
  const more: Redis[] = [];
  const listeners = new Map<string, Set<(message: string) => void>>();
  const subscribe = () => {
    // Rejects when the connection goes: then the next one subscribes.
    if (client.status === 'ready' && listeners.size > 0)
      client.subscribe(...listeners.keys()).catch(() => {});
  };
  client.on('message', (channel: string, message: string) => {
    for (const listener of listeners.get(channel) ?? []) listener(message);
  });
  client.on('error', () => {});
  try {
    await firstContact(client, shownUrl, secretsOf(url), patienceMs);
    await checkServer(client, shownUrl, log);
  } catch (error) {
    client.disconnect();
    throw error;
  }
  client.on('ready', subscribe);
  logOutages(client, shownUrl, secretsOf(url), log);

  return {
    client,
    run: (script, keys, args) => runScript(client, script, keys, args),
    listen: (channel, onMessage) => {
      const there = listeners.get(channel) ?? new Set();
      listeners.set(channel, there.add(onMessage));
      subscribe();
      return () => {
        there.delete(onMessage);
        if (there.size > 0) return;
        listeners.delete(channel);
        if (client.status === 'ready') client.unsubscribe(channel).catch(() => {});
      };
    },
    onReady: (listener) => {
      client.on('ready', listener);
      return () => client.off('ready', listener);
    },
    openForQueue: () => {
      const another = new Redis(url, { ...COMMON_OPTIONS, maxRetriesPerRequest: null });
      // The first connection tells of outages for all of them.
      another.on('error', () => {});
      more.push(another);
      return another;
    },
    close: async () => {
      await Promise.all([...more, client].map(closeClient));
    },
  };
}

const COMMON_OPTIONS = {
  connectionName: 'vessel-export',
  connectTimeout: CONNECT_TIMEOUT_MS,
  keepAlive: 10_000,
  // Quick, so that after a restart everyone reports its leases before new ones are given.
  retryStrategy: (times: number) => Math.min(LONGEST_RETRY_MS, 50 * times) * (0.75 + Math.random() / 4),
  // A primary that became a replica: ask for the new one.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
};

/** `redis://user:***@host:6379/0`: a password goes, whatever characters it has. */
export function maskUrl(url: string): string {
  return cleanForeignText(url.replace(/(\/\/[^/@:]*):.*@/, '$1:***@'));
}

function checkUrl(url: string, shownUrl: string): void {
  const fault = 'expected redis://[user:password@]host[:port][/database], or rediss:// for TLS';
  if (!/^rediss?:\/\/[^/?#]+(\/\d*)?$/.test(url) || !URL.canParse(url)) {
    throw new ConfigError('redis-url', `REDIS_URL: got '${shownUrl}', ${fault}`);
  }
}

function secretsOf(url: string): string[] {
  const { password } = new URL(url);
  return password === '' ? [] : [password, decodeURIComponent(password)];
}

const REFUSALS = /^(WRONGPASS|NOAUTH|NOPERM|ERR .*(AUTH|auth|DB index|database))/;

async function firstContact(
  client: Redis,
  shownUrl: string,
  secrets: readonly string[],
  patienceMs: number,
): Promise<void> {
  let last: unknown;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onError = (error: unknown) => {
    last = error;
    if (REFUSALS.test(messageOf(error))) {
      reject(
        new ConfigError(
          'redis-refused',
          `REDIS_URL: Redis at ${shownUrl} refuses the credentials or the database: ${cleanForeignText(messageOf(error), secrets)}`,
        ),
      );
    }
  };
  const giveUp = setTimeout(() => {
    const why = last === undefined ? 'no answer' : cleanForeignText(describe(last), secrets);
    reject(
      new RetriableError(
        'redis-unreachable',
        `REDIS_URL: Redis at ${shownUrl} is out of reach: ${why}; check the address and that it runs`,
      ),
    );
  }, patienceMs);
  client.on('error', onError);
  client.once('ready', resolve);
  client.connect().catch(onError);
  try {
    await promise;
  } finally {
    clearTimeout(giveUp);
    client.off('error', onError);
    client.off('ready', resolve);
  }
}

/** Node reports several addresses that refuse as one error without a message. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ');
  return messageOf(error);
}

async function checkServer(client: Redis, shownUrl: string, log: Log): Promise<void> {
  const info = await client.info();
  const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const version = value('redis_version') ?? '0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor < LEAST_VERSION[1])) {
    throw new ConfigError(
      'redis-version',
      `REDIS_URL: Redis at ${shownUrl} is version ${cleanForeignText(version)}, expected ${LEAST_VERSION.join('.')} or later`,
    );
  }
  const policy = value('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    log.warn(
      { redis: shownUrl, policy },
      'Redis may evict keys when its memory is full, and the queue with them: set maxmemory-policy noeviction',
    );
  }
}

function logOutages(client: Redis, shownUrl: string, secrets: readonly string[], log: Log): void {
  let last: unknown;
  let down = false;
  client.on('error', (error: unknown) => {
    last = error;
  });
  client.on('close', () => {
    if (down || client.status === 'end') return;
    down = true;
    const error = last === undefined ? undefined : cleanForeignText(describe(last), secrets);
    log.warn({ redis: shownUrl, ...(error !== undefined && { error }) }, 'lost Redis; connecting again');
  });
  client.on('ready', () => {
    if (down) log.info({ redis: shownUrl }, 'Redis is back');
    down = false;
    last = undefined;
  });
}

const digests = new Map<string, string>();

async function runScript(
  client: Redis,
  script: string,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  let digest = digests.get(script);
  if (digest === undefined) {
    digest = createHash('sha1').update(script).digest('hex');
    digests.set(script, digest);
  }
  try {
    return await client.evalsha(digest, keys.length, ...keys, ...args);
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
    return await client.eval(script, keys.length, ...keys, ...args);
  }
}

async function closeClient(client: Redis): Promise<void> {
  if (client.status === 'end') return;
  const ended = new Promise((resolve) => client.once('end', resolve));
  // Between two tries to reconnect there is nothing to close, and ioredis, which then only stops trying, never says so.
  const isBetweenTries = client.status === 'reconnecting';
  client.disconnect();
  if (!isBetweenTries) await ended;
}
