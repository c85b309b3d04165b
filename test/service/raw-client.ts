/** Clients that speak to a service in bytes of their own, and what they send. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ServiceOptions } from '../../src/service/options.ts';
import { openService, type TestService, VESSEL } from './running-service.ts';

export interface RawClient {
  readonly socket: Socket;
  /** All that has come so far. */
  readonly received: string;
  send(text: string): void;
  /** Resolves when what has come matches. */
  until(shape: RegExp): Promise<void>;
  /** Resolves with all that came when the service has ended the connection. */
  readonly ended: Promise<string>;
}

export async function openRaw(url: string, localAddress = '127.0.0.1'): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress });
  let received = '';
  // A connection that is cut while we send is a way to end it.
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  const ended = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(received));
  });
  await once(socket, 'connect');
  return {
    socket,
    get received() {
      return received;
    },
    ended,
    send: (text) => void (socket.writable && socket.write(text, 'latin1')),
    until: (shape) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!shape.test(received)) return;
          socket.off('data', look);
          resolve();
        };
        socket.on('data', look);
        socket.once('close', () => reject(new Error(`ended after: ${received.slice(0, 500)}`)));
        look();
      }),
  };
}

export const ROLL = `/test/metadata/flat/${VESSEL}/Roll`;
export const QUERY = `["flat/${VESSEL}/Roll"]`;
/** Never over within a test. */
export const LONG = { headersTimeoutMs: 600_000, bodyTimeoutMs: 600_000, idleTimeoutMs: 600_000 };

const clients: RawClient[] = [];

/** After each test. */
export function endClients(): void {
  for (const { socket } of clients.splice(0)) socket.destroy();
}

export async function open(s: TestService, localAddress?: string): Promise<RawClient> {
  const client = await openRaw(s.service.baseUrl, localAddress);
  clients.push(client);
  return client;
}

export function serve(limits: ServiceOptions['connectionLimits'] = {}): Promise<TestService> {
  return openService({ connectionLimits: { ...LONG, ...limits } });
}

export async function post(s: TestService, ...headers: string[]): Promise<string> {
  const lines = [`authorization: Bearer ${await s.token()}`, 'content-type: application/json', ...headers];
  return `POST /test/metadata/query HTTP/1.1\r\nhost: x\r\n${lines.join('\r\n')}\r\n\r\n`;
}

export async function get(s: TestService, path = ROLL): Promise<string> {
  return `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${await s.token()}\r\n\r\n`;
}

export const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map((match) => Number(match[1]));
export const ERROR_BODY = /\r\n\r\n\{"error":"[^"]+"(?:,"error_description":"[^"]+")?\}$/;
