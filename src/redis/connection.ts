/** The connection to Redis: checked once when it is opened, kept and made again for as long as it is open. */
import { hash } from 'node:crypto';
import { Redis, type RedisOptions, ReplyError } from 'ioredis';
import { ConfigError, cleanForeignText, messageOf, RetriableError } from '../core/errors.ts';
import { type Log, silentLog } from '../core/model/ports.ts';
import { isRedisUrl, maskUrl, percentDecoded, REDIS_URL_RULE } from '../core/model/web-address.ts';
import { nameRefusal } from './write-refusals.ts';

export type RedisConnection = Awaited<ReturnType<typeof openRedis>>;

interface RedisLogin {
  readonly url: string;
  /** Where the URL holds none. */
  readonly password?: string | undefined;
}

interface RedisConnectionOptions {
  readonly log?: Log;
  /** How long to try before it counts as out of reach. */
  readonly patienceMs?: number;
  /** A command without an answer for so long means that the connection is dead. */
  readonly answerTimeoutMs?: number;
  /** How long a connection has to last for the loss of the one before to be over. */
  readonly steadyMs?: number;
}

const MIN_VERSION = [6, 2] as const;
const CONNECT_TIMEOUT_MS = 5_000;
const DISCONNECT_TIMEOUT_MS = 500;
const LONGEST_RETRY_MS = 500;

/**
 * Connect and check the server. Throws ConfigError (`redis-url`, `redis-refused`, `redis-version`) and RetriableError
 * `redis-unreachable`. Later losses are logged once each and fixed in the background, with `login` asked again each time.
 */
export async function openRedis(login: string | (() => RedisLogin), options: RedisConnectionOptions = {}) {
  const { log = silentLog, patienceMs = 5_000, answerTimeoutMs = 5_000, steadyMs = 5_000 } = options;
  const targetNow = () => withPassword(typeof login === 'string' ? { url: login } : login());
  const target = targetNow();
  const address = addressOf(target, targetNow);
  const common = { ...COMMON_OPTIONS, retryStrategy: retryWith(targetNow) };
  const client = new Redis(target, {
    ...common,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    socketTimeout: answerTimeoutMs,
  });
  nameRefusals(client, address);
  const queueClients: Redis[] = [];
  client.on('error', () => {});
  try {
    await firstContact(client, address, patienceMs);
    await checkServer(client, address, log);
  } catch (error) {
    client.disconnect();
    throw error;
  }
  logOutages(client, address, log, steadyMs);

  return {
    /** For commands that fail at once while Redis is out of reach; it reconnects by itself. */
    client,
    /** Run a script; sent once, then known by its digest. Rejects while Redis is out of reach. */
    run: (script: string, keys: readonly string[], args: readonly string[]) =>
      runScript(client, script, keys, args),
    /** Called on every message of a channel, also after a reconnect. Returns how to end it. */
    listen: (channel: string, onMessage: (message: string) => void) => {
      const onAny = (from: string, message: string) => {
        if (from === channel) onMessage(message);
      };
      // Rejects when the connection goes: then the next one subscribes.
      const subscribe = () => void client.subscribe(channel).catch(() => {});
      client.on('message', onAny).on('ready', subscribe);
      if (client.status === 'ready') subscribe();
      // Others may listen to it too: who listens no more hears nothing, until the connection is closed.
      return () => void client.off('message', onAny).off('ready', subscribe);
    },
    /** Called whenever Redis is in reach again. Returns how to end it. */
    onReady: (listener: () => void) => {
      client.on('ready', listener);
      return () => client.off('ready', listener);
    },
    /** For a queue: its commands wait while Redis is out of reach, blocking ones are allowed. Closed with this one. */
    openForQueue: () => {
      const queueClient = new Redis(targetNow(), { ...common, maxRetriesPerRequest: null });
      nameRefusals(queueClient, address);
      // The first connection tells of outages for all of them.
      queueClient.on('error', () => {});
      queueClients.push(queueClient);
      return queueClient;
    },
    /** Write a key of no meaning. Throws RetriableError `redis-full`, `redis-read-only`, … where no writes are taken. */
    probe: async (prefix: string) => void (await client.set(`${prefix}:probe`, '1', 'PX', 60_000)),
    /** Close all connections; no command may be under way. */
    close: async () => {
      await Promise.all([...queueClients, client].map(closeClient));
    },
  };
}

const COMMON_OPTIONS = {
  connectionName: 'vessel-export',
  connectTimeout: CONNECT_TIMEOUT_MS,
  // A server that stands still does not close its side.
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  keepAlive: 10_000,
  // A primary that became a replica: ask for the new one, but not with every command.
  reconnectOnError(this: RedisOptions, error: Error): boolean {
    if (replyCode(error) !== 'READONLY') return false;
    const sinceMs = performance.now() - (askedAnewMs.get(this) ?? Number.NEGATIVE_INFINITY);
    if (sinceMs < READONLY_RETRY_MS) return false;
    askedAnewMs.set(this, performance.now());
    return true;
  },
};

const READONLY_RETRY_MS = 5_000;
/** By the options of a connection, when it was made anew for that. */
const askedAnewMs = new WeakMap<RedisOptions, number>();

/** Whoever sends a command is told in our words why it was refused; what ioredis does at such an answer comes before. */
function nameRefusals(client: Redis, { shown }: Address): void {
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, ...more) => {
    const { reject } = command;
    command.reject = (error) => reject(nameRefusal(error, shown));
    return send(command, ...more);
  };
}

/** How long to wait before connecting again. The options are those of the connection, made by us or copied by BullMQ. */
function retryWith(targetNow: () => string) {
  return function (this: RedisOptions, times: number): number {
    const now = new Redis(targetNow(), { lazyConnect: true }).options;
    const { host, port, username, password, db, tls } = now;
    Object.assign(this, { host, port, username, password, db, tls });
    // Quick, so that after a restart everyone reports its slots before new ones are given.
    return Math.min(LONGEST_RETRY_MS, 50 * times) * (0.75 + Math.random() / 4);
  };
}

/** ioredis takes a name in the URL without a password for a password of '', before any other: so it goes into the URL. */
function withPassword({ url, password }: RedisLogin): string {
  if (!password || !URL.canParse(url)) return url;
  const whole = new URL(url);
  whole.password = encodeURIComponent(password);
  return whole.href;
}

type Address = ReturnType<typeof addressOf>;

/** Where Redis is, as it may be shown, and what is said of it: without our secrets. */
function addressOf(url: string, targetNow: () => string) {
  const shown = cleanForeignText(maskUrl(url));
  if (!isRedisUrl(url))
    throw new ConfigError('redis-url', `REDIS_URL: got '${shown}', expected ${REDIS_URL_RULE}`);
  const secretsOf = (target: string) => {
    const { password } = new URL(target);
    return password === '' ? [] : [password, percentDecoded(password) ?? password];
  };
  // Node reports several addresses that refuse as one error without a message.
  const messagesOf = (error: unknown) =>
    error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : messageOf(error);
  const why = (error: unknown) => cleanForeignText(messagesOf(error), [url, targetNow()].flatMap(secretsOf));
  const at = `REDIS_URL: Redis at ${shown}`;
  return {
    ...{ shown, at, why },
    refused(error: unknown): ConfigError {
      const text = `${at} refuses the credentials or the database: ${why(error)}`;
      return new ConfigError('redis-refused', `${text}; check REDIS_URL and REDIS_PASSWORD`);
    },
    /** `error`: undefined where there was no answer. */
    unreachable(error?: unknown): RetriableError {
      const text = `${at} is out of reach: ${error === undefined ? 'no answer' : why(error)}`;
      return new RetriableError('redis-unreachable', `${text}; check the address and that it runs`);
    },
  };
}

/** The first word of what Redis answered (`WRONGPASS`, `NOSCRIPT`, `ERR`): ioredis hands on its text alone. */
function replyCode(error: unknown): string | undefined {
  return error instanceof ReplyError ? messageOf(error).split(' ', 1)[0] : undefined;
}

const REFUSAL_CODES = new Set(['WRONGPASS', 'NOAUTH', 'NOPERM']);

/** Redis refuses the credentials, or has no database of that number, which has no code of its own. */
function isRefusal(error: unknown): boolean {
  const code = replyCode(error);
  if (code === undefined) return false;
  const { command } = error as { readonly command?: { readonly name: string } };
  return REFUSAL_CODES.has(code) || (code === 'ERR' && command?.name === 'select');
}

async function firstContact(client: Redis, address: Address, patienceMs: number): Promise<void> {
  let last: unknown;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onError = (error: unknown) => {
    last = error;
    if (isRefusal(error)) reject(address.refused(error));
  };
  const giveUp = setTimeout(() => reject(address.unreachable(last)), patienceMs);
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

/** The policy under which no key of the queue is ever evicted. */
export const SAFE_EVICTION_POLICY = 'noeviction';

export async function describeRedis(client: Pick<Redis, 'info'>) {
  const info = await client.info();
  const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  return {
    version: value('redis_version') ?? '0',
    /** What it does when its memory is full; undefined where it does not say. */
    evictionPolicy: value('maxmemory_policy'),
    /** 0: no limit. */
    maxMemoryBytes: Number(value('maxmemory') ?? 0),
    usedMemoryBytes: Number(value('used_memory') ?? 0),
  };
}

async function checkServer(
  client: Redis,
  { shown, at, refused, unreachable }: Address,
  log: Log,
): Promise<void> {
  const { version, evictionPolicy: policy } = await describeRedis(client).catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    if (isRefusal(error)) throw refused(error);
    // Of a command that was cut off ioredis only says how often it has tried.
    throw unreachable(error instanceof ReplyError ? error : undefined);
  });
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    const text = `${at} is version ${cleanForeignText(version)}, expected ${MIN_VERSION.join('.')} or later`;
    throw new ConfigError('redis-version', text);
  }
  if (policy !== undefined && policy !== SAFE_EVICTION_POLICY) {
    log.warn(
      { redis: shown, policy },
      'Redis may evict keys when its memory is full, and the queue with them: set maxmemory-policy noeviction',
    );
  }
}

/** One line when the connection is lost, and one when it lasts again, however often it came and went in between. */
function logOutages(client: Redis, { shown, why }: Address, log: Log, steadyMs: number): void {
  let last: unknown;
  let times = 0;
  let isReady = true;
  let steady: NodeJS.Timeout | undefined;
  client.on('error', (error: unknown) => {
    last = error;
  });
  client.on('close', () => {
    clearTimeout(steady);
    if (!isReady || client.status === 'end') return;
    isReady = false;
    // Ours, to ask for a new primary.
    if (
      times === 0 &&
      performance.now() - (askedAnewMs.get(client.options) ?? Number.NEGATIVE_INFINITY) < 1_000
    )
      return;
    const fields = { redis: shown, ...(last !== undefined && { error: why(last) }) };
    if (times++ === 0) log.warn(fields, 'lost Redis; connecting again');
  });
  client.on('ready', () => {
    isReady = true;
    last = undefined;
    if (times === 0) return;
    steady = setTimeout(() => {
      log.info({ redis: shown, times }, 'Redis is back');
      times = 0;
    }, steadyMs).unref();
  });
  client.on('end', () => clearTimeout(steady));
}

async function runScript(client: Redis, script: string, keys: readonly string[], args: readonly string[]) {
  try {
    return await client.evalsha(hash('sha1', script), keys.length, ...keys, ...args);
  } catch (error) {
    if (replyCode(error) !== 'NOSCRIPT') throw error;
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
