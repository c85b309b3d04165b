/** Clients that ask for much and take little: what the page reads, holds and refuses then. */
import { once } from 'node:events';
import { truncate } from 'node:fs/promises';

import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { VesselDay } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { makeJob } from '../helpers/day-server.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { makeReceipt, writeReceipt } from '../helpers/ledger.ts';
import { newTempFolder, type TempFolder } from '../helpers/temp.ts';
import { servePage } from '../helpers/web.ts';

const DAY: VesselDay = { job: 'measurements', vessel: 'IMO9321483', date: '2026-01-05' };
const PATH = `/api/jobs/${DAY.job}/days/${DAY.vessel}/${DAY.date}/object`;
const OBJECT_BYTES = 64 << 20;
const MEGABYTE = 1 << 20;

let folder: TempFolder;
let store: ObjectStore;
beforeAll(async () => {
  folder = await newTempFolder();
  store = createLocalStore(folder.path);
  await writeReceipt(store, makeReceipt(DAY));
  await store.put(objectKey(DAY), new Uint8Array(1));
  // A hole: it takes no room.
  await truncate(join(folder.path, objectKey(DAY)), OBJECT_BYTES);
});
afterAll(() => folder.remove());

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** The page, with what it answers and reads; `onGet` is waited for before a small object is read. */
async function serve(jobs = [makeJob()], onGet = async () => {}) {
  const responses: ServerResponse[] = [];
  let [readBytes, unsentBytes] = [0, 0];
  const getRange: ObjectStore['getRange'] = async (key, from, to) => {
    readBytes += to - from;
    unsentBytes = Math.max(unsentBytes, ...responses.map((response) => response.writableLength));
    return await store.getRange(key, from, to);
  };
  const get: ObjectStore['get'] = async (...asked) => {
    await onGet();
    return await store.get(...asked);
  };
  const page = await servePage({ store: { ...store, get, getRange }, jobs });
  page.server.on('request', (_request, response) => responses.push(response));
  open.push(page.close);
  const port = Number(new URL(page.url).port);
  return { port, responses, readBytes: () => readBytes, unsentBytes: () => unsentBytes };
}

interface Reader {
  readonly socket: Socket;
  readonly status: number;
  readonly head: string;
}

/** Asks, reads the head of the answer, and then nothing. */
async function read(port: number, localAddress = '127.0.0.1', path = PATH): Promise<Reader> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  open.push(() => socket.destroy());
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  const head = bytes.toString('latin1').split('\r\n\r\n', 1)[0]!;
  return { socket, head, status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)![1]) };
}

test('nothing is read of the store before the client has taken what was sent', async () => {
  const { port, readBytes, unsentBytes } = await serve();
  const { socket, status } = await read(port);
  expect(status).toBe(200);
  // Until the system takes no more for a client that reads nothing.
  let seenBytes = -1;
  const isStill = () => {
    const before = seenBytes;
    seenBytes = readBytes();
    return before === seenBytes;
  };
  await expect.poll(isStill, { interval: 100 }).toBe(true);
  expect(seenBytes).toBeLessThan(OBJECT_BYTES / 2);
  socket.resume();
  await expect.poll(readBytes).toBe(OBJECT_BYTES);
  await expect.poll(() => socket.bytesRead).toBeGreaterThan(OBJECT_BYTES);
  expect(unsentBytes()).toBe(0);
});

test('nothing is read for who has left meanwhile', async () => {
  const [asked, found] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { port, responses, readBytes } = await serve([makeJob()], () => {
    asked.resolve();
    return found.promise;
  });
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(`GET ${PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await asked.promise;
  socket.destroy();
  await expect.poll(() => responses[0]!.closed).toBe(true);
  found.resolve();
  const headers = { range: 'bytes=0-0' };
  expect((await fetch(`http://127.0.0.1:${port}${PATH}`, { headers })).status).toBe(206);
  expect(readBytes()).toBe(1);
});

test('400 readers that do not read leave room for others, and are told when to come again', async () => {
  const { port, readBytes } = await serve();
  const readers = await Promise.all(Array.from({ length: 400 }, () => read(port)));
  const served = readers.filter(({ status }) => status === 200);
  const refused = readers.filter(({ status }) => status !== 200);
  expect(served).toHaveLength(24);
  for (const { head } of refused) expect(head).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 2\b/s);
  const others = await Promise.all(Array.from({ length: 40 }, () => read(port, '127.0.0.2')));
  expect(others.filter(({ status }) => status === 200)).toHaveLength(24);
  expect((await read(port, '127.0.0.3')).status).toBe(503);
  // What the system holds for each of them is not ours.
  expect(readBytes()).toBeLessThan(48 * 8 * MEGABYTE);
  for (const { socket } of served) socket.destroy();
  await expect.poll(async () => (await read(port, '127.0.0.3')).status).toBe(200);
});

test('large answers that nobody takes are bounded by their bytes, and small ones go on', async () => {
  const jobs = Array.from({ length: 120_000 }, (_, i) => makeJob({ name: `measurements-${i}` }));
  const { port } = await serve(jobs);
  const statuses = [];
  for (let i = 0; i < 6; i++) statuses.push((await read(port, '127.0.0.1', '/api/about')).status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(3);
  expect((await read(port, '127.0.0.2', '/api/about')).status).toBe(200);
  expect((await read(port, '127.0.0.1', '/api/session')).status).toBe(200);
});

test('the page’s own reader comes again when it is told to', async () => {
  const seen: (string | undefined)[] = [];
  await using busy = await startHttpServer(({ headers }, response) => {
    seen.push(headers.range);
    if (seen.length === 1) response.writeHead(503, { 'retry-after': '1' }).end();
    else response.writeHead(206).end('bytes');
  });
  vi.stubGlobal('location', { origin: busy.url });
  const { openRangedFile } = await import(
    new URL('../../src/web/page/day/ranged-file.js', import.meta.url).href
  );
  const file = openRangedFile({ url: '/object', sizeBytes: 10, etag: null }, new AbortController().signal);
  expect(Buffer.from(await file.slice(2, 7)).toString()).toBe('bytes');
  expect(seen).toEqual(['bytes=2-6', 'bytes=2-6']);
  vi.unstubAllGlobals();
});
