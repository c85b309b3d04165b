/**
 * Connections of a listener: how many there may be, and how long a client may take over each step.
 *
 *   too many, in all or of one address   503 or 429, and the connection ends; where there are spare ones, it is one of
 *                                        these, and its request is refused unless it is one that must not be starved
 *   headers, or the whole request, late  408, and the connection ends
 *   idle after an answer                 ends
 *   an answer that is not taken          ends
 *   a body that nobody reads             ends soon after the answer
 *   requests without waiting (pipelined) one is worked on at a time; too many end the connection
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { clientAddress } from './logins.ts';
import type { Clock } from './model/index.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** From the connection, or the request before, to the end of the headers. */
  readonly headersTimeoutMs: number;
  /** From the moment the body is asked for to its end. */
  readonly bodyTimeoutMs: number;
  /** Between an answer and the next request. */
  readonly idleTimeoutMs: number;
  /** While an answer waits for its client, this much is taken in every such time. */
  readonly sendWindowMs: number;
  readonly minSentBytesPerWindow: number;
  /** Requests on one connection that have no answer yet. */
  readonly maxPipelined: number;
}

/** The service's limits; who listens for fewer clients has fewer connections. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: 1_000,
  maxConnectionsPerAddress: 250,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  idleTimeoutMs: 30_000,
  sendWindowMs: 120_000,
  minSentBytesPerWindow: 64 * 1024,
  maxPipelined: 100,
};

export const MAX_HEADER_BYTES = 64 * 1024;
/** A client that has been answered before it has sent everything gets so long to take the answer in. */
const LINGER_MS = 1_000;
const POLL_MS = 1_000;
/** Refused connections that may linger; the others end at once. */
const MAX_LINGERING = 100;
/** Connections beyond the bounds, for requests that must not be starved. */
const MAX_SPARE = 128;
const RETRY_AFTER_S = 5;

interface ConnectionOptions {
  readonly limits: ConnectionLimits;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Body and header lines (each with its end) of an answer that is written to the socket as it is. */
  readonly refusal: (message: string) => { readonly body: string; readonly headers: string };
  /** Called for what was answered without having become a request. */
  readonly onRefused?: (address: string, status: number, sizeBytes: number) => void;
  /** Do many clients stand behind this address? It has no bound of its own. Absent: none is one. */
  readonly isProxy?: (remoteAddress: string | undefined) => boolean;
  /** Is it a request that is answered however many connections there are? Absent: none is. */
  readonly isSpared?: (request: IncomingMessage) => boolean;
}

interface Excess {
  readonly status: 429 | 503;
  readonly message: string;
}

interface Connection {
  readonly address: string;
  /** Why it is a spare one; undefined: it is none. */
  readonly excess: Excess | undefined;
  unanswered: number;
  /** Resolves when the answer before has ended. */
  before: Promise<void>;
  response: ServerResponse | undefined;
  /** Since when an answer has been waiting for its client, and what had been taken then. */
  waiting: { readonly sinceMs: number; readonly sentBytes: number } | undefined;
}

/** The bytes that libuv has taken and not yet handed to the system: what `bytesWritten` cannot tell apart. */
type SendingSocket = Socket & { readonly _handle?: { bytesWritten: number; writeQueueSize: number } | null };

export class Connections {
  readonly #options: ConnectionOptions;
  /** The oldest first. */
  readonly #open = new Map<Socket, Connection>();
  readonly #lingering = new Set<Socket>();
  #watch: NodeJS.Timeout | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** A server whose connections are admitted, timed and ended as above. */
  listener(onRequest: RequestListener): Server {
    const { limits } = this.#options;
    const server = createServer(
      {
        maxHeaderSize: MAX_HEADER_BYTES,
        headersTimeout: limits.headersTimeoutMs,
        // For bodies that nobody reads; request-body.ts says what is missing of the others.
        requestTimeout: limits.headersTimeoutMs + limits.bodyTimeoutMs + LINGER_MS,
        connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, limits.bodyTimeoutMs) / 4,
        keepAliveTimeout: limits.idleTimeoutMs,
        // Node.js would refuse it without the body of an error.
        requireHostHeader: false,
        keepAlive: true,
        keepAliveInitialDelay: limits.idleTimeoutMs,
      },
      (request, response) => void this.#serve(request, response, onRequest),
    );
    const serve = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      if (this.#admit(socket)) for (const listener of serve) listener.call(server, socket);
    });
    // A client that asks whether to send its body is told when the body is wanted.
    server.on('checkContinue', (request, response) => server.emit('request', request, response));
    server.on('checkExpectation', (request: IncomingMessage) =>
      this.refuse(request.socket, 417, `got Expect '${request.headers.expect}', expected 100-continue`),
    );
    server.on('connect', (request: IncomingMessage) =>
      this.refuse(request.socket, 405, 'this service is no proxy: CONNECT is not served'),
    );
    return server;
  }

  /** Hand on a request when its turn on its connection has come, unless the connection has ended or ends now. */
  async #serve(request: IncomingMessage, response: ServerResponse, onRequest: RequestListener) {
    const { socket } = request;
    const connection = this.#open.get(socket);
    if (connection === undefined || socket.destroyed) return;
    connection.unanswered += 1;
    if (connection.unanswered > this.#options.limits.maxPipelined) return void socket.destroy();
    const { before, excess } = connection;
    connection.before = new Promise((resolve) => {
      response.once('close', () => {
        connection.unanswered -= 1;
        connection.response = undefined;
        resolve();
      });
    });
    response.once('finish', () => endUnlessComplete(request));
    if (connection.unanswered > 1) await before;
    if (socket.destroyed || this.#lingering.has(socket)) return;
    if (excess !== undefined) {
      if (this.#options.isSpared?.(request) !== true) return this.#refuseExcess(socket, excess);
      response.setHeader('connection', 'close');
    }
    connection.response = response;
    onRequest(request, response);
  }

  /** Answer what is no request, and end the connection; without a word where an answer has begun. */
  refuse(socket: Socket, status: number, message: string, headers = ''): void {
    if (this.#lingering.has(socket)) return;
    const isAnswering = this.#open.get(socket)?.response?.headersSent === true;
    if (isAnswering || !socket.writable || this.#lingering.size >= MAX_LINGERING)
      return void socket.destroy();
    const refusal = this.#options.refusal(message);
    const text =
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${refusal.headers}${headers}` +
      `content-length: ${Buffer.byteLength(refusal.body)}\r\nconnection: close\r\n\r\n${refusal.body}`;
    this.#lingering.add(socket);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket
      .once('error', () => socket.destroy())
      .once('end', () => socket.destroySoon())
      .once('close', () => {
        clearTimeout(timer);
        this.#lingering.delete(socket);
      });
    socket.end(text);
    // Bytes that were never read would take the answer with them.
    socket.resume();
    this.#options.onRefused?.(clientAddress(socket.remoteAddress), status, Buffer.byteLength(text));
  }

  /** End what lingers, for which a server that closes would wait. */
  close(): void {
    for (const socket of this.#lingering) socket.destroy();
  }

  #refuseExcess(socket: Socket, { status, message }: Excess): void {
    this.refuse(socket, status, message, `retry-after: ${RETRY_AFTER_S}\r\n`);
  }

  #admit(socket: Socket): boolean {
    const address = clientAddress(socket.remoteAddress);
    const counted = [...this.#open.values()].filter((one) => one.excess === undefined);
    const ofAddress = counted.filter((one) => one.address === address);
    const excess = this.#excess(socket, counted.length, ofAddress.length);
    if (excess !== undefined && this.#options.isSpared === undefined) {
      this.#refuseExcess(socket, excess);
      return false;
    }
    if (excess !== undefined && this.#open.size - counted.length >= MAX_SPARE) this.#endOldestSpare();
    const nothing = { response: undefined, waiting: undefined };
    this.#open.set(socket, { address, excess, unanswered: 0, before: Promise.resolve(), ...nothing });
    this.#watch ??= setInterval(() => this.#endStalled(), POLL_MS).unref();
    socket.once('close', () => this.#forget(socket));
    return true;
  }

  #excess({ remoteAddress }: Socket, counted: number, ofAddress: number): Excess | undefined {
    const { maxConnections, maxConnectionsPerAddress } = this.#options.limits;
    const next = `try again in ${RETRY_AFTER_S} s`;
    if (counted >= maxConnections)
      return { status: 503, message: `${maxConnections} connections are open; ${next}` };
    if (ofAddress < maxConnectionsPerAddress || this.#options.isProxy?.(remoteAddress)) return undefined;
    const found = `${maxConnectionsPerAddress} connections are open from this address`;
    return { status: 429, message: `${found}; close some, or ${next}` };
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    if (this.#open.size > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  /** Ends one of the address that has most: what comes must find a place, and a probe is over within moments. */
  #endOldestSpare(): void {
    const spare = [...this.#open].filter(([, { excess }]) => excess !== undefined);
    const byAddress = [...Map.groupBy(spare, ([, { address }]) => address).values()];
    const most = byAddress.reduce((found, one) => (one.length > found.length ? one : found));
    const [socket] = most[0]!;
    socket.destroy();
    this.#forget(socket);
  }

  /** End the connections whose clients have taken too little of what waits for them. */
  #endStalled(): void {
    const { sendWindowMs, minSentBytesPerWindow } = this.#options.limits;
    const nowMs = this.#options.clock.monotonicMs();
    for (const [socket, connection] of this.#open) {
      const { bytesWritten = 0, writeQueueSize = 0 } = (socket as SendingSocket)._handle ?? {};
      const sentBytes = bytesWritten - writeQueueSize;
      if (writeQueueSize === 0) connection.waiting = undefined;
      else connection.waiting ??= { sinceMs: nowMs, sentBytes };
      if (connection.waiting === undefined || nowMs - connection.waiting.sinceMs < sendWindowMs) continue;
      if (sentBytes - connection.waiting.sentBytes < minSentBytesPerWindow) socket.destroy();
      else connection.waiting = { sinceMs: nowMs, sentBytes };
    }
  }
}

/** The answer has gone, and the request is still coming: what nobody reads is thrown away, but not for long. */
function endUnlessComplete(request: IncomingMessage): void {
  if (request.complete) return;
  setTimeout(() => {
    if (!request.complete) request.socket.destroy();
  }, LINGER_MS).unref();
}
