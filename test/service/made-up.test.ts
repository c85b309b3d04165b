import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TimeRange } from '../../src/core/model/index.ts';
import {
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  systemClock,
  VESSEL_ID,
  vesselOf,
} from '../../src/core/model/index.ts';
import { measurementsBody } from '../../src/service/bodies/measurements-body.ts';
import { fleetVessels, imoNumber } from '../../src/service/data/made-up/fleet.ts';
import { createMadeUpSource, type MadeUpSource } from '../../src/service/data/made-up/made-up-source.ts';
import type { SeriesRecord } from '../../src/service/data/source.ts';
import { createTurns } from '../../src/service/turns.ts';
import { NOW_MS, VESSEL } from './running-service.ts';

/** Of one that nobody else waits for. */
const WORK = createTurns(systemClock).begin();
const DAY_FROM = Date.UTC(2026, 0, 5) * 1000;

function fleet(readingsPerDay: number, seed = 11, nowMs = NOW_MS): MadeUpSource {
  return createMadeUpSource({ seed, vessels: 2, readingsPerDay, nowMs: () => nowMs });
}

async function lines(
  source: MadeUpSource,
  records: readonly SeriesRecord[],
  range: TimeRange,
): Promise<string[]> {
  const selected = records.map((record) => ({ record, id: record.timeSeriesId, domain: 'id' }));
  let text = '';
  for await (const piece of measurementsBody(source, selected, range, 'ndjson', WORK)) text += piece;
  return text.split('\n').slice(0, -1);
}

async function count(
  source: MadeUpSource,
  records: readonly SeriesRecord[],
  range: TimeRange,
): Promise<number> {
  let rows = 0;
  for await (const { batch } of source.read(records, range, { values: false, interleaved: false }, WORK))
    rows += batch.rows;
  return rows;
}

const ofVessel = (source: MadeUpSource) => source.series.filter(({ vessel }) => vessel === VESSEL);
const day = { fromMicros: DAY_FROM, toMicros: DAY_FROM + MICROS_PER_DAY };

describe('the made-up fleet', () => {
  test.each([
    [3, 4_000, 24 * MICROS_PER_HOUR, '0a060899c7baa951'],
    [8, 40_000, 3 * MICROS_PER_HOUR, '459e3c814ee38781'],
    [1, 3_000_000, MICROS_PER_HOUR / 60, 'b85d2b1632010135'],
  ])(
    'of seed %i and %i readings a day has the readings it always had',
    async (seed, perDay, micros, digest) => {
      const source = fleet(perDay, seed);
      const fromMicros = DAY_FROM + (micros === MICROS_PER_DAY ? 0 : 5 * MICROS_PER_HOUR);
      const all = await lines(source, source.series, { fromMicros, toMicros: fromMicros + micros });
      expect(all.length).toBeGreaterThan(1_000);
      expect(createHash('sha256').update(all.join('\n')).digest('hex').slice(0, 16)).toBe(digest);
    },
  );

  test('ranges put together are the whole range, wherever they are cut', async () => {
    const source = fleet(8000);
    const records = ofVessel(source);
    const range = { fromMicros: DAY_FROM + 20 * MICROS_PER_HOUR, toMicros: DAY_FROM + 28 * MICROS_PER_HOUR };
    const whole = await lines(source, records, range);
    expect(whole.length).toBeGreaterThan(1500);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(8 * MICROS_PER_HOUR), { maxLength: 4 }), async (cuts) => {
        const edges = [0, ...cuts.sort((a, b) => a - b), 8 * MICROS_PER_HOUR].map(
          (at) => range.fromMicros + at,
        );
        const parts: string[] = [];
        for (let i = 1; i < edges.length; i++)
          parts.push(...(await lines(source, records, { fromMicros: edges[i - 1]!, toMicros: edges[i]! })));
        expect(parts).toEqual(whole);
      }),
      { numRuns: 15 },
    );
  });

  test('one series alone reads as it does among all', async () => {
    const source = fleet(8000);
    const records = ofVessel(source);
    const all = await lines(source, records, day);
    for (const record of [records[3]!, records[40]!, records[100]!]) {
      const alone = await lines(source, [record], day);
      expect(alone).toEqual(all.filter((line) => line.includes(record.timeSeriesId)));
    }
  });

  test('the same seed gives the same readings, another seed others', async () => {
    const [a, b, c] = [fleet(5000), fleet(5000), fleet(5000, 12)];
    expect(await lines(a, ofVessel(a), day)).toEqual(await lines(b, ofVessel(b), day));
    expect(await lines(c, ofVessel(c), day)).not.toEqual(await lines(a, ofVessel(a), day));
  });

  test.each([3000, 50_000, 2_000_000])('readingsPerDay %i is about kept', async (readingsPerDay) => {
    const source = fleet(readingsPerDay);
    const rows = await count(source, ofVessel(source), day);
    expect(rows / readingsPerDay).toBeGreaterThan(0.85);
    expect(rows / readingsPerDay).toBeLessThan(1.15);
  });

  test('has 100 to 200 series a vessel, and every series an id of its own', () => {
    const source = fleet(5000);
    expect(ofVessel(source).length).toBeGreaterThan(100);
    expect(ofVessel(source).length).toBeLessThan(200);
    expect(new Set(source.series.map(({ timeSeriesId }) => timeSeriesId)).size).toBe(source.series.length);
    const jsmea = source.series.map(({ names }) => names.get('jsmea')).filter((id) => id !== undefined);
    expect(jsmea.every((id) => id.split('/').length === 8)).toBe(true);
  });

  test('is silent for one day of a month, never on the demo days, and always reads in the newest months', async () => {
    const source = fleet(5000);
    const silent: string[] = [];
    for (let from = Date.UTC(2025, 9, 1); from < Date.UTC(2026, 0, 7); from += 86_400_000) {
      const date = new Date(from).toISOString().slice(0, 10);
      const rows = await count(source, ofVessel(source), {
        fromMicros: from * 1000,
        toMicros: from * 1000 + MICROS_PER_DAY,
      });
      if (rows === 0) silent.push(date);
      expect(source.isSilent(VESSEL, date)).toBe(rows === 0);
    }
    expect(silent.map((date) => date.slice(0, 7)).slice(0, 3)).toEqual(['2025-10', '2025-11', '2025-12']);
    expect(silent).not.toContain('2026-01-05');
    expect(silent).not.toContain('2026-01-06');
    for (let from = Date.UTC(2026, 6, 1); from < Date.UTC(2027, 0, 1); from += 86_400_000)
      expect(source.isSilent(VESSEL, new Date(from).toISOString().slice(0, 10))).toBe(false);
  });

  test('has no readings from now on, and none before 2020', async () => {
    const source = fleet(5000);
    const now = NOW_MS * 1000;
    expect(await count(source, ofVessel(source), { fromMicros: now, toMicros: now + MICROS_PER_DAY })).toBe(
      0,
    );
    expect(
      await count(source, ofVessel(source), {
        fromMicros: now - MICROS_PER_HOUR,
        toMicros: now + MICROS_PER_DAY,
      }),
    ).toBeGreaterThan(0);
    expect(
      await count(source, ofVessel(source), { fromMicros: 0, toMicros: Date.UTC(2020, 0, 1) * 1000 }),
    ).toBe(0);
  });

  test('sends instants twice, many series at one instant, and odd microseconds', async () => {
    const source = fleet(200_000);
    const found = await lines(source, ofVessel(source), day);
    const keys = found.map((line) => line.slice(0, line.indexOf(',"value"')));
    expect(keys.length - new Set(keys).size).toBeGreaterThan(5);
    const times = new Set(keys.map((key) => key.slice(key.indexOf('timestamp'))));
    expect(times.size).toBeLessThan(keys.length * 0.9);
    expect(keys.filter((key) => !key.endsWith('000Z"')).length).toBeGreaterThan(keys.length / 2);
  });

  test('a counter never falls, and goes beyond 2^53 exactly', async () => {
    const source = fleet(50_000);
    const record = source.series.find(({ names }) => names.get('flat') === `${VESSEL}/ME Fuel Oil Counter`)!;
    const values = (await lines(source, [record], day)).map((line) =>
      BigInt(/"value":(\d+)/.exec(line)![1]!),
    );
    expect(values[0]).toBeGreaterThan(2n ** 53n);
    for (let i = 1; i < values.length; i++) expect(values[i]! >= values[i - 1]!).toBe(true);
    expect(values.some((value) => value % 2n === 1n)).toBe(true);
  });

  test('power goes with the cube of speed, fuel with power', async () => {
    const source = fleet(20_000);
    const hourly = async (tag: string) => {
      const record = source.series.find(({ names }) => names.get('flat') === `${VESSEL}/${tag}`)!;
      const hours = Array.from({ length: 48 }, () => ({ sum: 0, count: 0 }));
      for (const line of await lines(source, [record], { ...day, toMicros: day.toMicros + MICROS_PER_DAY })) {
        const [, date, hour, value] = /T?(\d\d)T(\d\d):.*"value":(.*)\}$/.exec(line)!;
        const cell = hours[(Number(date) - 5) * 24 + Number(hour)]!;
        cell.sum += Number(value);
        cell.count++;
      }
      return hours.map(({ sum, count }) => sum / count);
    };
    const speed = await hourly('Speed Through Water');
    const power = await hourly('Shaft Power');
    const fuel = await hourly('ME Fuel Oil Consumption');
    const steady = speed.flatMap((knots, i) =>
      knots > 12 && Math.abs(knots - speed[i + 1]!) < 0.2 ? [i] : [],
    );
    expect(steady.length).toBeGreaterThan(5);
    const factors = steady.map((i) => power[i]! / speed[i]! ** 3);
    expect(Math.max(...factors) / Math.min(...factors)).toBeLessThan(1.2);
    for (const i of steady) {
      expect((fuel[i]! * 1000) / power[i]!).toBeGreaterThan(160);
      expect((fuel[i]! * 1000) / power[i]!).toBeLessThan(185);
    }
  });

  test('a negative seed is a seed like any other', async () => {
    const source = fleet(5000, -3);
    expect(await count(source, ofVessel(source), day)).toBeGreaterThan(4000);
  });

  test('a fleet of three thousand has real IMO numbers, each once, and begins as it always did', () => {
    const vessels = fleetVessels({ seed: 1, vessels: 3_000, readingsPerDay: 1 });
    const numbers = vessels.map(({ imo }) => imo);
    expect(numbers.slice(0, 3)).toEqual(['9321483', '9322853', '9324227']);
    expect(new Set(numbers).size).toBe(3_000);
    const isReal = (imo: string) => imo === imoNumber(Number(imo.slice(0, 6))) && vesselOf(imo) !== undefined;
    expect(numbers.filter((imo) => !isReal(imo))).toEqual([]);
    expect(vessels.filter(({ identifier }) => !VESSEL_ID.test(identifier))).toEqual([]);
  });

  test('IMO numbers carry their check digit', () => {
    expect(imoNumber(932_148)).toBe('9321483');
    expect(imoNumber(907_472)).toBe('9074729');
  });
});
