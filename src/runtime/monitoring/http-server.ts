/** Health, readiness, metrics and the page: what operators look at. */
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { endsWithin, shareAnswer } from '../../core/concurrency.ts';
import { CONNECTION_LIMITS, type ConnectionLimits, Connections } from '../../core/connections.ts';
import { ConfigError, codeOf, messageOf } from '../../core/errors.ts';
import { type Log, systemClock } from '../../core/model/index.ts';
import { NO_SCHEMAS } from '../../core/no-schemas.ts';
import type { Metrics } from './metrics.ts';

export interface OperationsOptions {
  readonly host: string;
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
  readonly limits?: Partial<ConnectionLimits>;
  /** Is it the address of a proxy, behind which many clients stand? */
  readonly isProxy?: ((remoteAddress: string | undefined) => boolean) | undefined;
}

export type OperationsServer = Awaited<ReturnType<typeof startOperationsServer>>;

/** Tells a process of ours from another program that has the port. */
const HEALTH = { status: 'ok', service: 'vessel-export' };

/** Addresses that are answered whatever becomes of the page, and however many connections strangers open. */
const OWN_PATHS: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics']);
const isOwn = ({ url = '' }: IncomingMessage) => OWN_PATHS.has(url.split('?', 1)[0]!);

/** Room for some browsers and scrapers; an attacker has a few addresses at hand. */
const LIMITS: ConnectionLimits = {
  ...CONNECTION_LIMITS,
  maxConnections: 500,
  maxConnectionsPerAddress: 200,
  // The page asks for one thing after the other.
  maxPipelined: 10,
};
/** Connections that wait to be accepted: who finds no room there, a probe too, tries again after a second, then three. */
const BACKLOG = 1_024;
/** A connection may be silent for so long: an answer about a large lake takes a while. */
const SILENCE_MS = 180_000;
/** A probe of readiness waits no longer: what does not answer by then does not work. */
const READY_PATIENCE_MS = 5_000;

/** Takes a free port where a process of ours has the one asked for, unless it `isPortFixed`. Throws ConfigError `cannot-listen`. */
export async function startOperationsServer(options: OperationsOptions) {
  const { metrics, page, isProxy } = options;
  const connections = new Connections({
    ...{ limits: { ...LIMITS, ...options.limits }, clock: systemClock, isSpared: isOwn },
    refusal: (message) => ({ body: `${message}\n`, headers: 'content-type: text/plain; charset=utf-8\r\n' }),
    ...(isProxy && { isProxy }),
  });
  const server = fastify({
    forceCloseConnections: true,
    schemaController: NO_SCHEMAS,
    serverFactory: (answerOwn) => {
      const answer: RequestListener = (request, response) =>
        isOwn(request) || page === undefined ? answerOwn(request, response) : page(request, response);
      return connections.listener(answer).setTimeout(SILENCE_MS);
    },
  });
  server.addHook('onClose', async () => connections.close());
  // Answered by the event loop of the process that works: no answer means that it hangs.
  server.get('/health', async () => HEALTH);
  const readiness = shareAnswer(systemClock, () => readReadiness(options), 0);
  server.get('/ready', async (_request, reply) => {
    const found = await readiness();
    return reply.code(found.status === 'ready' ? 200 : 503).send(found);
  });
  if (metrics !== undefined) {
    const exposition = shareAnswer(systemClock, metrics.read, 0);
    server.get('/metrics', async (_request, reply) => {
      const { text, contentType } = await exposition();
      return reply.header('content-type', contentType).send(text);
    });
  }
  try {
    const port = await listen(server, options);
    return { url: urlOf(options.host, port), close: () => server.close() };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Answers in bounded time, in codes and words of ours only: anybody may ask, and the log has the rest. */
async function readReadiness({ unready, onHold, log }: OperationsOptions) {
  const notReady = (reason: string) => ({ status: 'not ready', reason });
  const look = async () => {
    const reason = await unready();
    const held = await onHold?.();
    if (reason !== undefined) return notReady(reason);
    return { status: 'ready', ...(held !== undefined && { onHold: held }) };
  };
  const looking = look().catch((error: unknown) => {
    log.debug({ code: codeOf(error), error: messageOf(error) }, 'whether this process can work is not known');
    return notReady(codeOf(error));
  });
  const isKnown = await endsWithin(looking, READY_PATIENCE_MS, systemClock);
  return isKnown ? await looking : notReady('no-answer-in-time');
}

async function listen(server: FastifyInstance, options: OperationsOptions): Promise<number> {
  const { host, port, log, isPortFixed = false } = options;
  const chosenPort = () => (server.server.address() as AddressInfo).port;
  try {
    await server.listen({ host, port, backlog: BACKLOG });
  } catch (error) {
    if (isPortFixed || !(await isOurs(error, urlOf(host, port)))) {
      const text = `cannot listen on ${host}:${port}: ${messageOf(error)}`;
      const advice = `set HTTP_HOST and HTTP_PORT${isPortFixed ? ', or --host and --port' : ''} (0 takes a free port)`;
      throw new ConfigError('cannot-listen', `${text}; ${advice}`, { cause: error });
    }
    await server.listen({ host, port: 0, backlog: BACKLOG });
    const taken =
      'another process of vessel-export has the HTTP_PORT: health, metrics and the page are on a free one';
    log.info({ wantedPort: port, port: chosenPort() }, taken);
  }
  return chosenPort();
}

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
