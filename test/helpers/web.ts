/** The page for a test: behind a real listener, from a lake of the test's. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type RequestOptions, type Server } from 'node:http';
import { silentLog, systemClock } from '../../src/core/model/index.ts';
import { thisProcess } from '../../src/core/process/process-id.ts';
import { createLazyPage } from '../../src/web/lazy-page.ts';
import type { WebAccess, WebPorts } from '../../src/web/ports.ts';
import { startHttpServer } from './http-server.ts';

export interface ServedPage extends AsyncDisposable {
  /** `http://127.0.0.1:12345` */
  readonly url: string;
  /** `127.0.0.1:12345` */
  readonly host: string;
  readonly server: Server;
  close(): Promise<void>;
}

export type TestPagePorts = Partial<WebPorts> & Pick<WebPorts, 'store' | 'jobs'>;

/** As `schedule`, `worker` and `web` serve it. Without `access` reading is open, and nobody acts. */
export async function servePage(ports: TestPagePorts, access: Partial<WebAccess> = {}): Promise<ServedPage> {
  const whole: WebPorts = {
    clock: systemClock,
    log: silentLog,
    self: thisProcess(),
    apiVersion: '2026-09-10',
    version: '0.0.0-test',
    ...ports,
  };
  const lakeUrl = 'file:///tmp/test-lake';
  const open = { host: '127.0.0.1', readPassword: undefined, actPassword: undefined, lakeUrl };
  const page = createLazyPage(() => ({ ...open, ...access }), whole.log, whole);
  const { server, url, close: stop } = await startHttpServer(page.answer);
  const close = async () => {
    await stop();
    await page.close();
  };
  return { url, host: new URL(url).host, server, close, [Symbol.asyncDispose]: close };
}

/** What only a script of the page sends. */
export const ACT_HEADERS = { 'content-type': 'application/json', 'x-vessel-export': 'act' } as const;

/** Sign in; the `Cookie` header to send from then on. */
export async function signIn(url: string, password: string, name = 'Ada'): Promise<string> {
  const body = JSON.stringify({ name, password });
  const answer = await fetch(`${url}/api/session`, { method: 'POST', headers: ACT_HEADERS, body });
  if (!answer.ok) throw new Error(`signing in: ${answer.status} ${await answer.text()}`);
  return answer.headers.getSetCookie()[0]!.split(';', 1)[0]!;
}

/** An answer to a request whose path and headers go as they are given: `fetch` changes some of them. */
export async function askAsGiven(
  url: string,
  { body = '', headers, ...options }: RequestOptions & { readonly body?: string } = {},
) {
  const [, hostname, port, path] = /^http:\/\/([^:/]+):(\d+)(.*)$/.exec(url)!;
  const all = { 'content-length': Buffer.byteLength(body), ...headers };
  const request = httpRequest({ hostname, port, path: path || '/', ...options, headers: all }).end(body);
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const bytes = Buffer.concat(await answer.toArray());
  return { status: answer.statusCode!, headers: answer.headers, bytes, text: bytes.toString('utf8') };
}
