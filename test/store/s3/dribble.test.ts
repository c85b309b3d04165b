/** A store that sends just enough not to be silent: every call ends by itself. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RetriableError } from '../../../src/core/errors.ts';
import type { S3StoreOptions } from '../../../src/store/s3/client.ts';
import { createS3Store } from '../../../src/store/s3/s3.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { collect, expectFault } from '../store-suite.ts';

const sockets = new Set<Socket>();
const opened: ObjectStore[] = [];
/** What the store says to every request before it dribbles blanks; undefined: nothing at all. */
let head: string | undefined;
let requests = 0;
const server = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {});
  socket.once('data', () => {
    requests += 1;
    if (head === undefined) return;
    socket.write(head);
    const timer = setInterval(() => socket.write(' '), 10);
    socket.on('close', () => clearInterval(timer));
  });
  socket.on('close', () => sockets.delete(socket));
});

beforeEach(async () => {
  requests = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, 'close');
});

function open(limits: Partial<S3StoreOptions>, scheme = 'http'): ObjectStore {
  const store = createS3Store({
    bucket: 'bucket',
    prefix: 'lake',
    endpoint: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'id', secretAccessKey: 'a-secret' },
    maxAttempts: 2,
    ...limits,
  });
  opened.push(store);
  return store;
}

test.each([
  ['an object', (store: ObjectStore) => store.get('key')],
  ['a range', (store: ObjectStore) => store.getRange('key', 0, 100_000)],
  ['a list', (store: ObjectStore) => collect(store.list(''))],
])('that dribbles %s is given up, after another try', async (_, ask) => {
  head = 'HTTP/1.1 200 OK\r\netag: "x"\r\ncontent-type: application/xml\r\ncontent-length: 100000\r\n\r\n';
  const fault = await expectFault(() => ask(open({ slowBodyGraceMs: 200 })), RetriableError, 's3-');
  expect(fault.message).toContain('too slowly');
  expect(requests).toBeGreaterThan(1);
});

test('that dribbles the body of a refusal is given up', async () => {
  head = 'HTTP/1.1 503 Slow\r\ncontent-type: application/xml\r\ncontent-length: 100000\r\n\r\n';
  await expectFault(() => open({ slowBodyGraceMs: 200 }).put('key', Buffer.from('x')), RetriableError, 's3-');
});

test('that dribbles headers is given up', async () => {
  head = 'HTTP/1.1 200 OK\r\nx-slow: ';
  await expectFault(() => open({ answerTimeoutMs: 300 }).get('key'), RetriableError, 's3-');
});

test('that never ends the handshake of TLS is given up', async () => {
  head = undefined;
  await expectFault(() => open({ idleTimeoutMs: 300 }, 'https').get('key'), RetriableError, 's3-');
});
