/** The page as something that answers requests, whoever listens for them. */
import type { RequestListener } from 'node:http';
import fastify from 'fastify';
import { NO_SCHEMAS } from '../core/no-schemas.ts';
import type { WebAccess, WebPorts } from './ports.ts';
import type { EndedSessions } from './sign-in/ended-sessions.ts';
import { registerWeb } from './sign-in/register.ts';

export { createEndedSessions } from './sign-in/ended-sessions.ts';

/** No request of the page is longer. */
const MAX_BODY_BYTES = 64 * 1024;
/** Names of jobs and vessels in addresses are shorter. */
const MAX_PARAM_CHARS = 500;

export interface OpenedPage {
  readonly answer: RequestListener;
  close(): Promise<void>;
}

export async function openPage(
  ports: WebPorts,
  access: WebAccess,
  ended: EndedSessions,
): Promise<OpenedPage> {
  const server = fastify({
    bodyLimit: MAX_BODY_BYTES,
    schemaController: NO_SCHEMAS,
    trustProxy: (address) => access.isProxy?.(address) === true,
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
  });
  await registerWeb(server, ports, access, ended);
  await server.ready();
  return { answer: (request, response) => server.routing(request, response), close: () => server.close() };
}
