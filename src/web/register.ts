/** The page and its answers, on a server that others have opened. */
import type { FastifyInstance } from 'fastify';
import type { WebPorts } from './ports.ts';

export async function registerWeb(server: FastifyInstance, ports: WebPorts): Promise<void> {
  await server.register(async (_api) => {}, { prefix: '/api' });
  void ports;
}
