import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { messageOf } from '../../core/errors.ts';
import { clientAddress } from '../../core/logins.ts';
import type { Clock, Family, Log } from '../../core/model/index.ts';
import { type AnswerContext, prepareAnswer, type Query } from '../bodies/answers.ts';
import { beginRequest, interceptedBody, type ServedRequest, type ServiceHooks } from '../hooks.ts';
import { type FindDomain, findDomain } from '../query/domains.ts';
import { parsePath, parseQueryExpression, type Selector } from '../query/expressions.ts';
import { CONTENT_TYPES } from '../query/formats.ts';
import { FAMILIES, readParameters } from '../query/parameters.ts';
import { indexSeries } from '../query/series-index.ts';
import type { Turns, Work } from '../turns.ts';
import type { AccessLog } from './access-log.ts';
import type { TokenAuthority } from './credentials.ts';
import { badRequest } from './http-error.ts';
import type { createConcurrencyLimit, createRateLimit } from './limits.ts';
import { MAX_BODY_BYTES, type ReadBody, readExpressions } from './request-body.ts';
import { chooseVersion } from './versions.ts';

export interface RouteContext {
  readonly tenant: string;
  readonly authority: TokenAuthority;
  readonly rateLimit: ReturnType<typeof createRateLimit>;
  readonly concurrencyLimit: ReturnType<typeof createConcurrencyLimit>;
  readonly turns: Turns;
  readonly latencyMs: number;
  readonly readBody: ReadBody;
  readonly accessLog: AccessLog;
  readonly hooks: ServiceHooks;
  readonly clock: Clock;
  readonly log: Log;
  readonly answers: Omit<AnswerContext, 'nowMs' | 'work'>;
}

/** Register `GET /{tenant}/{family}/{domain}/…` and `POST /{tenant}/{family}/query`. */
export function registerRoutes(app: FastifyInstance, context: RouteContext): void {
  for (const family of FAMILIES) {
    const prefix = `/${context.tenant}/${family}`;
    app.get(`${prefix}/*`, (request, reply) =>
      serve(context, family, request, reply, async (_, find) => {
        const rawPath = request.raw.url!.split('?', 1)[0]!;
        return [parsePath(family, rawPath.slice(prefix.length + 1), find)];
      }),
    );
    app.post(`${prefix}/query`, (request, reply) =>
      serve(context, family, request, reply, async (seen, find) => {
        const read = () => context.readBody(request, reply, MAX_BODY_BYTES);
        const expressions = await readExpressions(request, read);
        seen.expressions = expressions;
        return expressions.map((text) => parseQueryExpression(text, find));
      }),
    );
  }
}

async function serve(
  context: RouteContext,
  family: Family,
  request: FastifyRequest,
  reply: FastifyReply,
  selectors: (seen: ServedRequest, find: FindDomain) => Promise<readonly Selector[]>,
): Promise<FastifyReply> {
  const url = new URL(request.raw.url!, 'http://service');
  const seen = beginRequest(context.hooks, family, url, reply);
  const nowMs = context.clock.nowMs();
  context.rateLimit(clientAddress(request.socket.remoteAddress), nowMs);
  const bearer = await context.authority.check(request.headers.authorization);
  seen.clientId = bearer.clientId;
  context.accessLog.identify(request.raw, bearer.clientId);
  const leave = context.concurrencyLimit(bearer.clientId);
  const work = context.turns.begin();
  // The client may have gone while its token was checked.
  if (reply.raw.closed) work.close();
  else reply.raw.once('close', () => work.close());
  // A place is taken for as long as there is work, whoever still listens.
  void work.ended.then(leave);
  if (context.latencyMs > 0) await context.clock.sleep(context.latencyMs);

  const version = chooseVersion(headerText(request, 'x-api-version'), nowMs);
  reply.header('api-version', version.name);
  const { otherDomains } = indexSeries(context.answers.source.series);
  const find = (name: string) => findDomain(name) ?? otherDomains.find(name, bearer.mayRead);
  const query: Query = {
    family,
    version,
    selectors: await selectors(seen, find),
    parameters: readParameters(family, url.searchParams),
    accept: request.headers.accept,
    mayRead: bearer.mayRead,
    findDomain: find,
  };
  const answer = await prepareAnswer(query, { ...context.answers, nowMs, work }).catch((error: unknown) => {
    if (!work.signal.aborted) throw error;
  });
  // Nobody is there to be told.
  if (answer === undefined) return reply.hijack();
  seen.range = answer.range;

  reply.header('content-type', CONTENT_TYPES[answer.format]);
  const { source } = context.answers;
  const body = await interceptedBody(context.hooks, {
    request: seen,
    reply,
    body: (change) => answer.body(change?.(source) ?? source),
  });
  if (typeof body === 'string') return reply.send(body);
  // A piece is made when the client has taken the one before, and one more waits.
  const pieces = Readable.from(work.making(logged(context, request, work, body)), { highWaterMark: 1 });
  return reply.send(pieces);
}

/** The body; what breaks it off after its headers were sent can only be told to the operator. */
async function* logged(
  { log }: RouteContext,
  request: FastifyRequest,
  { signal }: Work,
  body: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array | string> {
  try {
    yield* body;
  } catch (error) {
    if (!signal.aborted) log.error({ requestId: request.id, error: messageOf(error) }, 'an answer broke off');
    throw error;
  }
}

function headerText(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  if (Array.isArray(value)) throw badRequest(`header ${name} is given ${value.length} times`);
  return value;
}
