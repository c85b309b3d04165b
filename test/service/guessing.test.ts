/** Who guesses secrets at the token endpoint, over real HTTP from several addresses of this machine. */
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { silentLog } from '../../src/core/model/index.ts';
import { basic, CLIENT, openService, testClock } from './running-service.ts';

/** Ask for a token from an address of this machine: 127.0.0.1, 127.0.0.2, … */
function ask(url: string, localAddress: string, authorization: string) {
  return new Promise<{ status: number; retryAfter: string | undefined; text: string }>((resolve, reject) => {
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
    const sent = request(`${url}/oauth2/token`, { method: 'POST', headers, localAddress, agent: false });
    sent.once('error', reject).once('response', async (answer) => {
      let text = '';
      for await (const chunk of answer.setEncoding('utf8')) text += chunk;
      resolve({ status: answer.statusCode!, retryAfter: answer.headers['retry-after'], text });
    });
    sent.end('grant_type=client_credentials');
  });
}

test('hundreds of guesses are a dozen; another address with the right secret gets in, and time lets in again', async () => {
  const clock = testClock();
  const lines: Record<string, unknown>[] = [];
  const log = { ...silentLog, warn: (fields: object) => void lines.push({ ...fields }) };
  await using s = await openService({ clock, log });
  const guess = (i: number) => ask(s.service.authUrl, '127.0.0.1', basic(CLIENT.clientId, `guess-${i}`));
  const answers = [];
  for (let i = 0; i < 300; i += 50)
    answers.push(...(await Promise.all(Array.from({ length: 50 }, (_, at) => guess(i + at)))));
  const statuses = Map.groupBy(answers, ({ status }) => status);
  expect([statuses.get(401)?.length, statuses.get(429)?.length]).toEqual([11, 289]);
  expect(statuses.get(429)!.every(({ retryAfter }) => retryAfter === '1')).toBe(true);
  expect(statuses.get(429)![0]!.text).toContain('"error":"too many failed logins');

  const right = basic(CLIENT.clientId, CLIENT.clientSecret);
  expect((await ask(s.service.authUrl, '127.0.0.1', right)).status).toBe(429);
  expect((await ask(s.service.authUrl, '127.0.0.2', right)).status).toBe(200);
  clock.set(clock.nowMs() + 1_000);
  expect((await ask(s.service.authUrl, '127.0.0.1', right)).status).toBe(200);

  expect(lines).toHaveLength(11);
  expect(lines[10]).toMatchObject({ address: '127.0.0.1', name: 'reader', failures: 11, lockedSeconds: 1 });
  expect(JSON.stringify(lines)).not.toMatch(/guess-|a long secret/);
});

test('the rate limit comes before the secret is looked at', async () => {
  await using s = await openService({ ratePerMinute: 5 });
  const right = basic(CLIENT.clientId, CLIENT.clientSecret);
  const statuses = [];
  for (let i = 0; i < 7; i++) statuses.push((await ask(s.service.authUrl, '127.0.0.1', right)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  expect((await ask(s.service.authUrl, '127.0.0.3', right)).status).toBe(200);
});
