/** What a running service keeps of its requests: nothing. Bytes are counted after the garbage has been collected. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningService } from '../../src/service/options.ts';
import { openRaw } from './raw-client.ts';
import { basic, VESSEL } from './running-service.ts';

const MB = 1_000_000;
type Started = Pick<RunningService, 'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret'>;

let child: ChildProcess;
let service: Started;
let authorization: string;

beforeAll(async () => {
  child = fork(join(import.meta.dirname, 'memory-child.ts'), { execArgv: ['--expose-gc'] });
  [service] = (await once(child, 'message')) as [Started];
  const answer = await askToken(basic(service.clientId, service.clientSecret));
  authorization = `Bearer ${((await answer.json()) as { access_token: string }).access_token}`;
});

afterAll(async () => {
  child.disconnect();
  await once(child, 'exit');
});

async function heldBytes(): Promise<number> {
  child.send('held');
  const [{ heldBytes }] = (await once(child, 'message')) as [{ heldBytes: number }];
  return heldBytes;
}

function askToken(authorization: string): Promise<Response> {
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  return fetch(`${service.authUrl}/oauth2/token`, { method: 'POST', headers: { authorization }, body });
}

/** One request of every kind, refused and accepted, with bodies of some 60 kB that are all different. */
async function askEverything(n: number): Promise<number[]> {
  const names = Array.from({ length: 1_200 }, (_, i) => `flat/${VESSEL}/A tag that nobody has ${n} ${i}`);
  const body = JSON.stringify([...names, `flat/${VESSEL}/Roll`]);
  const post = (headers: Record<string, string>) =>
    fetch(`${service.baseUrl}/metadata/query?n=${n}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'x-request-id': `request-${n}`, ...headers },
    });
  const answers = await Promise.all([
    post({ authorization }),
    post({}),
    post({ authorization: `Bearer ${n}` }),
    fetch(`${service.baseUrl}/nowhere/${n}`, { method: 'POST', body }),
    askToken(basic(service.clientId, service.clientSecret)),
    askToken(basic(`client ${n}`, 'wrong')),
  ]);
  for (const answer of answers) await answer.arrayBuffer();
  return answers.map(({ status }) => status);
}

test('refused and accepted requests leave nothing behind', async () => {
  for (let n = 0; n < 30; n++) await askEverything(n);
  const before = await heldBytes();
  for (let n = 0; n < 80; n++) {
    const [accepted, ...refused] = await askEverything(1_000 + n);
    expect([accepted, refused.slice(0, 3)]).toEqual([200, [401, 401, 404]]);
  }
  // Kept whole, the accepted bodies alone would be 5 MB.
  expect((await heldBytes()) - before).toBeLessThan(2.5 * MB);
});

test('half-sent bodies hold no memory without a token, and a bounded one with it', async () => {
  const before = await heldBytes();
  const part = `["${'x'.repeat(900_000)}`;
  const headers = 'host: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n';
  const send = async (count: number, more: string) => {
    const clients = await Promise.all(Array.from({ length: count }, () => openRaw(service.baseUrl)));
    for (const client of clients)
      client.send(`POST /test/metadata/query HTTP/1.1\r\n${headers}${more}\r\n${part}`);
    return clients;
  };
  const strangers = await send(100, '');
  for (const client of strangers) expect(await client.ended).toMatch(/^HTTP\/1\.1 401 /);
  const known = await send(100, `authorization: ${authorization}\r\n`);
  const refused = () => known.filter(({ received }) => received.startsWith('HTTP/1.1 503 ')).length;
  // 32 MiB of bodies are held at once.
  await expect.poll(refused).toBeGreaterThanOrEqual(65);
  expect((await heldBytes()) - before).toBeLessThan(60 * MB);
  for (const { socket } of known) socket.destroy();
  await Promise.all(known.map(({ ended }) => ended));
  await expect.poll(async () => (await heldBytes()) - before).toBeLessThan(6 * MB);
});
