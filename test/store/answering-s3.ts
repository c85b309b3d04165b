import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import type { S3StoreOptions } from '../../src/store/s3/client.ts';
import { createS3Store } from '../../src/store/s3/s3.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { startHttpServer } from '../helpers/http-server.ts';

interface AskedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Place {
  readonly store: ObjectStore;
  /** What was asked, in order. */
  readonly asked: AskedRequest[];
}

/** Gone when the test is over. `request`: how many there have been, with this one. */
export async function place(
  answer: (response: ServerResponse, request: number, asked: AskedRequest) => void,
  more: Partial<S3StoreOptions> = {},
): Promise<Place> {
  const asked: AskedRequest[] = [];
  const server = await startHttpServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body };
    answer(response, asked.push(one), one);
  });
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const options = {
    bucket: 'bucket',
    prefix: 'lake',
    endpoint: server.url,
    region: 'us-east-1',
    credentials,
  };
  const store = createS3Store({ ...options, maxAttempts: 2, ...more });
  onTestFinished(async () => {
    await store.close();
    await server.close();
  });
  return { store, asked };
}

/** Answer with an error of S3's. */
export function refuse(response: ServerResponse, status: number, code: string): void {
  const text = `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`;
  response.writeHead(status, { 'content-length': text.length }).end(text);
}
