/** What row groups say of their values, and what a day's groups add up to, against plain adding. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EncodedRowGroup, LakeValue, SeriesRows, StatisticsRow } from '../../../src/core/model/index.ts';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { compareValues, digestJson } from '../../../src/core/proof/compare-values.ts';
import { SeriesValues } from '../../../src/core/proof/series-values.ts';
import { createMeasurementRowGroups, createStatisticsRowGroups } from '../../../src/parquet/write/index.ts';
import type { Reading, Value } from './lake-file.ts';
import { batchOf, DAY_MICROS, sealAll } from './lake-file.ts';
import { encoderHere } from './readers.ts';

const encoder = encoderHere();

async function groupsOf(readings: readonly Reading[], rowGroupRows: number): Promise<EncodedRowGroup[]> {
  const dictionary = createSeriesDictionary();
  const builder = createMeasurementRowGroups({ rowGroupRows, dictionary, idOf: () => null, encoder });
  builder.append(batchOf(readings, dictionary), 0, readings.length);
  return sealAll(builder);
}

/** As a checkpoint keeps it. */
function addedUp(groups: readonly EncodedRowGroup[]): ReadonlyMap<string, SeriesRows> {
  let values = new SeriesValues();
  for (const group of groups) {
    for (const { timeSeriesId, rows } of group.values) values.add(timeSeriesId, rows);
    values = SeriesValues.fromJson(JSON.parse(JSON.stringify(values.toJson())));
  }
  return values.bySeries;
}

const kept = (value: Value): LakeValue =>
  typeof value === 'string' ? { jsonSha256: digestJson(value) } : value;

/** The values of one series as JSON texts of a service that adds exactly, or as nearly as doubles do. */
function answered(own: readonly Reading[]): Map<string, string> {
  const values = own.map(({ value }) => value);
  const text = (value: Value) => (typeof value === 'string' ? value : String(value));
  const longs = values.filter((value) => typeof value === 'bigint');
  const numbers = values.map(Number);
  const allLong = longs.length === values.length;
  const [least, greatest] = allLong
    ? [longs.reduce((a, b) => (a < b ? a : b)), longs.reduce((a, b) => (a > b ? a : b))]
    : [Math.min(...numbers), Math.max(...numbers)];
  const sum = allLong ? longs.reduce((a, b) => a + b) : numbers.reduceRight((a, b) => a + b);
  return new Map([
    ['first_val', text(values[0]!)],
    ['last_val', text(values.at(-1)!)],
    ['min', String(least)],
    ['max', String(greatest)],
    ['sum', String(sum)],
  ]);
}

const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
/** Without -0, which is 0 to whoever compares. */
const doubleUpTo = (max: number) => fc.double({ noNaN: true, min: -max, max }).map((one) => one + 0);
const double = doubleUpTo(1e300);
const json = fc.json().filter((text) => !/^-?\d/.test(text));
const value = fc.oneof(long, double, json);
const ofKind = fc.constantFrom('long', 'double', 'number', 'any').chain((kind) => {
  const one: fc.Arbitrary<Value> =
    kind === 'long' ? long : kind === 'double' ? double : kind === 'number' ? fc.oneof(long, double) : value;
  return fc.array(one, { minLength: 1, maxLength: 40 });
});

test('readings, whatever row groups they fall into', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(ofKind, { minLength: 1, maxLength: 4 }), fc.nat(30), async (all, rows) => {
      const readings = all
        .flatMap((values, s) =>
          values.map((value, i) => ({ micros: DAY_MICROS + i, series: `s${s}`, value })),
        )
        .sort((a, b) => a.micros - b.micros);
      const found = addedUp(await groupsOf(readings, rows + 1));
      expect([...found.keys()].sort()).toEqual([...new Set(readings.map(({ series }) => series))].sort());
      for (const [id, rowsOfSeries] of found) {
        const own = readings.filter(({ series }) => series === id);
        const count = (type: string) => own.filter((reading) => typeof reading.value === type).length;
        const kinds = { longs: count('bigint'), doubles: count('number'), jsons: count('string') };
        expect(rowsOfSeries).toMatchObject(kinds);
        expect(rowsOfSeries.first).toEqual([kept(own[0]!.value)]);
        expect(rowsOfSeries.last).toEqual([kept(own.at(-1)!.value)]);
        expect(compareValues(rowsOfSeries, answered(own))).toEqual({ differences: [], missing: [] });
        if (kinds.jsons === 0 && kinds.doubles === 0) {
          // Exactly: one more would be seen, where no double is spelled so.
          const oneMore = String(BigInt(rowsOfSeries.sum!) + 1n);
          const double = Number(oneMore);
          const isDouble = oneMore === String(double) || BigInt(oneMore) === BigInt(double);
          const off = answered(own).set('sum', oneMore);
          if (rowsOfSeries.magnitude <= 2 ** 53 || !isDouble)
            expect(compareValues(rowsOfSeries, off).differences).toHaveLength(1);
        }
      }
    }),
    { numRuns: 60 },
  );
});

test('several values at the first and at the last instant are all kept', async () => {
  const at = (micros: number, value: Value): Reading => ({ micros: DAY_MICROS + micros, series: 'a', value });
  const groups = await groupsOf([at(0, 2.5), at(0, 7n), at(1, 0n), at(9, '"on"'), at(9, 1n)], 3);
  expect(groups).toHaveLength(2);
  const { first, last } = addedUp(groups).get('a')!;
  expect(new Set(first)).toEqual(new Set([2.5, 7n]));
  expect(last).toEqual(expect.arrayContaining([1n, { jsonSha256: digestJson(' "on" ') }]));
});

test('windows add up to what their readings do, within what adding in another order makes', async () => {
  const numbers = fc.array(doubleUpTo(1e9), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.array(numbers, { minLength: 1, maxLength: 20 }), async (windows) => {
      const rows = windows.map((values, i): StatisticsRow => {
        const sum = values.reduce((a, b) => a + b);
        const told = { count: values.length, mean: sum / values.length, max: Math.max(...values) };
        const texts = Object.entries(told).map(([name, number]) => [name, String(number)] as const);
        return { timestampMicros: DAY_MICROS + i * 1_000_000, id: 'a', values: new Map(texts) };
      });
      const aggregations = ['count', 'mean', 'max'] as const;
      const builder = createStatisticsRowGroups({ rowGroupRows: 7, aggregations, idOf: () => null, encoder });
      builder.append(rows, 0, rows.length);
      const found = addedUp(await sealAll(builder)).get('a')!;
      const all = windows.flat();
      const magnitude = all.reduce((sum, one) => sum + Math.abs(one), 0);
      expect(found).toMatchObject({ jsons: 0, min: undefined, max: Math.max(...all), first: undefined });
      const sum = all.reduceRight((a, b) => a + b);
      expect(Math.abs(Number(found.sum) - sum)).toBeLessThanOrEqual(1e-9 * magnitude);
    }),
    { numRuns: 60 },
  );
});

test('of windows whose values cannot be told nothing is said', async () => {
  const row = (values: Record<string, string>): StatisticsRow => ({
    timestampMicros: DAY_MICROS,
    id: 'a',
    values: new Map(Object.entries({ count: '3', ...values })),
  });
  const valuesOf = async (
    aggregations: readonly ('count' | 'mean' | 'stddev' | 'first_val')[],
    one: StatisticsRow,
  ) => {
    const builder = createStatisticsRowGroups({ rowGroupRows: 7, aggregations, idOf: () => null, encoder });
    builder.append([one], 0, 1);
    return addedUp(await sealAll(builder)).get('a');
  };
  expect(await valuesOf(['count', 'stddev'], row({ stddev: '1.5' }))).toBeUndefined();
  expect(await valuesOf(['count', 'mean', 'first_val'], row({ first_val: '"on"' }))).toBeUndefined();
  expect(await valuesOf(['count', 'mean'], row({}))).toMatchObject({ jsons: 1, doubles: 0 });
  expect(await valuesOf(['count', 'mean', 'first_val'], row({ mean: '2', first_val: '1' }))).toMatchObject({
    doubles: 1,
    sum: 6,
  });
});
