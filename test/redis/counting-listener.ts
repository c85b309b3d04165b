import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CountedRequest {
  /** `x-name` of the process that asks. */
  readonly name: string;
  /** What that process takes for the present concurrency limit. */
  readonly current: number;
}

/** A real HTTP listener that counts how many requests are in flight, to the end of their bodies. */
export interface CountingListener extends AsyncDisposable {
  readonly origin: string;
  readonly seen: CountedRequest[];
  /** Most requests in flight at once so far. */
  peak(): number;
  inFlight(): number;
  /** How long the body of a request streams; 'refuse' answers 429. */
  answer(decide: (index: number, request: CountedRequest) => number | 'refuse'): void;
  /** Resolves when a request comes for which this holds; looks at all that come from now on. */
  until(matches: (request: CountedRequest, index: number) => boolean): Promise<void>;
  /** Resolves when no request is in flight. */
  untilIdle(): Promise<void>;
}

export async function startCountingListener(): Promise<CountingListener> {
  const seen: CountedRequest[] = [];
  const watchers = new Set<(request: CountedRequest, index: number) => void>();
  let decide: (index: number, request: CountedRequest) => number | 'refuse' = () => 5;
  const idlers = new Set<() => void>();
  let inFlight = 0;
  let peak = 0;

  const serve = (request: IncomingMessage, response: ServerResponse) => {
    inFlight += 1;
    peak = Math.max(peak, inFlight);
    let counted = true;
    const over = () => {
      if (counted) inFlight -= 1;
      counted = false;
      if (inFlight > 0) return;
      for (const idle of idlers) idle();
      idlers.clear();
    };
    response.on('close', over);
    const one = { name: String(request.headers['x-name']), current: Number(request.headers['x-current']) };
    const bodyMs = decide(seen.push(one) - 1, one);
    for (const watch of watchers) watch(one, seen.length - 1);
    if (bodyMs === 'refuse') {
      over();
      response.writeHead(429).end();
      return;
    }
    response.write('begin');
    setTimeout(() => {
      over();
      response.end('end');
    }, bodyMs);
  };

  const server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    peak: () => peak,
    inFlight: () => inFlight,
    answer: (next) => {
      decide = next;
    },
    until: (matches) =>
      new Promise((resolve) => {
        const watch = (request: CountedRequest, index: number) => {
          if (!matches(request, index)) return;
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
      }),
    untilIdle: () =>
      new Promise((resolve) => {
        if (inFlight === 0) resolve();
        else idlers.add(resolve);
      }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
