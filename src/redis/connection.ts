/** The connection to Redis: it is checked when it is opened, and reconnects until it is closed. */
import { hash } from 'node:crypto';
import { Redis, type RedisOptions } from 'ioredis';
import { type Log, silentLog } from '../core/model/ports.ts';
import { type Address, addressOf, type RedisLogin, withPassword } from './address.ts';
import { checkServer, isLoginRefused, replyCode } from './server.ts';
import { nameRefusal } from './write-refusals.ts';

export type RedisConnection = Awaited<ReturnType<typeof openRedis>>;

interface RedisConnectionOptions {
  readonly log?: Log;
  /** How long to try before Redis counts as unreachable. */
  readonly patienceMs?: number;
  /** A command without a reply for so long means that the connection is dead. */
  readonly answerTimeoutMs?: number;
  /** How long a new connection has to last until the outage counts as over. */
  readonly steadyMs?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const DISCONNECT_TIMEOUT_MS = 500;
const LONGEST_RETRY_MS = 500;

/**
 * Connect and check the server. Throws ConfigError (`redis-url`, `redis-refused`, `redis-version`) and RetriableError
 * `redis-unreachable`. Later losses are logged once each and fixed in the background; `login` is called again each time.
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
    /** For commands that fail at once while Redis is unreachable; it reconnects by itself. */
    client,
    /** Run a script; it is sent once, then called by its digest. Rejects while Redis is unreachable. */
    run: (script: string, keys: readonly string[], args: readonly string[]) =>
      runScript(client, script, keys, args),
    /** Calls `onMessage` for every message of a channel, also after a reconnect. Returns a function that ends it. */
    listen: (channel: string, onMessage: (message: string) => void) => {
      const onAny = (from: string, message: string) => {
        if (from === channel) onMessage(message);
      };
      // Rejects when the connection is lost: then the next one subscribes.
      const subscribe = () => void client.subscribe(channel).catch(() => {});
      client.on('message', onAny).on('ready', subscribe);
      if (client.status === 'ready') subscribe();
      // Others may listen to the channel too, so only the listener is removed; the subscription lasts until the connection is closed.
      return () => void client.off('message', onAny).off('ready', subscribe);
    },
    /** Calls `listener` whenever Redis is reachable again. Returns a function that ends it. */
    onReady: (listener: () => void) => {
      client.on('ready', listener);
      return () => client.off('ready', listener);
    },
    /** For a queue: its commands wait while Redis is unreachable, and blocking ones are allowed. Closed with this one. */
    openForQueue: () => {
      const queueClient = new Redis(targetNow(), { ...common, maxRetriesPerRequest: null });
      nameRefusals(queueClient, address);
      // The first connection logs outages for all of them.
      queueClient.on('error', () => {});
      queueClients.push(queueClient);
      return queueClient;
    },
    /** Write a key without meaning. Throws RetriableError `redis-full`, `redis-read-only`, … if Redis accepts no writes. */
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
  // A server that hangs does not close its side.
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  keepAlive: 10_000,
  // The primary became a replica: reconnect to find the new one, but not with every command.
  reconnectOnError(this: RedisOptions, error: Error): boolean {
    if (replyCode(error) !== 'READONLY') return false;
    const sinceMs = performance.now() - (askedAnewMs.get(this) ?? Number.NEGATIVE_INFINITY);
    if (sinceMs < READONLY_RETRY_MS) return false;
    askedAnewMs.set(this, performance.now());
    return true;
  },
};

const READONLY_RETRY_MS = 5_000;
/** When a connection was last made anew for that, by its options. */
const askedAnewMs = new WeakMap<RedisOptions, number>();

/** Replaces the error of a refused command by ours, which says why; ioredis handles the reply before that. */
function nameRefusals(client: Redis, { shown }: Address): void {
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, ...more) => {
    const { reject } = command;
    command.reject = (error) => reject(nameRefusal(error, shown));
    return send(command, ...more);
  };
}

/** How long to wait before reconnecting. `this` are the options of the connection, made by us or copied by BullMQ. */
function retryWith(targetNow: () => string) {
  return function (this: RedisOptions, times: number): number {
    const now = new Redis(targetNow(), { lazyConnect: true }).options;
    const { host, port, username, password, db, tls } = now;
    Object.assign(this, { host, port, username, password, db, tls });
    // Quick, so that after a restart every process reports its slots before new ones are granted.
    return Math.min(LONGEST_RETRY_MS, 50 * times) * (0.75 + Math.random() / 4);
  };
}

async function firstContact(client: Redis, address: Address, patienceMs: number): Promise<void> {
  let last: unknown;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onError = (error: unknown) => {
    last = error;
    if (isLoginRefused(error)) reject(address.refused(error));
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

/** Logs one line when the connection is lost and one when it is stable again, however often it was lost in between. */
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
    // We closed it, to find a new primary.
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
  // Between two attempts to reconnect there is nothing to close, and ioredis then stops without an event.
  const isBetweenTries = client.status === 'reconnecting';
  client.disconnect();
  if (!isBetweenTries) await ended;
}
