import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { startHttpServer } from '../helpers/http-server.ts';

export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly bodyBytes: number;
}

/** What happens to a request on its way. */
export type Fault =
  /** Answered here; the server never sees it. */
  | { readonly kind: 'answer'; readonly status: number; readonly body: string }
  /** The server does it; the connection ends before the answer. */
  | { readonly kind: 'lose-answer' }
  /** The server does it; another answer is given. */
  | { readonly kind: 'replace-answer'; readonly status: number; readonly body: string }
  /** The answer's body ends after half of it. */
  | { readonly kind: 'cut-answer' }
  /** A byte of the body is changed. */
  | { readonly kind: 'damage' }
  /** The connection ends at once; the server gets the request so much later. */
  | { readonly kind: 'late'; readonly afterMs: number }
  /** Never answered; the server never sees it. */
  | { readonly kind: 'hang' }
  /** The connection ends at once; the server never sees it. */
  | { readonly kind: 'break' }
  /** The server sees it when the promise has resolved. */
  | { readonly kind: 'hold'; readonly until: Promise<void> };

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;

/**
 * `refuse`: what a server that can do more would answer before it acts; asked of every request. For conditions that
 * the real server ignores.
 */
export async function startFaultProxy(
  target: string,
  refuse: (request: SeenRequest) => Promise<number | undefined> = async () => undefined,
) {
  const seen: SeenRequest[] = [];
  let matches = (_: SeenRequest): boolean => false;
  let faults: Fault[] = [];
  let connections = 0;
  let maxConnections = 0;
  let always: ((request: SeenRequest) => Fault | undefined) | undefined;
  const late = new Set<Promise<unknown>>();
  const agent = new Agent({ keepAlive: true });

  const listener = await startHttpServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const { method = '', url = '', headers } = request;
    const entry = { method, url, headers, bodyBytes: body.length };
    seen.push(entry);
    const fault = always?.(entry) ?? (faults.length > 0 && matches(entry) ? faults.shift() : undefined);
    if (fault?.kind === 'late') {
      response.destroy();
      const delivery = setTimeout(fault.afterMs)
        .then(() => forward(target, agent, request, body))
        .catch(() => {});
      late.add(delivery);
      return void delivery.then(() => late.delete(delivery));
    }
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'break') return void response.destroy();
    if (fault?.kind === 'answer') return void response.writeHead(fault.status).end(fault.body);
    if (fault?.kind === 'hold') await fault.until;
    if (fault?.kind === 'damage') body[0] = body[0]! ^ 1;
    const refused = await refuse(entry);
    // A store that only says that it has written names a version all the same.
    const named = refused === 200 ? { etag: '"0123456789abcdef0123456789abcdef"' } : {};
    if (refused !== undefined) return void response.writeHead(refused, named).end();
    const answer = await forward(target, agent, request, body);
    giveAnswer(answer, response, fault);
  });
  listener.server.on('connection', (socket) => {
    maxConnections = Math.max(maxConnections, ++connections);
    socket.on('close', () => connections--);
  });

  return {
    endpoint: listener.url,
    seen,
    /** Most connections that were open at once. */
    get maxConnections() {
      return maxConnections;
    },
    /** The next requests that match get these faults, one each. */
    script(newMatches: typeof matches, ...newFaults: Fault[]) {
      matches = newMatches;
      faults = newFaults;
    },
    /** From now on every request gets the fault that is named for it; undefined: none does. */
    get always() {
      return always;
    },
    set always(faultOf) {
      always = faultOf;
    },
    /** Resolves when the server has had every late request. */
    async delivered() {
      await Promise.all(late);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(late);
      agent.destroy();
      await listener.close();
    },
  };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** The signature covers the Host header, so it is sent as the client made it. */
async function forward(
  target: string,
  agent: Agent,
  request: IncomingMessage,
  body: Buffer,
): Promise<Answer> {
  const { method, headers } = request;
  const forwarded = httpRequest(`${target}${request.url}`, { agent, method, headers });
  forwarded.end(body);
  const [answer] = (await once(forwarded, 'response')) as [IncomingMessage];
  return { status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(await answer.toArray()) };
}

function giveAnswer(answer: Answer, response: ServerResponse, fault: Fault | undefined): void {
  switch (fault?.kind) {
    case 'lose-answer':
      response.destroy();
      return;
    case 'replace-answer':
      response.writeHead(fault.status).end(fault.body);
      return;
    case 'cut-answer':
      response.writeHead(answer.status, { ...answer.headers, 'content-length': String(answer.body.length) });
      response.write(answer.body.subarray(0, answer.body.length / 2), () => response.destroy());
      return;
    default:
      response.writeHead(answer.status, answer.headers).end(answer.body);
  }
}
