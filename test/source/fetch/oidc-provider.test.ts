/** Our client at a published OpenID server, which decodes credentials by RFC 6749 and issues opaque tokens. */
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { expect, test, vi } from 'vitest';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { atEnd, clientOf, errorOf, PAGE, startListener } from './listener.ts';

const SECRETS = ['plain-secret', 'with a space', '100%', '50%25', 'a+b/c=', `all of "<>\\^{|}~!*'()`];

/** A server with a client for each secret: `client 0`, `client 1`, … */
async function startProvider(): Promise<{ readonly authUrl: string; readonly asked: () => number }> {
  // It warns of its defaults, which no production should have.
  for (const name of ['warn', 'info'] as const) vi.spyOn(console, name).mockReturnValue();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const provider = new Provider(issuer, {
    clients: SECRETS.map((client_secret, index) => ({
      ...{ client_id: `client ${index}`, client_secret, grant_types: ['client_credentials'] },
      ...{ redirect_uris: [], response_types: [] },
    })),
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    routes: { token: '/auth/oauth2/token' },
    ttl: { ClientCredentials: 600 },
  });
  let asked = 0;
  const answer = provider.callback();
  server.on('request', (request, response) => {
    asked += 1;
    void answer(request, response);
  });
  atEnd(() => {
    vi.restoreAllMocks();
    server.closeAllConnections();
    server.close();
  });
  return { authUrl: `${issuer}/auth`, asked: () => asked };
}

test('gets tokens for any client id and secret, and new ones when they expire', async () => {
  const { authUrl, asked } = await startProvider();
  const listener = await startListener();
  for (const [index, clientSecret] of SECRETS.entries()) {
    const clock = createManualClock();
    const before = asked();
    const client = clientOf({ ...listener, authUrl }, { clientId: `client ${index}`, clientSecret, clock });
    await client.readAll(PAGE);
    expect(asked() - before).toBeLessThanOrEqual(2);
    const first = asked();
    await clock.advance(470_000);
    await client.readAll(PAGE);
    expect(asked()).toBe(first);
    await clock.advance(130_000);
    await client.readAll(PAGE);
    expect(asked()).toBe(first + 1);
  }
  const tokens = listener.seen.map(({ headers }) => headers.authorization!);
  expect(tokens.every((token) => /^Bearer [\w-]{43}$/.test(token))).toBe(true);
  expect(new Set(tokens).size).toBe(2 * SECRETS.length);
});

test('is refused with the server’s own words', async () => {
  const { authUrl } = await startProvider();
  const listener = await startListener();
  const client = clientOf({ ...listener, authUrl }, { clientId: 'client 1', clientSecret: 'wrong one' });
  const error = await errorOf(client.readAll(PAGE));
  expect(error).toMatchObject({ code: 'credentials-refused' });
  expect((error.cause as Error).message).toContain('invalid_client: client authentication failed');
});
