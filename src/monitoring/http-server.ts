/** Health, readiness, metrics and the page: what operators look at. */
import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { ConfigError, messageOf } from '../errors.ts';
import type { Log } from '../model/index.ts';
import { NO_SCHEMAS } from '../no-schemas.ts';
import type { Metrics } from './metrics.ts';

export interface OperationsOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly log: Log;
  /** Absent: there are none to be read. */
  readonly metrics?: Pick<Metrics, 'read'>;
  /** Why this process cannot work now; undefined when it can. */
  readonly unready: () => Promise<string | undefined>;
  /** Code of the fault that the queue is on hold for, if any: told where it does not keep this process from working. */
  readonly onHold?: () => Promise<string | undefined>;
  /** Answers every address that is not health, readiness or metrics. */
  readonly page?: RequestListener | undefined;
  /** Take the port that was asked for, or none. */
  readonly isPortFixed?: boolean;
  /** For tests. */
  readonly limits?: Partial<Limits>;
}

export interface OperationsServer {
  /** `http://127.0.0.1:9464` */
  readonly url: string;
  close(): Promise<void>;
}

/** By it a process of ours is told from another program that has the port. */
const HEALTH = { status: 'ok', service: 'vessel-export' };

/** Addresses that are answered whatever becomes of the page. */
const OWN_PATHS: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics']);

/** Who is slow, or opens connections without end, takes nothing from those who look. */
interface Limits {
  /** From the connection, or the request before, to the end of the headers; to the end of the request. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Between two looks at who is late. */
  readonly checkMs: number;
  /** Between an answer and the next request. */
  readonly keepAliveMs: number;
  /** Without a byte in either direction: an answer about a large lake may take a while. */
  readonly silenceMs: number;
  readonly maxConnections: number;
}

const LIMITS: Limits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  checkMs: 5_000,
  keepAliveMs: 30_000,
  silenceMs: 180_000,
  maxConnections: 500,
};
const MAX_HEADER_BYTES = 32 * 1024;

/**
 * Listen; on a free port when the one that was asked for is taken by a process of ours, unless it `isPortFixed`. Throws
 * ConfigError `cannot-listen` when another program has it.
 */
export async function startOperationsServer(options: OperationsOptions): Promise<OperationsServer> {
  const { metrics, unready, page } = options;
  const server = fastify({
    forceCloseConnections: true,
    schemaController: NO_SCHEMAS,
    serverFactory: (answerOwn) => {
      const listener: RequestListener = (request, response) => {
        const isOwn = OWN_PATHS.has(request.url!.split('?', 1)[0]!);
        if (isOwn || page === undefined) answerOwn(request, response);
        else page(request, response);
      };
      return createListener({ ...LIMITS, ...options.limits }, listener);
    },
  });
  // Answered by the event loop of the process that works: no answer means that it hangs.
  server.get('/health', async () => HEALTH);
  server.get('/ready', async (_request, reply) => {
    const reason = await unready().catch(messageOf);
    const onHold = await options.onHold?.();
    if (reason === undefined) return { status: 'ready', ...(onHold !== undefined && { onHold }) };
    return reply.code(503).send({ status: 'not ready', reason });
  });
  if (metrics !== undefined)
    server.get('/metrics', async (_request, reply) => {
      const { text, contentType } = await metrics.read();
      return reply.header('content-type', contentType).send(text);
    });
  try {
    const port = await listen(server, options);
    return { url: urlOf(options.host, port), close: () => server.close() };
  } catch (error) {
    await server.close();
    throw error;
  }
}

function createListener(limits: Limits, onRequest: RequestListener): Server {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: limits.checkMs,
      keepAliveTimeout: limits.keepAliveMs,
    },
    onRequest,
  );
  server.maxConnections = limits.maxConnections;
  return server.setTimeout(limits.silenceMs);
}

/** The port it listens on. */
async function listen(server: FastifyInstance, options: OperationsOptions): Promise<number> {
  const { host, port, log, isPortFixed = false } = options;
  const chosenPort = () => (server.server.address() as AddressInfo).port;
  try {
    await server.listen({ host, port });
  } catch (error) {
    if (isPortFixed || !(await isOurs(error, urlOf(host, port)))) {
      const text = `cannot listen on ${host}:${port}: ${messageOf(error)}`;
      const advice = `set HTTP_HOST and HTTP_PORT${isPortFixed ? ', or --host and --port' : ''} (0 takes a free port)`;
      throw new ConfigError('cannot-listen', `${text}; ${advice}`, { cause: error });
    }
    await server.listen({ host, port: 0 });
    const fields = { wantedPort: port, port: chosenPort() };
    log.info(
      fields,
      'another process of vessel-export has the HTTP_PORT: health, metrics and the page are on a free one',
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
