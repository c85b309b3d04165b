/**
 * One S3 server for a whole test run, started when the first test file asks for it. The main process owns it
 * and offers its address over loopback HTTP, because test files run in processes of their own.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { Radosgw } from './radosgw.ts';
import { missingRadosgwPrograms, startRadosgw } from './radosgw.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Answers with an S3Address, or with 503 and why there is none. */
    s3BrokerUrl: string;
  }
}

let broker: Server | undefined;
let server: Promise<Radosgw> | undefined;
let unavailable: string | undefined;

export async function setup(project: TestProject): Promise<void> {
  broker = createServer((_request, response) => void answer(response));
  await once(broker.listen(0, '127.0.0.1'), 'listening');
  broker.unref();
  project.provide('s3BrokerUrl', `http://127.0.0.1:${(broker.address() as AddressInfo).port}/`);
}

export async function teardown(): Promise<void> {
  broker?.close();
  broker?.closeAllConnections();
  await (await server?.catch(() => undefined))?.stop();
  if (unavailable !== undefined) {
    process.stderr.write(`\n*** THE S3 TESTS WERE NOT RUN: ${unavailable} ***\n\n`);
  }
}

async function answer(response: ServerResponse): Promise<void> {
  try {
    server ??= start();
    const { address } = await server;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(address));
  } catch (error) {
    unavailable = error instanceof Error ? error.message : String(error);
    response.writeHead(503).end(unavailable);
  }
}

async function start(): Promise<Radosgw> {
  const missing = missingRadosgwPrograms();
  if (missing.length > 0) {
    throw new Error(
      `no S3 server: ${missing.join(', ')} not on PATH. Install them with .ci/install-s3 (Debian), or set S3_TEST_ENDPOINT, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to use one that runs elsewhere`,
    );
  }
  return await startRadosgw(join(tmpdir(), `vessel-export-s3-${randomBytes(4).toString('hex')}`));
}
