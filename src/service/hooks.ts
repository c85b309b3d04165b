/** Where tests take hold of a running service, in its real HTTP path: before every request, before the data, and around every answer. */
import type { FastifyReply } from 'fastify';
import type { Family, TimeRange } from '../core/model/index.ts';
import type { DataSource } from './data/source.ts';

export interface ServiceHooks {
  /** Called when a request arrives, before anything of it is checked. */
  observe?(request: ServedRequest): void;
  /** Called once, with what is served; what it returns is served in its place. */
  watchData?(source: DataSource): DataSource;
  /** Called for requests that were understood: what it returns is sent for `exchange.body()`. May throw HttpError, and change `exchange.reply`. */
  intercept?(exchange: Exchange): Body | Promise<Body>;
}

export interface Exchange {
  readonly request: ServedRequest;
  /** Status and headers as they will be sent; `raw` is the response with its socket. */
  readonly reply: FastifyReply;
  /** The answer as the service makes it: from its own data, or from what `change` makes of that. */
  body(change?: (source: DataSource) => DataSource): Body | Promise<Body>;
}

/** Text at once, or pieces that are made as the client takes them. */
export type Body = string | AsyncIterable<Uint8Array | string>;

/** A request; what is undefined at first is filled in as it becomes known. */
export interface ServedRequest {
  readonly family: Family | 'token';
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  expressions: readonly string[];
  range: TimeRange | undefined;
  clientId: string | undefined;
  /** Set once the answer has ended: its status, or 0 where none was sent. */
  status: number | undefined;
}

export function beginRequest(
  hooks: ServiceHooks,
  family: ServedRequest['family'],
  url: URL,
  reply: FastifyReply,
): ServedRequest {
  const request: ServedRequest = {
    family,
    method: reply.request.method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    expressions: [],
    range: undefined,
    clientId: undefined,
    status: undefined,
  };
  reply.raw.once('close', () => {
    request.status = reply.raw.headersSent ? reply.statusCode : 0;
  });
  hooks.observe?.(request);
  return request;
}

/** What is sent: the service's own body, or what the hook puts in its place. */
export async function interceptedBody(hooks: ServiceHooks, exchange: Exchange): Promise<Body> {
  return hooks.intercept === undefined ? exchange.body() : hooks.intercept(exchange);
}
