import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AGGREGATIONS, type Aggregation, microsToIso } from '../../../src/core/model/index.ts';
import { BatchBuilder } from '../../../src/service/data/batch-builder.ts';
import { WindowAccumulator } from '../../../src/service/query/aggregations.ts';
import { openService, type TestService, VESSEL } from '../running-service.ts';

const NEW = { 'x-api-version': '2026-09-10' };
const START = Date.UTC(2026, 0, 5) * 1000;
const ALL = AGGREGATIONS.join(',');

interface Reading {
  readonly micros: number;
  readonly value: number;
}

/** All aggregations of doubles, as the service's accumulator gives them. */
function accumulated(readings: readonly Reading[]): Record<string, string | undefined> {
  const builder = new BatchBuilder();
  for (const { micros, value } of readings) builder.appendDouble(micros, 0, value);
  const accumulator = new WindowAccumulator(AGGREGATIONS);
  for (let row = 0; row < builder.rows; row++) accumulator.add(builder.batch, row, row + 1);
  return Object.fromEntries(AGGREGATIONS.map((name) => [name, accumulator.value(name)]));
}

/** The definitions of the contract and of docs/service.md, written out in two passes. */
function computed(readings: readonly Reading[]): Partial<Record<Aggregation, number>> {
  const n = readings.length;
  const values = readings.map(({ value }) => value);
  const sum = values.reduce((total, value) => total + value, 0);
  const mean = sum / n;
  const central = (power: number) => values.reduce((total, value) => total + (value - mean) ** power, 0);
  let area = 0;
  for (let i = 1; i < n; i++) {
    const [a, b] = [readings[i - 1]!, readings[i]!];
    area += ((a.value + b.value) / 2) * ((b.micros - a.micros) / 1e6);
  }
  const seconds = (readings[n - 1]!.micros - readings[0]!.micros) / 1e6;
  const [m2, m3, m4] = [central(2), central(3), central(4)];
  const spread = Math.max(...values) > Math.min(...values);
  return {
    count: n,
    first_val: values[0]!,
    last_val: values[n - 1]!,
    delta: values[n - 1]! - values[0]!,
    min: Math.min(...values),
    max: Math.max(...values),
    sum,
    mean,
    integral: area,
    ...(seconds > 0 ? { avg: area / seconds } : {}),
    ...(n > 1 ? { var: m2 / (n - 1), stddev: Math.sqrt(m2 / (n - 1)) } : {}),
    ...(n > 2 && spread ? { skewness: ((n * Math.sqrt(n - 1)) / (n - 2)) * (m3 / m2 ** 1.5) } : {}),
    ...(n > 3 && spread
      ? { kurtosis: ((n - 1) / ((n - 2) * (n - 3))) * (((n + 1) * n * m4) / m2 ** 2 - 3 * (n - 1)) }
      : {}),
  };
}

const readingsArbitrary = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 3_600_000_000 }), fc.integer({ min: -50_000, max: 50_000 })), {
    minLength: 1,
    maxLength: 40,
  })
  .map((pairs) =>
    pairs
      .map(([after, tenths]) => ({ micros: START + after, value: tenths / 10 }))
      .sort((a, b) => a.micros - b.micros || a.value - b.value),
  );

describe('aggregations', () => {
  test('agree with their definitions in plain TypeScript', () => {
    fc.assert(
      fc.property(readingsArbitrary, (readings) => {
        const found = accumulated(readings);
        const expected = computed(readings);
        for (const name of AGGREGATIONS) {
          if (name === 'first_time' || name === 'last_time') continue;
          const value = expected[name];
          if (value === undefined) expect([name, found[name]]).toEqual([name, undefined]);
          else {
            const scale = name === 'integral' ? 1e6 : 1;
            expect(Math.abs(Number(found[name]) - value)).toBeLessThan(
              1e-7 * Math.max(scale, Math.abs(value)),
            );
          }
        }
        expect(found.first_time).toBe(`"${microsToIso(readings[0]!.micros)}"`);
        expect(found.last_time).toBe(`"${microsToIso(readings.at(-1)!.micros)}"`);
      }),
      { numRuns: 500 },
    );
  });

  test('golden: four readings a minute apart, worked by hand', () => {
    // 1, 2, 4, 9 at 0, 60, 120, 180 s. mean 4; deviations -3 -2 0 5: m2 38, m3 90, m4 722.
    const readings = [1, 2, 4, 9].map((value, i) => ({ micros: START + i * 60_000_000, value }));
    const found = accumulated(readings);
    // Trapezoids: 1.5·60 + 3·60 + 6.5·60 = 660; over 180 s: 3.6666…
    expect(found.integral).toBe('660.0');
    expect(Number(found.avg)).toBeCloseTo(11 / 3, 12);
    expect(found.mean).toBe('4.0');
    expect(found.sum).toBe('16.0');
    expect(found.delta).toBe('8.0');
    expect(Number(found.var)).toBeCloseTo(38 / 3, 12);
    // 4·√3/2 · 90/38^1.5
    expect(Number(found.skewness)).toBeCloseTo(1.330938, 5);
    // 3/(2·1) · (5·4·722/38² − 9) = 1.5 · (10 − 9)
    expect(Number(found.kurtosis)).toBeCloseTo(1.5, 12);
  });

  test('golden: one point has no avg, its mean is the point', () => {
    const found = accumulated([{ micros: START, value: 7.25 }]);
    expect(found).toMatchObject({ count: '1', mean: '7.25', integral: '0.0', delta: '0.0', sum: '7.25' });
    expect([found.avg, found.var, found.stddev, found.skewness, found.kurtosis]).toEqual(
      new Array(5).fill(undefined),
    );
  });

  test('skewness, kurtosis, var and stddev are those of DuckDB', async () => {
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    const values = Array.from({ length: 500 }, (_, i) => Math.sin(i) * 100 + (i % 7) ** 3);
    const reader = await connection.runAndReadAll(
      `SELECT skewness(v), kurtosis(v), var_samp(v), stddev_samp(v) FROM (SELECT unnest([${values.join(',')}]::DOUBLE[]) AS v)`,
    );
    const found = accumulated(values.map((value, i) => ({ micros: START + i, value })));
    const expected = reader.getRows()[0]!.map(Number);
    ['skewness', 'kurtosis', 'var', 'stddev'].forEach((name, i) => {
      expect(Number(found[name])).toBeCloseTo(expected[i]!, 8);
    });
    connection.closeSync();
    instance.closeSync();
  });

  test('long readings stay exact', () => {
    const builder = new BatchBuilder();
    const longs = [9007199254740993n, 9007199254740995n, -9223372036854775808n, 9223372036854775807n];
    longs.forEach((value, i) => {
      builder.appendLong(START + i, 0, value);
    });
    const accumulator = new WindowAccumulator(AGGREGATIONS);
    for (let row = 0; row < longs.length; row++) accumulator.add(builder.batch, row, row + 1);
    expect(accumulator.value('sum')).toBe('18014398509481987');
    expect(accumulator.value('min')).toBe('-9223372036854775808');
    expect(accumulator.value('last_val')).toBe('9223372036854775807');
    expect(accumulator.value('delta')).toBe(String(9223372036854775807n - 9007199254740993n));
    expect(accumulator.value('mean')).toMatch(/\./);
  });

  test('readings added together give what they give one by one, whatever is asked', () => {
    const values = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.integer({ min: -9_999, max: 9_999 }).map((steps) => ({ double: steps / 10 })),
      },
      { weight: 2, arbitrary: fc.bigInt({ min: -(2n ** 60n), max: 2n ** 60n }).map((long) => ({ long })) },
      { weight: 1, arbitrary: fc.constantFrom('"on"', '"off"', '{"lat":1.5}').map((json) => ({ json })) },
    );
    const all = fc.array(fc.tuple(fc.nat(5_000_000), values), { minLength: 1, maxLength: 60 });
    const asked = fc.uniqueArray(fc.constantFrom(...AGGREGATIONS), { minLength: 1 });
    fc.assert(
      fc.property(all, asked, fc.array(fc.nat(60)), (readings, aggregations, cuts) => {
        const builder = new BatchBuilder();
        let micros = START;
        for (const [after, value] of readings) {
          micros += after;
          if ('double' in value) builder.appendDouble(micros, 0, value.double);
          else if ('long' in value) builder.appendLong(micros, 0, value.long);
          else builder.appendJson(micros, 0, value.json);
        }
        const [together, single] = [new WindowAccumulator(aggregations), new WindowAccumulator(aggregations)];
        const rows = builder.rows;
        const edges = [...new Set([0, ...cuts.filter((cut) => cut < rows), rows])].sort((a, b) => a - b);
        for (let n = 1; n < edges.length; n++) together.add(builder.batch, edges[n - 1]!, edges[n]!);
        for (let row = 0; row < rows; row++) single.add(builder.batch, row, row + 1);
        for (const name of aggregations) expect(together.value(name)).toBe(single.value(name));
      }),
      { numRuns: 500 },
    );
  });

  test('a JSON reading takes the numeric aggregations away, wherever it stands', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('5', '2.5', '"on"'), { minLength: 1, maxLength: 6 }), (texts) => {
        const builder = new BatchBuilder();
        texts.forEach((text, i) => {
          if (text === '5') builder.appendLong(START + i, 0, 5n);
          else if (text === '2.5') builder.appendDouble(START + i, 0, 2.5);
          else builder.appendJson(START + i, 0, text);
        });
        const accumulator = new WindowAccumulator(AGGREGATIONS);
        for (let row = 0; row < texts.length; row++) accumulator.add(builder.batch, row, row + 1);
        expect(accumulator.value('count')).toBe(String(texts.length));
        const json = texts.includes('"on"');
        expect(accumulator.value('sum') === undefined).toBe(json);
        expect([accumulator.value('first_val'), accumulator.value('last_val')]).toEqual([
          texts[0],
          texts.at(-1),
        ]);
      }),
    );
  });
});

describe('statistics over HTTP', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openService({ data: { seed: 3, vessels: 1, readingsPerDay: 20_000 } });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const WINDOWS = [
    ['10m', 600],
    ['1h', 3600],
    ['7m', 420],
    ['1d', 86_400],
    ['2d', 172_800],
  ] as const;
  const edges = fc.constantFrom('whole', 'partial');
  const minute = fc.integer({ min: 0, max: 2 * 1440 });

  test('equal a computation over the raw points, for any range, window and edges', async () => {
    await fc.assert(
      fc.asyncProperty(
        minute,
        minute,
        fc.constantFrom(...WINDOWS),
        edges,
        async (a, b, [window, seconds], edge) => {
          const from = START + Math.min(a, b) * 60e6;
          const to = START + Math.max(a, b) * 60e6;
          const size = seconds * 1e6;
          const covered =
            edge === 'partial' || from === to
              ? [from, to]
              : [
                  Math.min(Math.ceil(from / size) * size, Math.ceil(to / size) * size),
                  Math.ceil(to / size) * size,
                ];
          const path = `flat/${VESSEL}/Shaft%20Power`;
          const raw = (await service.json(
            `/measurements/${path}?from=${microsToIso(covered[0]!)}&to=${microsToIso(covered[1]!)}`,
          )) as { timestamp: string; value: number }[];
          const windows = new Map<string, Reading[]>();
          for (const { timestamp, value } of raw) {
            const micros = Date.parse(timestamp) * 1000 + Number(timestamp.slice(23, 26));
            const start = microsToIso(Math.floor(micros / size) * size);
            windows.set(start, [...(windows.get(start) ?? []), { micros, value }]);
          }
          const rows = (await service.json(
            `/statistics/${path}?from=${microsToIso(from)}&to=${microsToIso(to)}&window=${window}&window_edges=${edge}&aggregations=${ALL}`,
            NEW,
          )) as { timestamp: string; aggregations: Record<string, number> }[];
          expect(rows.map(({ timestamp }) => timestamp)).toEqual([...windows.keys()]);
          for (const { timestamp, aggregations } of rows) {
            const expected = computed(windows.get(timestamp)!);
            for (const [name, value] of Object.entries(expected))
              expect(Math.abs(aggregations[name]! - value)).toBeLessThan(1e-6 * Math.max(1, Math.abs(value)));
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test('calendar months begin on the first', async () => {
    const rows = (await service.json(
      `/statistics/flat/${VESSEL}/Sea%20Water%20Temperature?from=2025-10-15&to=2026-01-02&window=1month&aggregations=count`,
      NEW,
    )) as { timestamp: string }[];
    expect(rows.map(({ timestamp }) => timestamp.slice(0, 10))).toEqual([
      '2025-11-01',
      '2025-12-01',
      '2026-01-01',
    ]);
  });

  test('counts alone equal the counts beside other aggregations', async () => {
    const path = `/statistics/flat/${VESSEL}/*?from=2026-01-05&to=2026-01-07&window=3h&output_domain=id`;
    const alone = (await service.json(`${path}&aggregations=count,first_time,last_time`, NEW)) as object[];
    const beside = (await service.json(`${path}&aggregations=count,first_time,last_time,last_val`, NEW)) as {
      aggregations: { last_val?: unknown };
    }[];
    for (const row of beside) delete row.aggregations.last_val;
    expect(alone).toEqual(beside);
  });
});
