/** The page, opened at its first request: a process whose page is not used does not pay for it. */
import type { RequestListener, ServerResponse } from 'node:http';
import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/model/index.ts';
import type { OpenedPage } from './open-page.ts';
import type { WebAccess, WebPorts } from './ports.ts';
import type { EndedSessions } from './sign-in/ended-sessions.ts';
import { closedBecause } from './sign-in/guard.ts';

/** Opened at the first request, and again at the next one if that failed or a secret has changed. */
export function createLazyPage(accessNow: () => WebAccess, log: Log, ports: WebPorts) {
  let access = accessNow();
  let opening: Promise<OpenedPage> | undefined;
  /** Ended sessions stay ended when the page is opened again: the secret that changed may be another one than theirs. */
  let ended: EndedSessions | undefined;
  const open = async () => {
    const { createEndedSessions, openPage } = await import('./open-page.ts');
    ended ??= createEndedSessions(ports);
    return await openPage(ports, access, ended);
  };
  const close = async () => await (await opening?.catch(() => undefined))?.close();
  const takeNewSecrets = () => {
    const now = accessNow();
    if (secretsOf(now).every((secret, at) => secret === secretsOf(access)[at])) return;
    close().catch((error: unknown) => log.debug({ error: messageOf(error) }, 'the page before'));
    [access, opening] = [now, undefined];
  };
  const answer: RequestListener = async (request, response) => {
    setPageHeaders(response);
    takeNewSecrets();
    const closed = closedBecause(access);
    if (closed !== undefined) return sendText(response, 403, closed);
    try {
      opening ??= open();
      const page = await opening;
      page.answer(request, response);
    } catch (error) {
      opening = undefined;
      log.error({ error: messageOf(error) }, 'the page cannot be opened');
      response.setHeader('retry-after', '10');
      sendText(response, 503, 'The page cannot be opened now; the log says why. Try again.');
    }
  };
  return { answer, close };
}

function secretsOf({ readPassword, actPassword, named }: WebAccess): readonly (string | undefined)[] {
  return [readPassword, actPassword, named?.provider?.clientSecret];
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  // Answers depend on the user, so they are not cached; files set their own header.
  'cache-control': 'no-store',
};

/** Set first, so that later code can replace them. */
function setPageHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}
