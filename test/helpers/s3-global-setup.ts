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
import { setTimeout as sleep } from 'node:timers/promises';
import { ListBucketsCommand } from '@aws-sdk/client-s3';
import type { TestProject } from 'vitest/node';
import { composeServices, secretOf } from './compose-file.ts';
import { startContainer } from './docker.ts';
import type { S3Address } from './radosgw.ts';
import { missingRadosgwPrograms, startRadosgw } from './radosgw.ts';
import { plainClient } from './s3-client.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Answers with an S3Address, or with 503 and why there is none. */
    s3BrokerUrl: string;
  }
}

interface StartedS3 {
  readonly address: S3Address;
  stop(): Promise<void>;
}

let broker: Server | undefined;
let server: Promise<StartedS3> | undefined;
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

async function start(): Promise<StartedS3> {
  const missing = missingRadosgwPrograms();
  if (missing.length === 0) {
    return await startRadosgw(join(tmpdir(), `vessel-export-s3-${randomBytes(4).toString('hex')}`));
  }
  const container = await startS3Container();
  if (container !== undefined) return container;
  throw new Error(
    `no S3 server: ${missing.join(', ')} not on PATH, and no Docker engine can start one. Install them with .ci/install-s3 (Debian), or set S3_TEST_ENDPOINT, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to use one that runs elsewhere`,
  );
}

async function startS3Container(): Promise<StartedS3 | undefined> {
  const { s3 } = composeServices();
  const container = await startContainer(s3, 8333);
  if (container === undefined) return undefined;
  const address: S3Address = {
    endpoint: `http://${container.host}:${container.port}`,
    region: 'us-east-1',
    accessKeyId: secretOf('aws_access_key_id'),
    secretAccessKey: secretOf('aws_secret_access_key'),
  };
  await untilItAnswers(address);
  return { address, stop: container.stop };
}

/** It listens before it knows its users. */
async function untilItAnswers(address: S3Address): Promise<void> {
  const client = plainClient(address);
  const untilMs = Date.now() + 60_000;
  for (;;) {
    try {
      await client.send(new ListBucketsCommand({}));
      return client.destroy();
    } catch (error) {
      if (Date.now() > untilMs) throw error;
      await sleep(200);
    }
  }
}
