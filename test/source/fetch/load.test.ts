import { describe, expect } from 'vitest';
import { systemClock } from '../../../src/core/model/ports.ts';
import { createConcurrencyLimit } from '../../../src/source/fetch/concurrency-limit.ts';
import { createRateLimit } from '../../../src/source/fetch/rate-limit.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { answer, clientOf, errorOf, GOOD_HEADERS, it, PAGE, refuse, textOf } from './listener.ts';

/** Bodies end once the concurrency limit is used in full, and some turns later, so that one request too many would be seen. */
async function endAfterAWhile(waiting: (() => void)[]): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  for (const end of waiting.splice(0)) end();
}

describe('the cap', () => {
  it('is never exceeded at the service, over several clients, and is used in full', async ({ listener }) => {
    let most = 0;
    const waiting: (() => void)[] = [];
    listener.always((response) => {
      response.writeHead(200, GOOD_HEADERS).write('a');
      waiting.push(() => response.end('b'));
      most = Math.max(most, waiting.length);
      if (waiting.length === 3) void endAfterAWhile(waiting);
    });
    const rateLimit = createRateLimit({ clock: systemClock });
    const concurrencyLimit = createConcurrencyLimit({ limit: 3, rateLimit, clock: systemClock });
    const clients = [
      clientOf(listener, { concurrencyLimit, rateLimit }),
      clientOf(listener, { concurrencyLimit, rateLimit }),
    ];
    const calls = Array.from({ length: 60 }, (_, i) => clients[i % 2]!.readAll(PAGE));
    expect((await Promise.all(calls)).every(({ bytes }) => bytes.length === 2)).toBe(true);
    expect(most).toBe(3);
  });

  it('is not held while the consumer works after the body', async ({ listener }) => {
    listener.always(answer('ok'));
    const client = clientOf(listener, { maxConcurrency: 1 });
    const { promise: working, resolve: finish } = Promise.withResolvers<void>();
    const slow = client.read(async ({ body }) => {
      await textOf(body);
      await working;
    });
    await client.readAll(PAGE);
    finish();
    await slow;
    expect(listener.seen).toHaveLength(2);
  });

  it('is given back by every kind of failure', async ({ listener }) => {
    listener.script(
      refuse(404),
      (response) => response.socket?.destroy(),
      answer('too long'),
      refuse(302),
      refuse(406),
    );
    const client = clientOf(listener, {
      maxConcurrency: 1,
      limits: { maxPageBytes: 3, retry: { maxAttempts: 1 } },
    });
    for (let i = 0; i < 5; i++) await errorOf(client.read(({ body }) => textOf(body)));
    const thrown = new TypeError('a defect');
    const error = await errorOf(
      client.read(async () => {
        throw thrown;
      }),
    );
    expect(error).toBe(thrown);
    listener.always(answer('ok'));
    expect((await client.readAll(PAGE)).bytes).toHaveLength(2);
  });
});

describe('a storm of 429', () => {
  it('costs no attempt, lowers the cap, and everyone gets through', async ({ listener }) => {
    const clock = createManualClock();
    const rateLimit = createRateLimit({ clock });
    const concurrencyLimit = createConcurrencyLimit({ limit: 8, rateLimit, clock });
    let inFlight = 0;
    listener.always((response, seen) => {
      inFlight += 1;
      response.on('close', () => {
        inFlight -= 1;
      });
      // The service's own maximum is lower than ours.
      if (inFlight > 2) refuse(429, 'too many requests')(response, seen);
      else setImmediate(() => answer('ok')(response, seen));
    });
    const client = clientOf(listener, {
      clock,
      concurrencyLimit,
      rateLimit,
      random: () => 0.5,
      limits: { retry: { maxAttempts: 1 } },
    });
    let done = false;
    const all = Promise.all(Array.from({ length: 40 }, () => client.readAll(PAGE))).then(() => {
      done = true;
    });
    while (!done) await clock.advance(50);
    await all;
    expect(client.stats.rateLimited).toBeGreaterThan(0);
    expect(client.stats.requests).toBe(40 + client.stats.rateLimited);
    expect(client.stats.retries).toBe(client.stats.rateLimited);
    expect(concurrencyLimit.current).toBeLessThan(8);
  });

  it('with Retry-After keeps everyone from asking until then', async ({ listener }) => {
    const clock = createManualClock();
    const askedAt: number[] = [];
    listener.script((response, seen) => refuse(429, 'wait', { 'retry-after': '30' })(response, seen));
    listener.always((response, seen) => {
      askedAt.push(clock.monotonicMs());
      answer('ok')(response, seen);
    });
    const client = clientOf(listener, { clock });
    const refused = client.readAll(PAGE);
    await clock.untilSleeping((delayMs) => delayMs === 30_000);
    const others = [client.readAll(PAGE), client.readAll(PAGE)];
    await clock.advance(29_999);
    expect(askedAt).toEqual([]);
    await clock.advance(1);
    await Promise.all([refused, ...others]);
    expect(askedAt).toEqual([30_000, 30_000, 30_000]);
  });

  it('without end is given up in the end as RateLimitedError', async ({ listener }) => {
    const clock = createManualClock();
    listener.always(refuse(429, 'too many', { 'retry-after': '60' }));
    const client = clientOf(listener, { clock, limits: { headersTimeoutMs: 1e9, idleTimeoutMs: 1e9 } });
    let failed: (Error & { retryAfterMs?: number }) | undefined;
    void errorOf(client.readAll(PAGE)).then((error) => {
      failed = error;
    });
    while (!failed) await clock.advance(1_000);
    expect(failed).toMatchObject({ name: 'RateLimitedError', code: 'rate-limited', retryAfterMs: 60_000 });
    expect(listener.seen.length).toBeGreaterThan(20);
    expect(listener.seen.length).toBeLessThan(32);
  });
});
