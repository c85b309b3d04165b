/**
 * Connections: how many there may be, and how long a client may take over each step.
 *
 *   too many, in all or of one address   503 or 429, and the connection ends
 *   headers, or the whole request, late  408, and the connection ends
 *   idle after an answer                 ends
 *   an answer that is not taken          ends
 *   a body that nobody reads             ends soon after the answer
 *   requests without waiting (pipelined) one is worked on at a time; too many end the connection
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { clientAddress } from '../logins.ts';
import type { Clock } from '../model/index.ts';
import { errorBody } from './http-error.ts';
import { SAFETY_HEADER_LINES } from './safety-headers.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** From the connection, or the request before, to the end of the headers. */
  readonly headersTimeoutMs: number;
  /** From the moment the body is asked for to its end. */
  readonly bodyTimeoutMs: number;
  /** Of all request bodies that are being read. */
  readonly maxBodyBytesInMemory: number;
  /** Between an answer and the next request. */
  readonly idleTimeoutMs: number;
  /** While an answer waits for its client, this much is taken in every such time. */
  readonly sendWindowMs: number;
  readonly minSentBytesPerWindow: number;
  /** Requests on one connection that have no answer yet. */
  readonly maxPipelined: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: 1_000,
  maxConnectionsPerAddress: 250,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  maxBodyBytesInMemory: 32 * 1024 * 1024,
  idleTimeoutMs: 30_000,
  sendWindowMs: 120_000,
  minSentBytesPerWindow: 64 * 1024,
  maxPipelined: 100,
};

export const MAX_HEADER_BYTES = 64 * 1024;
/** A client that has been answered before it has sent everything gets so long to take the answer in. */
const LINGER_MS = 1_000;
/** Between two looks at who takes nothing. */
const LOOK_MS = 1_000;
/** Refused connections that may linger; the others end at once. */
const MAX_LINGERING = 100;

interface ConnectionOptions {
  readonly limits: ConnectionLimits;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Called for what was answered without having become a request. */
  readonly onRefused: (address: string, status: number, sizeBytes: number) => void;
}

interface Connection {
  readonly address: string;
  /** Requests that have no answer yet. */
  unanswered: number;
  /** Resolves when the answer before has ended. */
  before: Promise<void>;
  /** What is worked on. */
  response: ServerResponse | undefined;
  /** Since when an answer has been waiting for its client, and what had been taken then. */
  waiting: { readonly sinceMs: number; readonly sentBytes: number } | undefined;
}

/** The bytes that libuv has taken and not yet handed to the system: what `bytesWritten` cannot tell apart. */
type SendingSocket = Socket & { readonly _handle?: { bytesWritten: number; writeQueueSize: number } | null };

/** What all listeners of one service share. */
export class Connections {
  readonly #options: ConnectionOptions;
  readonly #open = new Map<Socket, Connection>();
  readonly #perAddress = new Map<string, number>();
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
        // Of bodies that nobody reads; of the others request-body.ts says what is missing.
        requestTimeout: limits.headersTimeoutMs + limits.bodyTimeoutMs + LINGER_MS,
        connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, limits.bodyTimeoutMs) / 4,
        keepAliveTimeout: limits.idleTimeoutMs,
        // Node.js would refuse it without the body of an error.
        requireHostHeader: false,
        keepAlive: true,
        keepAliveInitialDelay: limits.idleTimeoutMs,
      },
      onRequest,
    );
    const serve = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      if (this.#admit(socket)) for (const listener of serve) listener.call(server, socket);
    });
    // Who asks whether to send its body is told when the body is wanted.
    server.on('checkContinue', (request, response) => server.emit('request', request, response));
    server.on('checkExpectation', (request: IncomingMessage) =>
      this.refuse(request.socket, 417, `got Expect '${request.headers.expect}', expected 100-continue`),
    );
    server.on('connect', (request: IncomingMessage) =>
      this.refuse(request.socket, 405, 'this service is no proxy: CONNECT is not served'),
    );
    return server;
  }

  /**
   * Wait until it is this request's turn on its connection. False: the connection has ended, or ends now because
   * too many requests have no answer; nothing is to be done.
   */
  async turn({ socket }: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const connection = this.#open.get(socket);
    if (connection === undefined || socket.destroyed) return false;
    connection.unanswered += 1;
    if (connection.unanswered > this.#options.limits.maxPipelined) {
      socket.destroy();
      return false;
    }
    const { before } = connection;
    connection.before = new Promise((resolve) => {
      response.once('close', () => {
        connection.unanswered -= 1;
        connection.response = undefined;
        resolve();
      });
    });
    response.once('finish', () => endUnlessComplete(response.req));
    await before;
    if (socket.destroyed || this.#lingering.has(socket)) return false;
    connection.response = response;
    return true;
  }

  /** Answer what is no request, and end the connection; without a word where an answer has begun. */
  refuse(socket: Socket, status: number, message: string, headers = ''): void {
    if (this.#lingering.has(socket)) return;
    const isAnswering = this.#open.get(socket)?.response?.headersSent === true;
    if (isAnswering || !socket.writable || this.#lingering.size >= MAX_LINGERING) {
      socket.destroy();
      return;
    }
    const body = errorBody(message);
    const text =
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n${SAFETY_HEADER_LINES}` +
      `${headers}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;
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
    this.#options.onRefused(clientAddress(socket.remoteAddress), status, Buffer.byteLength(text));
  }

  /** End what lingers, for which a server that closes would wait. */
  close(): void {
    for (const socket of this.#lingering) socket.destroy();
  }

  #admit(socket: Socket): boolean {
    const { maxConnections, maxConnectionsPerAddress } = this.#options.limits;
    const address = clientAddress(socket.remoteAddress);
    const ofAddress = this.#perAddress.get(address) ?? 0;
    const retryAfter = 'retry-after: 5\r\n';
    if (this.#open.size >= maxConnections) {
      this.refuse(socket, 503, `${maxConnections} connections are open; try again in 5 s`, retryAfter);
      return false;
    }
    if (ofAddress >= maxConnectionsPerAddress) {
      const found = `${maxConnectionsPerAddress} connections are open from this address`;
      this.refuse(socket, 429, `${found}; close some, or try again in 5 s`, retryAfter);
      return false;
    }
    this.#perAddress.set(address, ofAddress + 1);
    const nothing = { response: undefined, waiting: undefined };
    this.#open.set(socket, { address, unanswered: 0, before: Promise.resolve(), ...nothing });
    this.#watch ??= setInterval(() => this.#endStalled(), LOOK_MS).unref();
    socket.once('close', () => {
      this.#open.delete(socket);
      if (this.#open.size === 0) {
        clearInterval(this.#watch);
        this.#watch = undefined;
      }
      const left = this.#perAddress.get(address)! - 1;
      if (left > 0) this.#perAddress.set(address, left);
      else this.#perAddress.delete(address);
    });
    return true;
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
