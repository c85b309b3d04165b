/** Clients that speak to a service in bytes of their own. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

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
