/** Collectors that are no help: what is sent to them ends, is bounded, and is said once. */
import { Agent } from 'node:http';
import { expect, it } from 'vitest';
import { createLog } from '../../../src/runtime/log.ts';
import { openTracing } from '../../../src/runtime/tracing/open-tracing.ts';
import { createSpanSender } from '../../../src/runtime/tracing/span-sender.ts';
import { startCollector } from './collector.ts';

function keepLog() {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({ level: 'debug', readable: false, write: (line) => lines.push(JSON.parse(line)) });
  return { lines, log, warnings: () => lines.filter(({ level }) => level === 'warn') };
}

it('an answer without end keeps a batch only for its time, and the next ones not at all', async () => {
  await using collector = await startCollector();
  const { log, warnings } = keepLog();
  const dribbles: NodeJS.Timeout[] = [];
  collector.answer = (response) => {
    response.writeHead(200);
    dribbles.push(setInterval(() => response.write('x'), 20));
  };
  const agent = new Agent({ keepAlive: true });
  const sender = createSpanSender({ url: `${collector.url}/v1/traces`, headers: {} }, agent, log, 200);
  const batches = 4;
  const send = async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    sender.export([], ({ code }) => resolve(code));
    return await promise;
  };
  const codes = await Promise.all(Array.from({ length: batches }, send));
  expect(codes).toEqual(Array(batches).fill(1));
  expect(sender.isWell).toBe(false);
  expect(warnings()).toEqual([expect.objectContaining({ reason: expect.stringContaining('no end') })]);
  for (const dribble of dribbles) clearInterval(dribble);
  collector.answer = undefined;
  // However slow this machine is: one of them gets there within the time of a batch.
  await expect.poll(send).toBe(0);
  expect(sender.isWell).toBe(true);
  await sender.shutdown();
});

it('spans that nobody takes are bounded, and work does not wait for them', async () => {
  await using collector = await startCollector();
  // It takes what is sent, and never answers.
  collector.answer = () => {};
  const { log, warnings } = keepLog();
  const tracing = openTracing({
    settings: { url: collector.url, headers: {} },
    ...{ env: {}, log, version: '0.0.0', origins: [] },
  });
  let done = 0;
  for (let n = 0; n < 50_000; n++) await tracing.spans.span('put', {}, async () => done++);
  expect(done).toBe(50_000);
  // One batch is under way; the others wait or are gone.
  expect(collector.requests.length).toBeLessThanOrEqual(1);
  await tracing.close();
  expect(warnings().length).toBeLessThanOrEqual(1);
});
