/** The page as a handler of requests, for any listener. */
import type { RequestListener } from 'node:http';
import type { FastifyError, FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { endsWithin } from '../core/concurrency.ts';
import {
  ConfigError,
  codeOf,
  messageOf,
  RefusedError,
  RetriableError,
  VesselExportError,
} from '../core/errors.ts';
import type { Layout } from '../core/model/index.ts';
import { maskUrl } from '../core/model/web-address.ts';
import { NO_SCHEMAS } from '../core/no-schemas.ts';
import { readLayout } from '../lake/lake-file.ts';
import { registerActs } from './acts.ts';
import type { AboutAnswer, ErrorAnswer } from './answers.ts';
import { registerCoverage } from './coverage.ts';
import { registerFleet } from './fleet.ts';
import type { WebAccess, WebPorts } from './ports.ts';
import { createShares } from './shares.ts';
import type { EndedSessions } from './sign-in/ended-sessions.ts';
import { guardApi, guardHost } from './sign-in/guard.ts';
import { openSessions } from './sign-in/sessions.ts';
import { registerProvider, registerSignIn } from './sign-in/sign-in.ts';
import { compress, encodingFor, MIN_COMPRESSED_BYTES, registerFiles } from './static-files.ts';
import { registerVesselDay } from './vessel-day.ts';
import { WebError } from './web-error.ts';

export { createEndedSessions } from './sign-in/ended-sessions.ts';

/** No request of the page is longer. */
const MAX_BODY_BYTES = 64 * 1024;
/** Names of jobs and vessels in addresses are shorter. */
const MAX_PARAM_CHARS = 500;

export type OpenedPage = Awaited<ReturnType<typeof openPage>>;

export async function openPage(ports: WebPorts, access: WebAccess, ended: EndedSessions) {
  const server = fastify({
    bodyLimit: MAX_BODY_BYTES,
    schemaController: NO_SCHEMAS,
    trustProxy: (address) => access.isProxy?.(address) === true,
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
  });
  guardHost(server, access);
  answerErrors(server, ports);
  // Only JSON bodies are read.
  server.removeContentTypeParser('text/plain');
  server.setNotFoundHandler(async (_request, reply) =>
    reply.code(404).type('text/plain; charset=utf-8').send('Nothing is served here. The page is at /\n'),
  );
  await registerFiles(server);
  const signIn = { sessions: await openSessions(access, ports.clock), ended };
  await server.register(
    async (api) => {
      guardApi(api, ports, access, signIn);
      compressAnswers(api);
      registerSignIn(api, ports, access, signIn);
      registerProvider(api, ports, access, signIn);
      api.setNotFoundHandler(async ({ method }) => {
        throw new WebError(404, 'no-such-answer', `there is no answer to ${method} at this address`);
      });
      registerAbout(api, ports, access);
      registerCoverage(api, ports);
      registerVesselDay(api, ports);
      registerFleet(api, ports);
      registerActs(api, { ...ports, ended });
    },
    { prefix: '/api' },
  );
  await server.ready();
  const answer: RequestListener = (request, response) => server.routing(request, response);
  return { answer, close: () => server.close() };
}

/** Errors as ErrorAnswer: our errors are shown, others are only logged. */
function answerErrors(server: FastifyInstance, { log }: WebPorts): void {
  server.setErrorHandler(async (error: FastifyError | Error, request, reply) => {
    const status = statusOf(error);
    if (status === 500)
      log.error(
        { path: request.routeOptions.url ?? null, code: codeOf(error), error: messageOf(error) },
        'the page could not be answered',
      );
    const isTold = status < 500 || error instanceof VesselExportError;
    const code = error instanceof VesselExportError ? error.code : status < 500 ? 'usage' : codeOf(error);
    const message = isTold ? messageOf(error) : 'the server failed to respond; its log has the reason';
    // A temporary error allows a retry soon.
    if (status === 503) reply.header('retry-after', '2');
    return reply
      .removeHeader('content-encoding')
      .code(status)
      .type('application/json; charset=utf-8')
      .send({ error: { code, message } } satisfies ErrorAnswer);
  });
}

function statusOf(error: FastifyError | Error): number {
  if (error instanceof WebError) return error.status;
  if (error instanceof ConfigError) return error.code === 'unknown-job' ? 404 : 400;
  if (error instanceof RefusedError) return 409;
  if (error instanceof RetriableError) return 503;
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500;
  return status >= 400 && status < 500 ? status : 500;
}

/** Maximum bytes of large answers that are being sent, before compression. */
const ANSWERS = { what: 'bytes of answers on their way', max: 64 << 20, maxOfClient: 32 << 20 };
const SMALL_ANSWER_BYTES = 64 << 10;

/** JSON only: ranges of an object have their own limits. */
function compressAnswers(api: FastifyInstance): void {
  const take = createShares(ANSWERS);
  api.addHook('onSend', async (request, reply, payload) => {
    const isJson = String(reply.getHeader('content-type') ?? '').startsWith('application/json');
    if (!isJson || !(typeof payload === 'string' || Buffer.isBuffer(payload))) return payload;
    reply.header('vary', 'accept-encoding');
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    if (bytes.byteLength > SMALL_ANSWER_BYTES) take(request, reply, bytes.byteLength);
    const encoding = encodingFor(request.headers['accept-encoding']);
    const isEncoded = reply.hasHeader('content-encoding');
    if (encoding === 'identity' || isEncoded || bytes.byteLength < MIN_COMPRESSED_BYTES) return bytes;
    reply.header('content-encoding', encoding).removeHeader('content-length');
    return await compress(bytes, encoding, false);
  });
}

/** The view of the fleet must work without the lake. */
const LAKE_PATIENCE_MS = 1_000;

function registerAbout(api: FastifyInstance, ports: WebPorts, { lakeUrl }: WebAccess): void {
  const layoutNow = createLayoutQuestion(ports);
  api.get('/about', async (): Promise<AboutAnswer> => {
    const { version, clock, fleet, jobs } = ports;
    const layout = await layoutNow();
    return {
      ...{ version, lakeUrl: maskUrl(lakeUrl, true), layout },
      nowMs: clock.nowMs(),
      hasFleet: fleet !== undefined,
      jobs: jobs.map(({ name, dataset, schedule }) => ({
        name,
        dataset,
        hasSchedule: schedule !== undefined,
      })),
    };
  });
}

/** Read again until the lake is a delta lake, which is final: `convert` may run while the page is open. */
function createLayoutQuestion({ store, clock }: WebPorts): () => Promise<Layout> {
  let known: Layout | undefined;
  return async () => {
    if (known === 'delta') return known;
    const reading = readLayout(store).then((layout) => {
      known = layout;
      return layout;
    });
    if (known === undefined) return await reading;
    await endsWithin(reading, LAKE_PATIENCE_MS, clock);
    return known;
  };
}
