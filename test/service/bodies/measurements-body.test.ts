/** Measurements as JSON, against lines that are written one by one. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ColumnBatch, microsToIso } from '../../../src/core/model/index.ts';
import { measurementsBody } from '../../../src/service/bodies/measurements-body.ts';
import { BatchBuilder } from '../../../src/service/data/batch-builder.ts';
import type { DataSource } from '../../../src/service/data/source.ts';
import type { SelectedSeries } from '../../../src/service/query/selection.ts';
import { neverDue } from '../work.ts';

const IDS = ['a', 'ME Cyl 1', 'Ærø "bridge" \\ \u007f🚢', '6f3b7c52-0b1f-4f0e-8d5e-0d5b1f6a7c11'];
/** Doubles and their texts: the shortest that reads back, with a point or exponent. */
const DOUBLES = [
  ...([
    [0, '0.0'],
    [-0, '-0.0'],
    [5, '5.0'],
    [-0.001, '-0.001'],
    [999_999.999, '999999.999'],
  ] as const),
  ...([
    [1e20, '100000000000000000000.0'],
    [1e21, '1e+21'],
    [5e-324, '5e-324'],
    [NaN, 'null'],
  ] as const),
] as const;
const decimals = fc
  .tuple(fc.integer({ min: -2_000_000_000, max: 2_000_000_000 }), fc.constantFrom(10, 1_000, 10_000))
  .map(([digits, scale]) => (digits * 10 + 1) / scale / 10);
const values = fc.oneof(
  fc.constantFrom(...DOUBLES).map(([double, text]) => ({ double, text })),
  decimals.map((double) => ({ double, text: JSON.stringify(double) })),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((long) => ({ long, text: String(long) })),
  fc.json().map((json) => ({ json, text: json })),
);
const readings = fc.array(
  fc.record({
    code: fc.nat(IDS.length - 1),
    micros: fc.nat(3_000_000).map((after) => Date.UTC(2026, 0, 5, 23, 59, 59) * 1000 + after),
    value: values,
  }),
  { maxLength: 600 },
);

test.each(['ndjson', 'json'] as const)('%s has each reading exactly', async (format) => {
  await fc.assert(
    fc.asyncProperty(fc.array(readings, { maxLength: 4 }), async (batches) => {
      const source: DataSource = {
        series: [],
        async *read() {
          for (const all of batches) {
            const builder = new BatchBuilder();
            for (const { micros, code, value } of all)
              if ('double' in value) builder.appendDouble(micros, code, value.double);
              else if ('long' in value) builder.appendLong(micros, code, value.long);
              else builder.appendJson(micros, code, value.json);
            yield { batch: builder.batch as ColumnBatch, toMicros: 0 };
          }
        },
      };
      const selected = IDS.map((id) => ({ id }) as SelectedSeries);
      let text = '';
      const range = { fromMicros: 0, toMicros: 0 };
      for await (const piece of measurementsBody(source, selected, range, format, neverDue)) text += piece;
      const lines = batches
        .flat()
        .map(
          ({ code, micros, value }) =>
            `{"id":${JSON.stringify(IDS[code])},"timestamp":"${microsToIso(micros)}","value":${value.text}}`,
        );
      expect(text).toBe(
        format === 'json' ? `[${lines.join(',')}]` : lines.map((line) => `${line}\n`).join(''),
      );
    }),
    { numRuns: 30 },
  );
});
