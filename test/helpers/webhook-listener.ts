import type { IncomingHttpHeaders } from 'node:http';
import { startHttpServer } from './http-server.ts';

interface ReceivedChange {
  readonly what: string;
  readonly cause: string;
  readonly job?: string;
  readonly text: string;
  readonly members: readonly string[];
  readonly more: number;
}

interface ReceivedMessage {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly json: {
    readonly id: string;
    readonly text: string;
    readonly test?: boolean;
    /** Not in the format of chats. */
    readonly changes?: readonly ReceivedChange[];
  };
}

export interface WebhookListener extends AsyncDisposable {
  readonly url: string;
  /** All that came, what was not accepted too. */
  readonly received: readonly ReceivedMessage[];
  /** Status of the next answers; 0 breaks the connection. */
  status: number;
  /** Of what has come since it was last asked: `begun failed/measurements`. */
  news(): string[];
}

export async function startWebhookListener(): Promise<WebhookListener> {
  const received: ReceivedMessage[] = [];
  let asked = 0;
  const server = await startHttpServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    received.push({ headers: request.headers, body, json: JSON.parse(body) });
    if (listener.status === 0) request.socket.destroy();
    else response.writeHead(listener.status).end('answered');
  });
  const listener: WebhookListener = {
    url: `${server.url}/hook/a-secret-path`,
    received,
    status: 200,
    news() {
      const messages = received.slice(asked);
      asked = received.length;
      return messages.flatMap(({ json }) =>
        (json.changes ?? []).map(({ what, cause, job }) =>
          [what, job === undefined ? cause : `${cause}/${job}`].join(' '),
        ),
      );
    },
    [Symbol.asyncDispose]: server.close,
  };
  return listener;
}
