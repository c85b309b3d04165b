import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { DataError, FencedError, RetriableError } from '../../../src/core/errors.ts';
import type { Log } from '../../../src/core/model/ports.ts';
import type { QueryRequest } from '../../../src/core/model/query.ts';
import { createRequestStats } from '../../../src/source/fetch/exchange.ts';
import type { RequestReport } from '../../../src/source/fetch/meter.ts';
import {
  answer,
  breakOff,
  clientOf,
  errorOf,
  type Handler,
  it,
  PAGE,
  refuse,
  startListener,
  textOf,
} from './listener.ts';

const LINES = '{"id":"a","timestamp":"2026-01-05T00:00:00.000000Z","value":1}\n'.repeat(5_000);

describe('a request', () => {
  it('goes out with everything the contract asks for', async ({ listener }) => {
    listener.always(answer(LINES));
    const client = clientOf(listener);
    const whole = await client.readAll({ ...PAGE, expressions: ['flat/IMO9321483/ME1 Öl?#'] });
    expect(whole).toMatchObject({ apiVersion: '2026-09-10', contentType: 'application/x-ndjson' });
    expect(Buffer.from(whole.bytes).toString()).toBe(LINES);
    const [seen] = listener.seen;
    expect(seen!.method).toBe('GET');
    const url = new URL(seen!.url, listener.origin);
    expect(url.pathname).toBe('/tenant/measurements/flat/IMO9321483/ME1%20%C3%96l%3F%23');
    expect(url.searchParams.get('from')).toBe('1970-01-01T00:00:00.000000Z');
    expect(seen!.headers).toMatchObject({
      authorization: 'Bearer token-1',
      accept: 'application/x-ndjson',
      'accept-encoding': 'gzip',
      'x-api-version': '2026-09-10',
    });
  });

  it('for several expressions is a POST of JSON', async ({ listener }) => {
    const expressions = ['flat/IMO1/a', 'jsmea/IMO1/a//c/d/e/f/'];
    await clientOf(listener).readAll({ ...PAGE, expressions });
    const [seen] = listener.seen;
    expect(seen).toMatchObject({ method: 'POST', body: JSON.stringify(expressions) });
    expect(seen!.url).toMatch(/^\/tenant\/measurements\/query\?from=/);
    expect(seen!.headers['content-type']).toBe('application/json');
  });

  it('whose address cannot be made ends the call before anything is sent', async ({ listener }) => {
    const error = await errorOf(clientOf(listener).readAll({ ...PAGE, expressions: [] }));
    expect(error).toMatchObject({ code: 'no-expression' });
    expect(listener.seen).toHaveLength(0);
  });

  it('works with slashes at the end of the addresses', async ({ listener }) => {
    const client = clientOf({ baseUrl: `${listener.baseUrl}//`, authUrl: `${listener.authUrl}/` });
    await client.readAll(PAGE);
    expect(listener.seen[0]!.url).toMatch(/^\/tenant\/measurements\/flat/);
  });

  it('is counted and reported', async ({ listener }) => {
    listener.script(refuse(503, 'xx'), breakOff(Buffer.from('12345'), { 'content-length': '9' }));
    listener.always(answer('123456789'));
    const reports: RequestReport[] = [];
    const client = clientOf(listener, { onRequest: (report) => reports.push(report) });
    const stats = createRequestStats();
    await client.readAll(PAGE, { stats });
    await client.readAll(PAGE);
    expect(stats).toEqual({
      requests: 3,
      retries: 2,
      rateLimited: 0,
      bytes: '{"error":"xx"}'.length + 5 + 9,
    });
    expect(client.stats).toEqual({ ...stats, requests: 4, bytes: stats.bytes + 9 });
    expect(reports.map(({ status, retry }) => [status, retry])).toEqual([
      [503, 0],
      [200, 1],
      [200, 2],
      [200, 0],
    ]);
    expect(reports.every(({ ms }) => ms >= 0)).toBe(true);
  });
});

describe('an answer', () => {
  it.for([
    [400, 'bad-request'],
    [403, 'forbidden'],
    [404, 'not-found'],
    [406, 'not-acceptable'],
    [413, 'request-too-large'],
    [414, 'url-too-long'],
    [415, 'unsupported-media-type'],
    [418, 'unexpected-status'],
    [501, 'unexpected-status'],
  ] as const)(
    'with status %i ends the call at once as %s, with what the service said',
    async ([status, code], { listener }) => {
      listener.always(refuse(status, 'window must be\u0007shorter'));
      const error = await errorOf(clientOf(listener).readAll(PAGE));
      expect(error).toMatchObject({ name: 'HttpStatusError', code, status });
      expect(error.message).toContain(`answered ${status}: window must be shorter`);
      expect(error.message).toContain('measurements of flat/IMO9321483/*');
      expect(listener.seen).toHaveLength(1);
    },
  );

  it('with status 204 or 206 is not taken for an empty or a whole one', async ({ listener }) => {
    listener.script((response) => response.writeHead(204, { 'api-version': '2026-09-10' }).end());
    listener.script((response) => response.writeHead(206, { 'api-version': '2026-09-10' }).end('{}'));
    const client = clientOf(listener);
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'unexpected-status', status: 204 });
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'unexpected-status', status: 206 });
  });

  it.for([301, 302, 303, 307, 308])(
    'with status %i is not followed, and only its host is named',
    async (status, { listener }) => {
      const elsewhere = await startListener();
      listener.always(refuse(status, '', { location: `${elsewhere.origin}/x?token=hunter2` }));
      const error = await errorOf(clientOf(listener).readAll(PAGE));
      expect(error).toMatchObject({ name: 'FatalError', code: 'redirect-refused' });
      expect(error.message).toContain(new URL(elsewhere.origin).host);
      expect(error.message).not.toContain('hunter2');
      expect(elsewhere.seen).toHaveLength(0);
    },
  );

  it.for([
    ['another version', '2025-10-31'],
    ['an unknown version', '2031-01-01\u00ff'],
    ['no version', undefined],
  ])('of %s is refused before it is read', async ([, version], { listener }) => {
    listener.always((response) =>
      response.writeHead(200, version ? { 'api-version': version } : {}).end('{}'),
    );
    let read = false;
    const consume = async () => {
      read = true;
    };
    const error = await errorOf(clientOf(listener).read(consume));
    expect(error).toMatchObject({ name: 'FatalError', code: 'wrong-api-version' });
    expect([read, listener.seen.length]).toEqual([false, 1]);
  });

  it.for([
    ['2026-09-10', '2026-01-01-beta'],
    ['2026-01-01-beta', '2026-09-10'],
    ['2025-10-31', '2025-10-31'],
  ] as const)('to %s may come as %s', async ([apiVersion, got], { listener }) => {
    listener.always(answer('[]', { 'api-version': got }));
    expect(await clientOf(listener, { apiVersion }).readAll(PAGE)).toMatchObject({ apiVersion: got });
    expect(listener.seen[0]!.headers['x-api-version']).toBe(apiVersion);
  });

  it('in gzip is decoded', async ({ listener }) => {
    listener.always(answer(gzipSync(LINES), { 'content-encoding': 'gzip' }));
    const client = clientOf(listener);
    expect(Buffer.from((await client.readAll(PAGE)).bytes).toString()).toBe(LINES);
    expect(client.stats.bytes).toBe(LINES.length);
  });

  it('in gzip of nothing is empty', async ({ listener }) => {
    listener.always(answer(gzipSync(''), { 'content-encoding': 'gzip' }));
    expect((await clientOf(listener).readAll(PAGE)).bytes).toHaveLength(0);
  });

  it('in gzip that grows without end is stopped early', async ({ listener }) => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    listener.always(answer(bomb, { 'content-encoding': 'gzip' }));
    const client = clientOf(listener, { limits: { maxPageBytes: 1024 * 1024 } });
    let read = 0;
    const consume = async ({ body }: { body: AsyncIterable<Uint8Array> }) => {
      for await (const chunk of body) read += chunk.length;
    };
    const error = await errorOf(client.read(consume));
    expect(error).toMatchObject({ name: 'DataError', code: 'page-too-large' });
    expect(read).toBeLessThanOrEqual(1024 * 1024);
    expect(client.stats.bytes).toBeLessThanOrEqual(1024 * 1024);
    expect(listener.seen).toHaveLength(1);
  });

  it('of exactly the most bytes is taken', async ({ listener }) => {
    listener.always(answer('123456789'));
    const taking = (maxPageBytes: number) => clientOf(listener, { limits: { maxPageBytes } });
    expect(await errorOf(taking(8).readAll(PAGE))).toMatchObject({ code: 'page-too-large' });
    expect((await taking(9).readAll(PAGE)).bytes).toHaveLength(9);
  });

  it('in another encoding is refused', async ({ listener }) => {
    listener.always(answer('x', { 'content-encoding': 'br' }));
    listener.script(refuse(404, 'x', { 'content-encoding': 'br' }));
    const client = clientOf(listener);
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ status: 404 });
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ code: 'wrong-encoding' });
  });

  it('whose error body is endless costs no memory', async ({ listener }) => {
    listener.always((response) => {
      response.writeHead(404);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    const client = clientOf(listener);
    expect(await errorOf(client.readAll(PAGE))).toMatchObject({ status: 404 });
    expect(client.stats.bytes).toBeLessThan(1024 * 1024);
  });
});

describe('what the consumer throws', () => {
  it.for([
    ['a DataError', new DataError('broken-line', 'bad line')],
    ['a FencedError', new FencedError('fenced', 'another owns it')],
    ['anything else', new TypeError('a defect')],
  ])('passes at once when it is %s', async ([, thrown], { listener }) => {
    const consume = async () => {
      throw thrown;
    };
    expect(await errorOf(clientOf(listener).read(consume))).toBe(thrown);
    expect(listener.seen).toHaveLength(1);
  });

  it('is tried again when it is a RetriableError', async ({ listener }) => {
    listener.always(answer('ok'));
    let tries = 0;
    const text = await clientOf(listener).read(async ({ body }) => {
      if (++tries < 3) throw new RetriableError('odd-end', 'the array has no end');
      return textOf(body);
    });
    expect([text, listener.seen.length]).toEqual(['ok', 3]);
  });
});

describe('going on after a break', () => {
  it('asks for the rest, with full patience for as long as it gets further', async ({ listener }) => {
    const rangeFrom = (request: QueryRequest) => request.range!.fromMicros;
    listener.always((response, seen) => {
      const from = Number(new URL(seen.url, listener.origin).searchParams.get('from')!.slice(20, 26));
      if (from >= 9) answer(`${from}\n`)(response, seen);
      else breakOff(Buffer.from(`${from}\n`))(response, seen);
    });
    const client = clientOf(listener, { limits: { retry: { maxAttempts: 2 } } });
    const got: number[] = [];
    let before = 0;
    const asked: number[] = [];
    await client.exchange(
      (attempt) => {
        asked.push(attempt);
        return { ...PAGE, range: { fromMicros: got.length, toMicros: 10 } };
      },
      async ({ body }) => {
        before = got.length;
        for await (const chunk of body) got.push(Number(Buffer.from(chunk).toString()));
      },
      { progressed: () => got.length > before },
    );
    expect(got).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(asked).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(rangeFrom(PAGE)).toBe(0);
  });

  it('gives up when it gets no further', async ({ listener }) => {
    listener.always(breakOff(Buffer.from('x')));
    const client = clientOf(listener, { limits: { retry: { maxAttempts: 3 } } });
    const error = await errorOf(client.read(({ body }) => textOf(body), { progressed: () => false }));
    expect(error).toMatchObject({ name: 'RetriableError', code: 'body-broken' });
    expect(error.message).toContain('3 failures in a row');
    expect(listener.seen).toHaveLength(3);
  });
});

describe('secrets', () => {
  it('never reach an error or the log, whatever the service echoes', async ({ listener }) => {
    listener.alwaysToken(answer('{"access_token":"token-that-is-secret"}'));
    const lines: string[] = [];
    const write = (fields: object, message: string) => void lines.push(JSON.stringify(fields) + message);
    const log: Log = { debug: write, info: write, warn: write, error: write };
    const client = clientOf(listener, { log });
    const echo =
      (status: number): Handler =>
      (response, seen) =>
        refuse(status, `who is ${seen.headers.authorization} a-secret-of-ours?`)(response, seen);
    listener.script(echo(500), echo(400));
    const error = await errorOf(client.readAll(PAGE));
    const shown = `${error.message}${error.stack}${JSON.stringify(error)}${lines.join('\n')}`;
    expect(error.message).toContain('who is Bearer *** ***?');
    for (const secret of ['token-that-is-secret', 'a-secret-of-ours']) expect(shown).not.toContain(secret);
    expect(lines.length).toBeGreaterThan(0);
  });
});
