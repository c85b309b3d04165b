/** A secret that changes while a process runs is used from then on, wherever it is used. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/app.ts';
import { silentLog, systemClock } from '../../src/core/model/index.ts';
import { createWebhook } from '../../src/fleet/notify/webhook.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { loadConfig } from '../../src/runtime/config/config.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { openStore } from '../../src/store/open-store.ts';
import { s3SettingsFromEnv } from '../../src/store/s3/settings.ts';
import { canStartOwnRedis, startOwnRedis } from '../helpers/redis.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { servePage, signIn } from '../helpers/web.ts';
import { startWebhookListener } from '../helpers/webhook-listener.ts';
import { answer, clientOf, PAGE, refuse, startListener } from '../source/fetch/listener.ts';
import { place } from '../store/answering-s3.ts';

async function newFiles() {
  const folder = await newTempFolder();
  onTestFinished(() => folder.remove());
  return (name: string, text: string) => {
    const path = join(folder.path, name);
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
    return path;
  };
}

const SETTINGS = {
  QUERY_BASE_URL: 'https://api.example.com/t',
  QUERY_AUTH_URL: 'https://auth.example.com',
  QUERY_CLIENT_ID: 'reader',
  LAKE_URL: 'file:///nowhere/lake',
};

test('settings follow their files; a bad one leaves its own as it was, and no other', async () => {
  const write = await newFiles();
  const config = loadConfig(
    {
      ...SETTINGS,
      QUERY_CLIENT_SECRET_FILE: write('query', 'query-1'),
      NOTIFY_URL_FILE: write('notify', 'https://hooks.example/1'),
      NOTIFY_SECRET_FILE: write('signing', 'a-key-for-signing-1'),
      WEB_READ_PASSWORD_FILE: write('read', 'a-password-for-reading-1'),
    },
    {},
  );
  const said: string[] = [];
  const log = { ...silentLog, warn: (_fields: object, message: string) => void said.push(message) };
  write('query', 'query-2');
  write('notify', 'http://hooks.example/hush');
  write('signing', '');
  write('read', 'hush');
  await expect.poll(() => config.current(log).QUERY_CLIENT_SECRET, { timeout: 10_000 }).toBe('query-2');
  expect(config.current(log)).toMatchObject({
    NOTIFY_URL: 'https://hooks.example/1',
    NOTIFY_SECRET: 'a-key-for-signing-1',
    WEB_READ_PASSWORD: 'a-password-for-reading-1',
  });
  expect(config.settings.QUERY_CLIENT_SECRET).toBe('query-1');
  expect(said.join('\n')).not.toContain('hush');
  for (const fault of [
    /^NOTIFY_URL: got plain http/,
    /^NOTIFY_SECRET_FILE: '.*' is empty/,
    /^WEB_READ_PASSWORD \(/,
  ])
    expect(said).toContainEqual(expect.stringMatching(fault));
  expect(said).toHaveLength(3);
});

test('secrets that may not stand together are not taken together, nor are those that would go in clear', async () => {
  const write = await newFiles();
  const config = loadConfig(
    {
      ...SETTINGS,
      ...{ REDIS_URL: 'redis://elsewhere.example', REDIS_PASSWORD_FILE: write('redis', '') },
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318',
      OTEL_EXPORTER_OTLP_HEADERS_FILE: write('headers', ''),
      QUERY_CLIENT_SECRET_FILE: write('query', 'query-1'),
      WEB_READ_PASSWORD_FILE: write('read', 'a-password-for-reading'),
      WEB_ACT_PASSWORD_FILE: write('act', 'a-password-for-acting'),
    },
    {},
  );
  write('read', 'a-password-for-acting');
  write('redis', 'hush');
  write('headers', 'key=hush');
  write('query', 'query-2');
  await expect.poll(() => config.current(silentLog).QUERY_CLIENT_SECRET, { timeout: 10_000 }).toBe('query-2');
  const now = config.current(silentLog);
  expect([now.WEB_READ_PASSWORD, now.WEB_ACT_PASSWORD]).toEqual([
    ...['a-password-for-reading', 'a-password-for-acting'],
  ]);
  expect([now.REDIS_PASSWORD, now.OTEL_EXPORTER_OTLP_HEADERS]).toEqual([undefined, undefined]);
  // Together they may.
  write('act', 'a-password-for-reading');
  await expect
    .poll(() => config.current(silentLog).WEB_ACT_PASSWORD, { timeout: 10_000 })
    .toBe('a-password-for-reading');
  expect(config.current(silentLog).WEB_READ_PASSWORD).toBe('a-password-for-acting');
});

test('the client secret is that of the file at the next token', async () => {
  const write = await newFiles();
  const listener = await startListener();
  const env = {
    ...SETTINGS,
    ...{ QUERY_BASE_URL: listener.baseUrl, QUERY_AUTH_URL: listener.authUrl },
    QUERY_CLIENT_SECRET_FILE: write('query', 'query-1'),
  };
  const config = loadConfig(env, {});
  const { client, close } = await openClient(config, env, silentLog);
  onTestFinished(close);
  await client.exchange(
    () => PAGE,
    async () => {},
  );
  write('query', 'query-2');
  await expect.poll(() => config.current(silentLog).QUERY_CLIENT_SECRET, { timeout: 10_000 }).toBe('query-2');
  // Whoever changed the secret ended the tokens of the old one.
  listener.script(refuse(401, 'expired'), answer(''));
  await client.exchange(
    () => PAGE,
    async () => {},
  );
  const sent = listener.seenTokens.map(({ headers }) => atob(headers.authorization!.slice('Basic '.length)));
  expect(sent).toEqual(['reader:query-1', 'reader:query-2']);
});

test('a refused secret is not remembered against the next one', async () => {
  const listener = await startListener();
  let clientSecret = 'wrong-one';
  const client = clientOf(listener, { clientSecret: () => clientSecret });
  listener.scriptTokens(refuse(401, 'no'));
  await expect(client.readAll(PAGE)).rejects.toMatchObject({ code: 'credentials-refused' });
  clientSecret = 'right-one';
  await client.readAll(PAGE);
});

test.skipIf(!canStartOwnRedis())('Redis takes connections with the password of now', async () => {
  await using redis = await startOwnRedis();
  await redis.command('CONFIG', 'SET', 'requirepass', 'one');
  let password = 'one';
  const connection = await openRedis(() => ({ url: redis.url, password }));
  const queue = connection.openForQueue();
  const copied = queue.duplicate();
  copied.on('error', () => {});
  onTestFinished(async () => {
    copied.disconnect();
    await connection.close();
  });
  await Promise.all([queue.ping(), copied.ping()]);
  await queue.call('CONFIG', 'SET', 'requirepass', 'two');
  password = 'two';
  await queue.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no').catch(() => {});
  await Promise.all([queue.ping(), copied.ping()]);
  await expect.poll(() => connection.client.status, { timeout: 10_000 }).toBe('ready');
});

test('a session token of S3 that was renewed signs the next call', async () => {
  const write = await newFiles();
  const { asked, store: unused } = await place(
    (response) => void response.writeHead(200, { etag: '"1"' }).end(),
  );
  await unused.put('first', Buffer.from('x'));
  const endpoint = `http://${asked[0]!.headers.host}`;
  const env = {
    ...{ AWS_ENDPOINT_URL_S3: endpoint, AWS_ACCESS_KEY_ID_FILE: write('id', 'id-1') },
    AWS_SECRET_ACCESS_KEY_FILE: write('key', 'key-1'),
    AWS_SESSION_TOKEN_FILE: write('token', 'token-1'),
  };
  const store = await openStore('s3://bucket/lake', env);
  onTestFinished(() => store.close());
  const tokenSent = async () => {
    await store.put('key', Buffer.from('x'));
    const { headers } = asked.at(-1)!;
    const [, id] = /Credential=([^/]+)/.exec(headers.authorization!)!;
    return `${id} ${headers['x-amz-security-token']}`;
  };
  expect(await tokenSent()).toBe('id-1 token-1');
  write('token', '');
  write('id', 'id-2');
  write('key', 'key-2');
  write('token', 'token-2');
  const seen = new Set<string>();
  await expect
    .poll(
      async () => {
        const sent = await tokenSent();
        seen.add(sent);
        return sent;
      },
      { timeout: 10_000 },
    )
    .toBe('id-2 token-2');
  expect([...seen].filter((sent) => !['id-1 token-1', 'id-2 token-2'].includes(sent))).toEqual([]);
});

test('a session token of S3 that comes later goes over no network in clear', async () => {
  const write = await newFiles();
  const env = (endpoint: string) => ({
    ...{ AWS_ENDPOINT_URL_S3: endpoint, AWS_ACCESS_KEY_ID_FILE: write('id', 'id-1') },
    ...{ AWS_SECRET_ACCESS_KEY_FILE: write('key', 'key-1'), AWS_SESSION_TOKEN_FILE: write('token', '') },
  });
  const said: string[] = [];
  const log = { ...silentLog, warn: (_fields: object, message: string) => void said.push(message) };
  const followed = (endpoint: string) => {
    const { credentials } = s3SettingsFromEnv(env(endpoint), log);
    return credentials as () => { readonly sessionToken?: string };
  };
  const [inClear, here] = [followed('http://store.example'), followed('http://127.0.0.1:1')];
  write('token', 'hush');
  await expect.poll(() => here().sessionToken, { timeout: 10_000 }).toBe('hush');
  await expect.poll(() => [inClear().sessionToken, said.length], { timeout: 10_000 }).toEqual([undefined, 1]);
  expect(said[0]).toMatch(/^AWS_SESSION_TOKEN_FILE: .* in clear/);
});

test('messages go where NOTIFY_URL says now', async () => {
  await using listener = await startWebhookListener();
  let url = 'http://127.0.0.1:1/closed';
  const webhook = createWebhook(() => ({ url, format: 'text', name: 'fleet' }), systemClock);
  url = listener.url;
  const message = { id: 'a', at: '2026-01-06T06:00:00.000Z', changes: [], isTest: true };
  await webhook.send(message, new AbortController().signal);
  expect(listener.received).toHaveLength(1);
});

test('a new password of the page ends the sessions of the old one', async () => {
  const folder = await newTempFolder();
  onTestFinished(() => folder.remove());
  const access = { readPassword: 'the-first-password' };
  await using page = await servePage({ store: createLocalStore(folder.path), jobs: [] }, access);
  const cookie = await signIn(page.url, 'the-first-password');
  const statusOf = async () => (await fetch(`${page.url}/api/about`, { headers: { cookie } })).status;
  expect(await statusOf()).toBe(200);
  access.readPassword = 'the-second-password';
  expect(await statusOf()).toBe(401);
  await expect(signIn(page.url, 'the-first-password')).rejects.toThrow('401');
  await signIn(page.url, 'the-second-password');
});
