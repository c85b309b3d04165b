/** Where a message cannot get to is said in words, with what to do, and never with what is secret in the address. */
import { expect, test } from 'vitest';
import { messageOf } from '../../../src/core/errors.ts';
import { createWebhook } from '../../../src/fleet/notify/webhook.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { refusingPort } from '../../helpers/ports.ts';
import { startWebhookListener } from '../../helpers/webhook-listener.ts';

const never = new AbortController().signal;
const MESSAGE = { id: 'a', at: '2026-01-06T06:00:00.000Z', changes: [], isTest: true };

function send(url: string): Promise<void> {
  const clock = { ...createManualClock(), sleep: async () => {} };
  return createWebhook({ url, format: 'text', name: 'fleet' }, clock).send(MESSAGE, never);
}

async function faultOf(url: string): Promise<string> {
  const error = await send(url).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'RetriableError', code: 'notice-not-delivered' });
  return messageOf(error);
}

test('a closed port, an unknown host and a port of another protocol are named, with what to do', async () => {
  const closed = await faultOf(`http://127.0.0.1:${await refusingPort()}/hush`);
  expect(closed).toMatch(
    /127\.0\.0\.1:\d+ \(NOTIFY_URL\): no process listens there \(ECONNREFUSED\).*check NOTIFY_URL/,
  );
  expect(await faultOf('http://nobody.invalid/hush')).toMatch(/the name of its host /);
  expect(await faultOf('http://127.0.0.1:1/hush')).toContain('which is of another protocol');
  for (const text of [closed, await faultOf('http://me:hush@nobody.invalid/hush')]) {
    expect(text).not.toContain('hush');
    expect(text).not.toContain('internal-error');
  }
});

test('one that breaks the connection is named', async () => {
  await using listener = await startWebhookListener();
  listener.status = 0;
  expect(await faultOf(listener.url)).toContain('it closed the connection');
});

test('a user and a password in the address are sent as Basic credentials, and are not in what is asked for', async () => {
  await using listener = await startWebhookListener();
  for (const [userInfo, pair] of [
    ['me:pass%20%26%25w%C3%B6rd', 'me:pass &%wörd'],
    ['token', 'token:'],
    ['me:50%', 'me:50%'],
  ]) {
    await send(listener.url.replace('//', `//${userInfo}@`));
    const { authorization } = listener.received.at(-1)!.headers;
    expect(Buffer.from(authorization!.replace('Basic ', ''), 'base64').toString()).toBe(pair);
  }
  await send(listener.url);
  expect(listener.received.at(-1)!.headers.authorization).toBeUndefined();
});
