/** The HTTP server: what every request has in common, above all that each error has the contract's body. */
import Fastify, { type FastifyError, type FastifyReply, type FastifyRequest } from 'fastify';
import { type ConnectionLimits, Connections, MAX_HEADER_BYTES } from '../../core/connections.ts';
import { messageOf } from '../../core/errors.ts';
import type { Clock, Log } from '../../core/model/index.ts';
import { NO_SCHEMAS } from '../../core/no-schemas.ts';
import { createAccessLog, loggedPath, requestIdOf } from './access-log.ts';
import { badRequest, errorBody, HttpError } from './http-error.ts';

const ABSOLUTE = /^https?:\/\/[^/?#]+/i;

/** A target as proxies send it (`http://host/path?query`), without scheme and host; any other as it is. Nothing is decoded or resolved. */
export function originForm(target: string): string {
  const prefix = ABSOLUTE.exec(target)?.[0];
  if (prefix === undefined || !URL.canParse(prefix)) return target;
  const rest = target.slice(prefix.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

const SAFETY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  // What is answered depends on the token.
  'cache-control': 'no-store',
};

/** The same, for answers that are written to a socket as they are. */
const SAFETY_HEADER_LINES: string = Object.entries(SAFETY_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

/** What node:http gives up on, by its code. */
const REFUSALS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, `the headers are over ${MAX_HEADER_BYTES} bytes`],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the extensions of a chunk are too long'],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'the request did not arrive in time; send it completely, or close the connection',
  ],
};

interface HttpServerOptions {
  readonly log: Log;
  readonly accessLog: Log | undefined;
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  readonly secrets: readonly string[];
}

/** Of what is answered before it is a request. */
const refusal = (message: string) => ({
  body: errorBody(message),
  headers: `content-type: application/json; charset=utf-8\r\n${SAFETY_HEADER_LINES}`,
});

export function createHttpServer(options: HttpServerOptions) {
  const { log, limits, clock, secrets } = options;
  const accessLog = createAccessLog(options.accessLog, clock, secrets);
  const connections = new Connections({ limits, clock, refusal, onRefused: accessLog.refused });
  const app = Fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    serverFactory: (onRequest) => connections.listener(onRequest),
    genReqId: (request) => requestIdOf(request, secrets),
    // close() must not wait for keep-alive connections or slow readers.
    forceCloseConnections: true,
    // Paths are matched as they come; levels are decoded by us, once.
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: MAX_HEADER_BYTES },
    exposeHeadRoutes: false,
    rewriteUrl: (request) => originForm(request.url!),
    clientErrorHandler(error, socket) {
      const [status, message] = REFUSALS[error.code] ?? [400, 'the request is not valid HTTP'];
      connections.refuse(socket, status, message);
    },
    frameworkErrors: (error, request, reply) => {
      begin(request as FastifyRequest, reply as FastifyReply);
      sendError(reply as FastifyReply, error.statusCode ?? 400, error.message);
    },
  });
  // Before anything else: who knows better sets them again.
  const headers = new Map(Object.entries(SAFETY_HEADERS));
  app.server.prependListener('request', (_request, response) => response.setHeaders(headers));
  const begin = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.header('x-request-id', request.id);
    accessLog.begin(request.raw, reply.raw, request.id);
  };
  app.addHook('onRequest', async (request, reply) => {
    begin(request, reply);
    const { httpVersion, headers } = request.raw;
    if (httpVersion === '1.1' && headers.host === undefined)
      throw badRequest('header host is missing, which HTTP/1.1 demands');
  });
  app.addHook('onClose', async () => connections.close());
  // No body is read before a route asks for it: it knows by then who sends it.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setNotFoundHandler((request, reply) => {
    const path = request.raw.url!.split('?', 1)[0]!.slice(0, 200);
    sendError(reply, 404, `nothing is served at ${request.method} ${path}`);
  });
  app.setErrorHandler((error: FastifyError | HttpError | Error, request, reply) => {
    if (error instanceof HttpError) {
      reply.headers(error.headers);
      return sendError(reply, error.status, error.message, error.body);
    }
    // Whatever was thrown: what fastify makes of it by itself is its text.
    const status = error instanceof Error && 'statusCode' in error ? (error.statusCode ?? 500) : 500;
    if (status < 500) return sendError(reply, status, error.message);
    const fields = { path: loggedPath(request.raw, secrets), requestId: request.id };
    log.error({ ...fields, error: messageOf(error) }, 'request failed');
    return sendError(reply, 500, 'the service failed to respond; try again, or inform its operator');
  });
  return { app, accessLog };
}

function sendError(reply: FastifyReply, status: number, message: string, body = errorBody(message)): void {
  reply.code(status).type('application/json; charset=utf-8').send(body);
}
