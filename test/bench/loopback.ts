/** A loopback server of prepared answers, as a script that `startServer` runs. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const TOKEN_SECONDS = 3600;

/** The body of a token endpoint whose tokens nobody checks. */
export function tokenBody(): string {
  const now = Math.floor(Date.now() / 1000);
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const jwt = [{ alg: 'none' }, { iat: now, exp: now + TOKEN_SECONDS }].map(encoded).join('.');
  return JSON.stringify({ access_token: `${jwt}.` });
}

/**
 * Listen on a free port, print one JSON line as `vessel-export service` does, and end when stdin does. An answer that
 * rejects is cut off.
 */
export function serveLoopback(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): void {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      // Who asked went away, or a fault of the bench: either way the body must not look whole.
      if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') console.error(error);
      response.destroy();
    });
  });
  server.listen(0, '127.0.0.1', () => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const address = {
      baseUrl: `${origin}/bench`,
      authUrl: origin,
      clientId: 'bench',
      clientSecret: 'not a secret',
    };
    process.stdout.write(`${JSON.stringify(address)}\n`);
  });
  process.stdin.on('end', () => process.exit()).resume();
}
