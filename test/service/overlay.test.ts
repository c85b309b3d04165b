import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openService, type TestService, VESSEL } from './running-service.ts';

const NEW = { 'x-api-version': '2026-09-10' };
const DAY = 'from=2026-01-05&to=2026-01-06';
const FROM = Date.UTC(2026, 0, 5) * 1000;
const HOUR = 3_600_000_000;

describe('the overlay', () => {
  let s: TestService;
  let id: string;
  beforeEach(async () => {
    s = await openService();
    const found = (await s.json(`/metadata/flat/${VESSEL}/Heading`, NEW)) as { timeSeriesId: string }[];
    id = found[0]!.timeSeriesId;
  });
  afterEach(() => s[Symbol.asyncDispose]());

  const readings = () => s.text(`/measurements/id/${id}?${DAY}&format=ndjson`);
  const count = async () => {
    const rows = (await s.json(`/statistics/id/${id}?${DAY}&window=1d&aggregations=count`, NEW)) as {
      aggregations: { count: number };
    }[];
    return rows[0]?.aggregations.count ?? 0;
  };

  test('added readings are served in order and counted, their text kept', async () => {
    const before = await readings();
    const total = await count();
    const texts = [
      '5',
      '5.0',
      '9007199254740993',
      '-0.0',
      '1e400',
      '{"a": 1}',
      'null',
      '123456789012345678901',
    ];
    s.service.overlay.addReadings(
      id,
      texts.map((valueText, i) => ({ timestampMicros: FROM + HOUR + i, valueText })),
    );
    const lines = (await readings()).split('\n');
    for (const [i, text] of texts.entries())
      expect(lines).toContain(`{"id":"${id}","timestamp":"2026-01-05T01:00:00.00000${i}Z","value":${text}}`);
    expect(lines.length).toBe(before.split('\n').length + texts.length);
    const times = lines.slice(0, -1).map((line) => line.slice(line.indexOf('timestamp')).slice(12, 39));
    expect(times).toEqual([...times].sort());
    expect(await count()).toBe(total + texts.length);
  });

  test('readings of one instant are ordered long, double, JSON, each ascending', async () => {
    const at = FROM + 2 * HOUR;
    for (const valueText of ['"b"', '2.5', '7', '"a"', '1.5', '-3'])
      s.service.overlay.addReadings(id, [{ timestampMicros: at, valueText }]);
    const lines = (await readings()).split('\n').filter((line) => line.includes('T02:00:00.000000Z'));
    expect(lines.map((line) => line.slice(line.indexOf('"value":') + 8, -1))).toEqual([
      '-3',
      '7',
      '1.5',
      '2.5',
      '"a"',
      '"b"',
    ]);
  });

  test('removed readings are gone from measurements and statistics', async () => {
    const total = await count();
    s.service.overlay.removeReadings(id, { fromMicros: FROM, toMicros: FROM + 12 * HOUR });
    expect((await readings()).includes('T11:')).toBe(false);
    expect(await count()).toBeLessThan(total);
    expect(await count()).toBeGreaterThan(0);
    s.service.overlay.removeReadings(id, { fromMicros: FROM, toMicros: FROM + 24 * HOUR });
    expect(await readings()).toBe('');
    expect(await count()).toBe(0);
  });

  test('what is added after a removal stays', async () => {
    s.service.overlay.removeReadings(id, { fromMicros: FROM, toMicros: FROM + 24 * HOUR });
    s.service.overlay.addReadings(id, [{ timestampMicros: FROM + 5, valueText: '1' }]);
    expect(await readings()).toBe(`{"id":"${id}","timestamp":"2026-01-05T00:00:00.000005Z","value":1}\n`);
    s.service.overlay.removeReadings(id, { fromMicros: FROM, toMicros: FROM + 24 * HOUR });
    expect(await readings()).toBe('');
  });

  test('other series do not change', async () => {
    const path = `/measurements/flat/${VESSEL}/Roll?${DAY}`;
    const before = await s.text(path);
    s.service.overlay.removeReadings(id);
    s.service.overlay.addReadings(id, [{ timestampMicros: FROM, valueText: '1' }]);
    expect(await s.text(path)).toBe(before);
  });

  test('readings after now can be added', async () => {
    s.service.overlay.addReadings(id, [{ timestampMicros: Date.UTC(2026, 0, 9) * 1000, valueText: '1' }]);
    expect(await s.text(`/measurements/id/${id}?from=2026-01-08&to=2026-01-10&format=ndjson`)).toContain(
      '2026-01-09',
    );
  });

  test('the journal tells what was asked', async () => {
    await s.text(`/measurements/id/${id}?${DAY}`);
    await s.get('/measurements/nothing/x');
    const [good, bad] = s.service.requests.slice(-2);
    expect(good).toMatchObject({
      family: 'measurements',
      method: 'GET',
      path: `/test/measurements/id/${id}`,
      query: { from: '2026-01-05', to: '2026-01-06' },
      range: { fromMicros: FROM, toMicros: FROM + 24 * HOUR },
      clientId: 'reader',
      status: 200,
    });
    expect(bad).toMatchObject({ family: 'measurements', status: 404 });
    await s.post(`/statistics/query?${DAY}`, [`id/${id}`]);
    expect(s.service.requests.at(-1)).toMatchObject({
      family: 'statistics',
      method: 'POST',
      expressions: [`id/${id}`],
    });
  });
});
