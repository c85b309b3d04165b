/** Numbers, times and lines written byte by byte, against the texts that JavaScript makes of them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ColumnBatch } from '../../../src/core/model/index.ts';
import { DOUBLE, LONG, microsToIso } from '../../../src/core/model/index.ts';
import { MeasurementTextWriter } from '../../../src/service/bodies/measurement-text.ts';
import { SentMemory } from '../../../src/service/bodies/piece-memory.ts';
import { NUMBER_BYTES, NumberWriter, textMemory } from '../../../src/service/bodies/text-bytes.ts';
import { BatchBuilder } from '../../../src/service/data/batch-builder.ts';
import { floatText } from '../../../src/service/query/formats.ts';

const decimals = fc
  .tuple(fc.integer({ min: -2_000_000_000, max: 2_000_000_000 }), fc.constantFrom(1, 10, 100, 1_000, 10_000))
  .map(([digits, scale]) => digits / scale);
const doubles = fc.oneof(
  decimals,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 5, 0.5, -0.001, 0.0005, 999.999, 1_000, 999_999.999, 1e6, 1e9, 1e21, 5e-324),
);
const longs = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.integer({ min: -1_100, max: 1_100 }).map(BigInt),
  fc
    .tuple(fc.constantFrom(10n ** 3n, 10n ** 6n, 10n ** 9n, 2n ** 31n, 2n ** 32n, 2n ** 53n), fc.integer())
    .map(([edge, by]) => edge + BigInt(by % 3)),
);

describe('numbers', () => {
  const numbers = new NumberWriter();
  const out = textMemory(new Uint8Array(400));
  const written = (end: number) => Buffer.from(out.bytes.buffer, 0, end).toString('latin1');

  test('a double is the shortest text that reads back, with a point', () => {
    fc.assert(
      fc.property(doubles, (value) => {
        const end = numbers.writeDouble(out, 0, value);
        expect(written(end)).toBe(floatText(value));
        expect(end).toBeLessThanOrEqual(NUMBER_BYTES - 4);
      }),
      { numRuns: 3_000 },
    );
  });

  test('a long is exact, of every size', () => {
    fc.assert(
      fc.property(longs, (value) => {
        const words = new Int32Array(BigInt64Array.of(value).buffer);
        expect(written(numbers.writeLong(out, 0, words[0]!, words[1]!))).toBe(value.toString());
      }),
      { numRuns: 3_000 },
    );
  });

  test('five decimals are those of toFixed', () => {
    const near = fc
      .tuple(fc.integer({ min: -36_000_000, max: 36_000_000 }), fc.constantFrom(0, 0.5, 0.499999, 0.500001))
      .map(([units, rest]) => (units + rest) / 1e5);
    const any = fc.oneof(near, doubles, fc.constantFrom(-1e-9, 0.000005, 9999.999995));
    fc.assert(
      fc.property(any, (value) => {
        expect(written(numbers.writeFixed5(out, 0, value))).toBe(value.toFixed(5));
      }),
      { numRuns: 3_000 },
    );
  });
});

const IDS = ['a', 'ME Cyl 1', 'Ærø "bridge" \\ \u007f🚢', '6f3b7c52-0b1f-4f0e-8d5e-0d5b1f6a7c11'];
const readings = fc.array(
  fc.record({
    code: fc.nat(IDS.length - 1),
    micros: fc.nat(3_000_000).map((after) => Date.UTC(2026, 0, 5, 23, 59, 59) * 1000 + after),
    value: fc.oneof(
      doubles.map((double) => ({ double })),
      longs.map((long) => ({ long })),
      fc.json().map((json) => ({ json })),
    ),
  }),
  { maxLength: 600, size: 'max' },
);
type Readings = (typeof readings)['generate'] extends (...given: never[]) => { readonly value: infer Made }
  ? Made
  : never;

function batchOf(all: Readings): ColumnBatch {
  const builder = new BatchBuilder();
  for (const { micros, code, value } of all)
    if ('double' in value) builder.appendDouble(micros, code, value.double);
    else if ('long' in value) builder.appendLong(micros, code, value.long);
    else builder.appendJson(micros, code, value.json);
  return builder.batch;
}

function plainLine({ code, micros, value }: Readings[number]): string {
  const text =
    'double' in value ? floatText(value.double) : 'long' in value ? value.long.toString() : value.json;
  return `{"id":${JSON.stringify(IDS[code])},"timestamp":"${microsToIso(micros)}","value":${text}}`;
}

describe('lines', () => {
  test.each(['newline', 'comma'] as const)(
    'with a %s are those written one by one, in memory used again',
    (separator) => {
      fc.assert(
        fc.property(readings, fc.integer({ min: 1, max: 300 }), (all, rowsPerPiece) => {
          const memory = new SentMemory();
          const writer = new MeasurementTextWriter(IDS, separator, memory);
          const batch = batchOf(all);
          let text = '';
          for (let from = 0; from < batch.rows; from += rowsPerPiece) {
            const piece = writer.write(batch, from, Math.min(batch.rows, from + rowsPerPiece));
            text += Buffer.from(piece).toString();
            memory.giveBack(piece);
          }
          const lines = all.map(plainLine);
          expect(text).toBe(
            separator === 'comma' ? lines.join(',') : lines.map((line) => `${line}\n`).join(''),
          );
        }),
        { numRuns: 60 },
      );
    },
  );

  test('a piece keeps its bytes until it is given back, and then its memory is used again', () => {
    const memory = new SentMemory();
    const [first, second] = [memory.take(100).fill(1), memory.take(100_000).fill(2)];
    expect(first.buffer).not.toBe(second.buffer);
    memory.giveBack(new Uint8Array(100));
    expect([first.buffer, second.buffer]).not.toContain(memory.take(10).buffer);
    memory.giveBack(second.subarray(0, 5));
    const third = memory.take(50_000);
    expect(third.buffer).toBe(second.buffer);
    // Given back twice, it is still one piece's.
    memory.giveBack(third);
    memory.giveBack(third);
    expect(memory.take(1).buffer).not.toBe(memory.take(1).buffer);
    expect(first.every((byte) => byte === 1)).toBe(true);
  });

  test('kinds stand apart in one batch', () => {
    const batch = batchOf([
      { code: 0, micros: 0, value: { double: 5 } },
      { code: 0, micros: 1, value: { long: 5n } },
    ]);
    expect(Array.from(batch.kinds.subarray(0, 2))).toEqual([DOUBLE, LONG]);
    const text = Buffer.from(new MeasurementTextWriter(IDS, 'comma').write(batch)).toString();
    expect(text).toContain('"value":5.0},');
    expect(text).toMatch(/"value":5\}$/);
  });
});
