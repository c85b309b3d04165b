/** Health, readiness, metrics and, for those who ask for it, a board of the queue: what operators look at. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { ConfigError, messageOf } from '../errors.ts';
import type { Metrics } from './metrics.ts';

export interface OperationsOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly metrics: Metrics;
  /** Why this process cannot work now; undefined when it can. */
  readonly unready: () => Promise<string | undefined>;
  /** Shown behind user `admin` and this password; undefined: no board. */
  readonly board?: { readonly queue: Queue; readonly password: string } | undefined;
}

export interface OperationsServer {
  /** `http://127.0.0.1:9464` */
  readonly url: string;
  close(): Promise<void>;
}

/** Listen. Throws ConfigError `cannot-listen` when the port is taken. */
export async function startOperationsServer(options: OperationsOptions): Promise<OperationsServer> {
  const { host, port, metrics, unready, board } = options;
  const server = fastify({ forceCloseConnections: true });
  // Answered by the event loop of the process that works: no answer means that it hangs.
  server.get('/health', async () => ({ status: 'ok' }));
  server.get('/ready', async (_request, reply) => {
    const reason = await unready().catch(messageOf);
    return reason === undefined ? { status: 'ready' } : reply.code(503).send({ status: 'not ready', reason });
  });
  server.get('/metrics', async (_request, reply) => {
    const { text, contentType } = await metrics.read();
    return reply.header('content-type', contentType).send(text);
  });
  if (board !== undefined) await addBoard(server, board);
  try {
    await server.listen({ host, port });
  } catch (error) {
    await server.close();
    throw new ConfigError(
      'cannot-listen',
      `cannot listen on ${host}:${port} for health and metrics: ${messageOf(error)}; set HTTP_HOST and HTTP_PORT (0 takes a free port)`,
      { cause: error },
    );
  }
  const { port: taken } = server.server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () => server.close(),
  };
}

const BOARD_PATH = '/queue';

/** Loaded only where it is asked for. */
async function addBoard(server: FastifyInstance, board: { queue: Queue; password: string }): Promise<void> {
  const [{ createBullBoard }, { BullMQAdapter }, { FastifyAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/fastify'),
  ]);
  const adapter = new FastifyAdapter().setBasePath(BOARD_PATH);
  createBullBoard({ queues: [new BullMQAdapter(board.queue)], serverAdapter: adapter });
  const expected = digest(`Basic ${Buffer.from(`admin:${board.password}`).toString('base64')}`);
  await server.register(
    async (scope) => {
      scope.addHook('onRequest', async (request, reply) => {
        if (timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) return;
        await reply
          .code(401)
          .header('www-authenticate', 'Basic realm="queue"')
          .send({ error: 'who are you?' });
      });
      await scope.register(adapter.registerPlugin());
    },
    { prefix: BOARD_PATH },
  );
}

/** Digests are of equal length, whatever was sent. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
