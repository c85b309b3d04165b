/** The client's address, and limits on what clients may use at once, in total and per address. */
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress } from '../core/logins.ts';
import { WebError } from './web-error.ts';

export type Client = Pick<FastifyRequest, 'ip' | 'socket'>;

/** The address of the connection, or the last one in `X-Forwarded-For` that is no trusted proxy. */
export function addressOf({ ip, socket }: Client): string {
  const address = ip.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2');
  return clientAddress(isIP(address.replace(/%.*$/, '')) === 0 ? socket.remoteAddress : address);
}

interface SharesOptions {
  readonly what: string;
  readonly max: number;
  readonly maxOfClient: number;
}

/** Reserved until the answer has ended. Throws WebError 503 `busy` if the limit is reached. */
type TakeShare = (client: Client, reply: Pick<FastifyReply, 'raw'>, amount: number) => void;

export function createShares({ what, max, maxOfClient }: SharesOptions): TakeShare {
  const taken = new Map<string, number>();
  let total = 0;
  const change = (client: string, amount: number) => {
    const ofClient = (taken.get(client) ?? 0) + amount;
    if (ofClient === 0) taken.delete(client);
    else taken.set(client, ofClient);
    total += amount;
  };
  return (asking, { raw }, amount) => {
    if (raw.closed) return;
    const client = addressOf(asking);
    // A single request is never too large.
    const isOver = (now: number, most: number) => now > 0 && now + amount > most;
    if (isOver(total, max) || isOver(taken.get(client) ?? 0, maxOfClient))
      throw new WebError(503, 'busy', `there are too many ${what} at once; try again later`);
    change(client, amount);
    raw.once('close', () => change(client, -amount));
  };
}
