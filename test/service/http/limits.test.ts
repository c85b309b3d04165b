import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { NOW_MS, openService, testClock, VESSEL } from '../running-service.ts';

const ROLL = `/metadata/flat/${VESSEL}/Roll`;
const DAYS = `/measurements/flat/${VESSEL}/*?from=2026-01-01&to=2026-01-07&format=ndjson`;
const NEW = { 'x-api-version': '2026-09-10' };

describe('limits', () => {
  test('the rate counts by address, whoever asks, and refills with time', async () => {
    const clock = testClock();
    await using s = await openService({ ratePerMinute: 4, clock });
    const authorization = `Bearer ${await s.token()}`;
    const ask = async (header: string) => (await s.get(ROLL, { authorization: header })).status;
    expect([await ask(authorization), await ask('Bearer nonsense'), await ask(authorization)]).toEqual([
      200, 401, 200,
    ]);
    const refused = await s.get(ROLL, { authorization });
    // The token was a request too.
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '15']);
    expect(await refused.json()).toHaveProperty('error');
    await expect(s.token()).rejects.toThrow('token: 429');
    expect((await fetch(new URL('/openapi.json', s.service.baseUrl))).status).toBe(429);
    clock.set(clock.nowMs() + 15_000);
    expect([await ask(authorization), await ask(authorization)]).toEqual([200, 429]);
  });

  test('concurrency counts per credential until the body has been sent', async () => {
    const other = { clientId: 'other', clientSecret: 'another secret', vessels: '*' } as const;
    const first = { clientId: 'first', clientSecret: 'the first secret', vessels: '*' } as const;
    await using s = await openService({
      maxConcurrency: 2,
      clients: [first, other],
      data: { seed: 7, vessels: 1, readingsPerDay: 400_000 },
    });
    const authorization = `Bearer ${await s.token(first)}`;
    // Two large answers that nobody reads: their headers have come, their bodies cannot end.
    const open = await Promise.all([s.get(DAYS, { authorization }), s.get(DAYS, { authorization })]);
    expect(open.map(({ status }) => status)).toEqual([200, 200]);
    expect((await s.get(ROLL, { authorization })).status).toBe(429);
    expect((await s.get(ROLL, { authorization: `Bearer ${await s.token(other)}` })).status).toBe(200);
    const ended = new Promise<void>((resolve) => {
      const look = () =>
        s.service.requests.filter((seen) => seen.status === undefined).length < 2
          ? resolve()
          : setImmediate(look);
      look();
    });
    await open[0]!.body!.cancel();
    await ended;
    expect((await s.get(ROLL, { authorization })).status).toBe(200);
    await open[1]!.body!.cancel();
  });

  test('a latency delays every query, whose place is taken meanwhile', async () => {
    const clock = createManualClock(NOW_MS);
    const options = {
      latencyMs: 250,
      maxConcurrency: 1,
      data: { seed: 7, vessels: 1, readingsPerDay: 5_000 },
    };
    await using s = await openService({ ...options, clock });
    const authorization = `Bearer ${await s.token()}`;
    const answer = s.get(ROLL, { authorization });
    await clock.untilSleeping((delayMs) => delayMs === 250);
    expect((await s.get(ROLL, { authorization })).status).toBe(429);
    await clock.advance(250);
    expect((await answer).status).toBe(200);
  });

  test('tokens expire by the clock', async () => {
    const clock = testClock();
    await using s = await openService({ tokenTtlSeconds: 60, clock });
    expect((await s.get(ROLL)).status).toBe(200);
    clock.set(clock.nowMs() + 61_000);
    const refused = await s.get(ROLL);
    expect(refused.status).toBe(401);
    expect(await refused.json()).toEqual({ error: expect.stringContaining('expired') });
  });

  test('2025-10-31 is gone the day after 2027-03-10, and the default moves on', async () => {
    const clock = testClock(Date.UTC(2027, 2, 10, 23, 59, 59));
    await using s = await openService({ clock, tokenTtlSeconds: 3600 });
    const version = async (headers: Record<string, string>) => {
      const response = await s.get(ROLL, headers);
      return response.status === 200 ? response.headers.get('api-version') : response.status;
    };
    expect([await version({}), await version({ 'x-api-version': '2025-10-31' })]).toEqual([
      '2025-10-31',
      '2025-10-31',
    ]);
    clock.set(Date.UTC(2027, 2, 11));
    expect([await version({}), await version({ 'x-api-version': '2025-10-31' })]).toEqual([
      '2026-09-10',
      400,
    ]);
  });

  test('scopes decide which vessels a client reads', async () => {
    const clients = [
      { clientId: 'one', clientSecret: 'secret of one', vessels: [VESSEL] },
      { clientId: 'none', clientSecret: 'secret of none', vessels: [] },
    ];
    await using s = await openService({ clients });
    const one = { ...NEW, authorization: `Bearer ${await s.token(clients[0])}` };
    const found = (await s.json('/metadata/flat/*/Roll', one)) as { id: string }[];
    expect(found.map(({ id }) => id)).toEqual([`${VESSEL}/Roll`]);
    const none = { ...NEW, authorization: `Bearer ${await s.token(clients[1])}` };
    expect((await s.get('/metadata/flat/*/Roll', none)).status).toBe(404);
    expect((await s.get(ROLL, none)).status).toBe(404);
  });

  test('toInclusive serves the reading at the end of the range', async () => {
    await using s = await openService({ toInclusive: true });
    const [{ timeSeriesId }] = (await s.json(ROLL, NEW)) as [{ timeSeriesId: string }];
    s.service.overlay.addReadings(timeSeriesId, [
      { timestampMicros: Date.UTC(2026, 0, 6) * 1000, valueText: '1' },
    ]);
    const text = await s.text(`/measurements/id/${timeSeriesId}?from=2026-01-05&to=2026-01-06`);
    expect(text).toContain('2026-01-06T00:00:00.000000Z');
  });

  test('close is quick with open connections and bodies', async () => {
    const s = await openService({ data: { seed: 7, vessels: 1, readingsPerDay: 400_000 } });
    const body = await s.get(DAYS);
    expect(body.status).toBe(200);
    const idle = request(s.service.baseUrl, { headers: { connection: 'keep-alive' } });
    idle.on('error', () => {});
    idle.flushHeaders();
    await s.service.close();
    await expect(body.text()).rejects.toThrow();
    idle.destroy();
  });
});
