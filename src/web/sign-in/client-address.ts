import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { clientAddress } from '../../core/logins.ts';

export type Client = Pick<FastifyRequest, 'ip' | 'socket'>;

/**
 * From where somebody asks, as limits count it: the connection's other end, or, where that is a proxy that is believed
 * (`TRUSTED_PROXY`), the last address of `X-Forwarded-For` that is none. Some proxies write ports too.
 */
export function addressOf({ ip, socket }: Client): string {
  const address = ip.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2');
  return clientAddress(isIP(address.replace(/%.*$/, '')) === 0 ? socket.remoteAddress : address);
}
