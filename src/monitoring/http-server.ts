/** Health, readiness, metrics and, for those who ask for it, a board of the queue: what operators look at. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { ConfigError, messageOf } from '../errors.ts';
import type { Login } from '../logins.ts';
import { clientAddress, LoginGuard, readBasic } from '../logins.ts';
import type { Clock, Log } from '../model/index.ts';
import { systemClock } from '../model/index.ts';
import type { Metrics } from './metrics.ts';

export interface OperationsOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Why this process cannot work now; undefined when it can. */
  readonly unready: () => Promise<string | undefined>;
  /** Code of the fault that the queue is on hold for, if any: told where it does not keep this process from working. */
  readonly onHold?: () => Promise<string | undefined>;
  /** Of lock-outs at the board; absent: the system's. */
  readonly clock?: Clock;
  /** Shown behind user `admin` and this password; undefined: no board. */
  readonly board?: { readonly queue: Queue; readonly password: string } | undefined;
}

export interface OperationsServer {
  /** `http://127.0.0.1:9464` */
  readonly url: string;
  close(): Promise<void>;
}

/** By it a process of ours is told from another program that has the port. */
const HEALTH = { status: 'ok', service: 'vessel-export' };

/**
 * Listen; on a free port when the one that was asked for is taken by a process of ours. Throws ConfigError
 * `cannot-listen` when another program has it.
 */
export async function startOperationsServer(options: OperationsOptions): Promise<OperationsServer> {
  const { metrics, unready, board } = options;
  const server = fastify({ forceCloseConnections: true });
  // Answered by the event loop of the process that works: no answer means that it hangs.
  server.get('/health', async () => HEALTH);
  server.get('/ready', async (_request, reply) => {
    const reason = await unready().catch(messageOf);
    const onHold = await options.onHold?.();
    if (reason === undefined) return { status: 'ready', ...(onHold !== undefined && { onHold }) };
    return reply.code(503).send({ status: 'not ready', reason });
  });
  server.get('/metrics', async (_request, reply) => {
    const { text, contentType } = await metrics.read();
    return reply.header('content-type', contentType).send(text);
  });
  if (board !== undefined) {
    const { clock = systemClock, log } = options;
    const secrets = [board.password];
    const onFailure = metrics.onBoardLoginFailed;
    await addBoard(
      server,
      board,
      new LoginGuard({ where: "the queue's board", clock, log, secrets, onFailure }),
    );
  }
  try {
    const port = await listen(server, options);
    return { url: urlOf(options.host, port), close: () => server.close() };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** The port it listens on. */
async function listen(server: FastifyInstance, { host, port, log }: OperationsOptions): Promise<number> {
  const chosenPort = () => (server.server.address() as AddressInfo).port;
  try {
    await server.listen({ host, port });
  } catch (error) {
    if (!(await isOurs(error, urlOf(host, port)))) {
      const text = `cannot listen on ${host}:${port} for health and metrics: ${messageOf(error)}`;
      const advice = 'set HTTP_HOST and HTTP_PORT (0 takes a free port)';
      throw new ConfigError('cannot-listen', `${text}; ${advice}`, { cause: error });
    }
    await server.listen({ host, port: 0 });
    const fields = { wantedPort: port, port: chosenPort() };
    log.info(
      fields,
      'another process of vessel-export has the HTTP_PORT: health and metrics are on a free one',
    );
  }
  return chosenPort();
}

/** Is the port taken, and by a process that answers as ours do? */
async function isOurs(error: unknown, url: string): Promise<boolean> {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return false;
  try {
    const answer = await fetch(`${url}/health`, { redirect: 'error', signal: AbortSignal.timeout(2_000) });
    return ((await answer.json()) as Partial<typeof HEALTH>).service === HEALTH.service;
  } catch {
    return false;
  }
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const BOARD_PATH = '/queue';
const BOARD_USER = 'admin';

/** Loaded only where it is asked for. */
async function addBoard(
  server: FastifyInstance,
  board: { queue: Queue; password: string },
  guard: LoginGuard,
): Promise<void> {
  const [{ createBullBoard }, { BullMQAdapter }, { FastifyAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/fastify'),
  ]);
  const adapter = new FastifyAdapter().setBasePath(BOARD_PATH);
  createBullBoard({ queues: [new BullMQAdapter(board.queue)], serverAdapter: adapter });
  const expected = [digest(BOARD_USER), digest(board.password)] as const;
  await server.register(
    async (scope) => {
      scope.addHook('onRequest', async (request, reply) => {
        const login = readBasic(request.headers.authorization);
        const address = clientAddress(request.socket.remoteAddress);
        const outcome = login && guard.attempt(address, login, () => fits(login, expected));
        if (outcome?.state === 'accepted') return;
        if (outcome?.state === 'locked') {
          const { retryAfterSeconds } = outcome;
          const error = `too many failed logins; try again in ${retryAfterSeconds} s`;
          return reply.code(429).header('retry-after', String(retryAfterSeconds)).send({ error });
        }
        return reply
          .code(401)
          .header('www-authenticate', 'Basic realm="queue"')
          .send({ error: 'who are you?' });
      });
      await scope.register(adapter.registerPlugin());
    },
    { prefix: BOARD_PATH },
  );
}

/** Both are compared, whichever fits. */
function fits({ name, secret }: Login, [user, password]: readonly [Buffer, Buffer]): true | undefined {
  const userFits = timingSafeEqual(digest(name), user);
  const passwordFits = timingSafeEqual(digest(secret), password);
  return userFits && passwordFits ? true : undefined;
}

/** Digests are of equal length, whatever was sent. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
