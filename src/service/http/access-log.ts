/** The access log, and the ids that join its lines to what client and service log elsewhere. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { cleanForeignText } from '../../core/errors.ts';
import { clientAddress } from '../../core/logins.ts';
import { type Clock, type Log, silentLog } from '../../core/model/index.ts';
import { percentDecoded } from '../../core/model/web-address.ts';

const MAX_PATH_CHARS = 200;
const MAX_REQUEST_ID_CHARS = 64;
/** What looks like a JWT is one. */
const TOKEN = /eyJ[\w-]+\.[\w-]+(\.[\w-]*)?/g;

/** The client's `x-request-id`, cut to 64 characters of letters, digits and `._:-`; one of our own where it has none. */
export function requestIdOf(request: IncomingMessage, secrets: readonly string[]): string {
  const given = request.headers['x-request-id'];
  if (typeof given !== 'string' || withoutSecrets(given, secrets) !== given) return randomUUID();
  const clean = given.replace(/[^\w.:-]+/g, '').slice(0, MAX_REQUEST_ID_CHARS);
  return clean === '' ? randomUUID() : clean;
}

/** The path of a request as it may be logged: without its query, which may hold anything. */
export function loggedPath(request: IncomingMessage, secrets: readonly string[]): string {
  const path = (request.url ?? '').split(/[?#]/, 1)[0]!.slice(0, 10 * MAX_PATH_CHARS);
  return cleanForeignText(withoutSecrets(path, secrets), [], MAX_PATH_CHARS);
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  const plain = percentDecoded(text) ?? text;
  const shown = secrets.some((secret) => plain.includes(secret)) ? '***' : text;
  return shown.replace(TOKEN, '***');
}

export type AccessLog = ReturnType<typeof createAccessLog>;

/** One line an answer, to `log`; none where there is no log. `secrets` are never shown. */
export function createAccessLog(
  log: Log = silentLog,
  clock: Pick<Clock, 'monotonicMs'>,
  secrets: readonly string[],
) {
  const clientIds = new WeakMap<IncomingMessage, string>();
  return {
    /** A request has come: it is logged when its answer has ended. */
    begin(request: IncomingMessage, response: ServerResponse, requestId: string): void {
      const { socket } = request;
      const address = clientAddress(socket.remoteAddress);
      const startedMs = clock.monotonicMs();
      const writtenBefore = socket.bytesWritten ?? 0;
      response.once('close', () => {
        const fields = {
          address,
          clientId: clientIds.get(request),
          method: request.method,
          path: loggedPath(request, secrets),
          // 0: it went away before it was answered.
          status: response.headersSent ? response.statusCode : 0,
          bytes: (socket.bytesWritten ?? 0) - writtenBefore - (socket.destroyed ? 0 : socket.writableLength),
          durationMs: Math.round(clock.monotonicMs() - startedMs),
          requestId,
          ...(!response.writableFinished && { brokenOff: true }),
        };
        log.info(fields, 'request');
      });
    },
    /** Whose request it is, once that is known. */
    identify: (request: IncomingMessage, clientId: string) =>
      void clientIds.set(request, cleanForeignText(clientId, secrets, 64)),
    /** A connection was refused, or what came was no request. */
    refused: (address: string, status: number, bytes: number) =>
      log.info({ address, status, bytes }, 'refused'),
  };
}
