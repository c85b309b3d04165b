/** The HTTP server: what every request has in common, above all that each error has the contract's body. */
import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify';
import Fastify from 'fastify';
import { messageOf } from '../errors.ts';
import type { Log } from '../model/index.ts';
import { errorBody, HttpError } from './http-error.ts';
import { MAX_BODY_BYTES } from './query-body.ts';
import { originForm } from './request-target.ts';
import { SAFETY_HEADER_LINES, setSafetyHeaders } from './safety-headers.ts';

const MAX_HEADER_BYTES = 64 * 1024;
const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

export function createHttpServer(log: Log): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    // close() must not wait for keep-alive connections or slow readers.
    forceCloseConnections: true,
    // Paths are matched as they come; levels are decoded by us, once.
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: MAX_HEADER_BYTES },
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    exposeHeadRoutes: false,
    rewriteUrl: (request) => originForm(request.url!),
    clientErrorHandler(error, socket) {
      if (!socket.writable) return;
      const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
      const body = errorBody(
        `the request is not valid HTTP, or its header is over ${MAX_HEADER_BYTES} bytes`,
      );
      socket.end(
        `HTTP/1.1 ${status} ${STATUS_TEXT[status]}\r\ncontent-type: application/json; charset=utf-8\r\n${SAFETY_HEADER_LINES}` +
          `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      );
    },
    frameworkErrors: (error, _request, reply) => {
      sendError(reply as FastifyReply, error.statusCode ?? 400, error.message);
    },
  });
  app.server.prependListener('request', (_request, response) => setSafetyHeaders(response));
  // Bodies are read as text; what they may be is decided by the routes.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setNotFoundHandler((request, reply) => {
    const path = request.raw.url!.split('?', 1)[0]!.slice(0, 200);
    sendError(reply, 404, `nothing is served at ${request.method} ${path}`);
  });
  app.setErrorHandler((error: FastifyError | HttpError | Error, request, reply) => {
    if (error instanceof HttpError) {
      reply.headers(error.headers);
      return sendError(reply, error.status, error.message);
    }
    const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500;
    if (status < 500) return sendError(reply, status, error.message);
    log.error({ url: request.raw.url, error: messageOf(error) }, 'request failed');
    return sendError(reply, 500, 'the service failed to answer; try again, or tell its operator');
  });
  return app;
}

function sendError(reply: FastifyReply, status: number, message: string): void {
  reply.removeHeader('content-encoding');
  reply.code(status).type('application/json; charset=utf-8').send(errorBody(message));
}
