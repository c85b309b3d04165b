/** From where somebody asks, and what those who ask may have at once of something that is bounded, in all and each. */
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress } from '../core/logins.ts';
import { WebError } from './web-error.ts';

export type Client = Pick<FastifyRequest, 'ip' | 'socket'>;

/** The connection's other end, or the last address of `X-Forwarded-For` that is no proxy of ours. */
export function addressOf({ ip, socket }: Client): string {
  const address = ip.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2');
  return clientAddress(isIP(address.replace(/%.*$/, '')) === 0 ? socket.remoteAddress : address);
}

interface SharesOptions {
  readonly what: string;
  readonly max: number;
  readonly maxOfClient: number;
}

/** Taken until the answer has ended. Throws WebError 503 `busy` where no more is to be had. */
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
    // One alone is never too large.
    const isOver = (now: number, most: number) => now > 0 && now + amount > most;
    if (isOver(total, max) || isOver(taken.get(client) ?? 0, maxOfClient))
      throw new WebError(503, 'busy', `there are too many ${what} at once; try again later`);
    change(client, amount);
    raw.once('close', () => change(client, -amount));
  };
}
