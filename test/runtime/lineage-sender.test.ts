/** Servers of lineage that are no help: nobody waits for them, what waits is bounded, and what is lost is counted. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { createLineageSender } from '../../src/runtime/lineage-sender.ts';
import { createLog } from '../../src/runtime/log.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { refusingPort } from '../helpers/ports.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;
const TAKEN: Answer = (response) => void response.writeHead(201).end();
const TIMES = { requestMs: 5_000, retryMs: [5, 20], closeMs: [5_000, 500] } as const;

async function start({ times = TIMES as Partial<typeof TIMES>, maxBytes = 1e6, url = '', key = 'k-1' } = {}) {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({ level: 'info', readable: false, write: (line) => lines.push(JSON.parse(line)) });
  const received: { n: number; at: string; authorization: string | undefined }[] = [];
  const bench = { answer: TAKEN, key, received, lines };
  const server = await startHttpServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { n } = JSON.parse(body);
    received.push({ n, at: request.url!, authorization: request.headers.authorization });
    bench.answer(response, request);
  });
  onTestFinished(server.close);
  const settings = () => ({ url: url || `${server.url}/api/v1/lineage`, key: bench.key });
  const sender = createLineageSender(settings, log, { times: { ...TIMES, ...times }, maxBytes });
  const numbers = () => received.map(({ n }) => n);
  const lost = () => lines.find(({ msg }) => String(msg).includes('not delivered'))?.events ?? 0;
  return Object.assign(bench, { sender, numbers, lost });
}

test('events arrive once, those of a run in their order, with the key as it is now', async () => {
  const bench = await start();
  const { sender, numbers, received, lines } = bench;
  for (let n = 0; n < 40; n++) sender.send(`run-${n % 8}`, { n });
  await expect.poll(() => numbers().length).toBe(40);
  for (let run = 0; run < 8; run++)
    expect(numbers().filter((n) => n % 8 === run)).toEqual([0, 1, 2, 3, 4].map((of) => of * 8 + run));
  bench.key = 'k-2';
  sender.send('last', { n: 40 });
  await sender.close();
  expect(received.at(-1)).toEqual({ n: 40, at: '/api/v1/lineage', authorization: 'Bearer k-2' });
  expect(received[0]!.authorization).toBe('Bearer k-1');
  expect(lines).toEqual([]);
});

test('what a server that restarts has not taken is sent again, and the log says once that it was away', async () => {
  const bench = await start();
  let refusals = 0;
  bench.answer = (response, request) => {
    if (refusals++ < 3) request.socket.destroy();
    else if (refusals < 6) response.writeHead(503).end();
    else TAKEN(response, request);
  };
  for (let n = 0; n < 5; n++) bench.sender.send('run', { n });
  await expect.poll(() => new Set(bench.numbers()).size).toBe(5);
  await bench.sender.close();
  expect(bench.lost()).toBe(0);
  expect(bench.lines).toMatchObject([{ level: 'warn', reason: expect.stringContaining('connection') }]);
});

test.for<[string, Answer]>([
  ['401', (response) => void response.writeHead(401).end('no')],
  ['302', (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
])('an event that is answered %s is not sent again, and is counted', async ([status, answer]) => {
  const bench = await start();
  bench.answer = answer;
  for (let n = 0; n < 3; n++) bench.sender.send(`run-${n}`, { n });
  await bench.sender.close();
  expect(bench.numbers().sort()).toEqual([0, 1, 2]);
  expect(bench.lines).toMatchObject([{ reason: `it answered ${status}` }, { level: 'warn', events: 3 }]);
  expect(JSON.stringify(bench.lines)).not.toContain('k-1');
});

test('a dead server costs the end half a second, and what was lost is counted', async () => {
  const bench = await start({ url: `http://me:hush@127.0.0.1:${await refusingPort()}` });
  for (let n = 0; n < 7; n++) bench.sender.send(`run-${n}`, { n });
  await expect.poll(() => bench.lines.length).toBe(1);
  await bench.sender.close();
  expect(bench.lost()).toBe(7);
  expect(bench.lines).toHaveLength(2);
  expect(JSON.stringify(bench.lines)).not.toContain('hush');
});

test('a server that never answers, or a byte now and then, holds up neither the work nor the end', async () => {
  const bench = await start({ times: { closeMs: [100, 100] } as never });
  const drips: NodeJS.Timeout[] = [];
  onTestFinished(() => drips.forEach(clearInterval));
  bench.answer = (response) => {
    if (bench.received.length % 2 === 0) return;
    response.writeHead(200);
    drips.push(setInterval(() => response.write('x'), 10));
  };
  for (let n = 0; n < 10; n++) bench.sender.send(`run-${n}`, { n });
  await bench.sender.close();
  // Those that were answered at all have arrived, however long their answer is.
  expect(bench.lost()).toBeGreaterThan(0);
  expect(bench.lost()).toBeLessThan(10);
});

test('what waits is bounded: the oldest go', async () => {
  const bench = await start({ maxBytes: 10_000 });
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  bench.answer = (response, request) => void held.then(() => TAKEN(response, request));
  const text = 'x'.repeat(1_000);
  for (let n = 0; n < 100; n++) bench.sender.send(`run-${n}`, { n, text });
  release();
  await bench.sender.close();
  const arrived = bench.numbers();
  expect(arrived).toContain(99);
  expect(arrived.length).toBeLessThan(15);
  expect(bench.lost()).toBe(100 - arrived.length);
  expect(bench.lines[0]).toMatchObject({ level: 'warn', reason: expect.stringContaining('wait') });
});
