/**
 * Row groups of several vessel-days go through one encoder, each in the memory of those before. Each is what an encoder of
 * its own makes of it in fresh memory, and stays it.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EncodedRowGroup } from '../../../src/core/model/index.ts';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import type { Encoder } from '../../../src/parquet/write/index.ts';
import { createEncoder, createMeasurementRowGroups } from '../../../src/parquet/write/index.ts';
import { compressed, discard } from '../../../src/parquet/write/page-packing.ts';
import type { Reading, Value } from './lake-file.ts';
import { batchOf, DAY_MICROS, runsOf } from './lake-file.ts';
import { encoderHere } from './readers.ts';

const [threaded, inline] = [encoderHere(1), encoderHere()];

/** Values by the number of their row: of few kinds or of all, that repeat or never do. */
const VALUES: readonly ((row: number) => Value)[] = [
  (row) => row + 0.5,
  (row) => BigInt(row) * 2n ** 33n,
  (row) => (row % 5) / 4,
  (row) => `"${'text'.repeat(row % 9)}"`,
  (row) => (row % 3 === 0 ? BigInt(-row) : row % 3 === 1 ? Math.sin(row) : `[${row}]`),
];

const group = fc.record({
  rows: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 300, max: 3_000 })),
  series: fc.integer({ min: 1, max: 12 }),
  values: fc.constantFrom(...VALUES),
});
type Group = typeof group extends fc.Arbitrary<infer G> ? G : never;

function readingsOf({ rows, series, values }: Group, day: number): Reading[] {
  return Array.from({ length: rows }, (_, row) => ({
    ...{ micros: DAY_MICROS + row * 1_000_003, series: `${day} ${row % series}` },
    value: values(row + day),
  }));
}

function builderWith(encoder: Encoder) {
  const dictionary = createSeriesDictionary();
  const builder = createMeasurementRowGroups({
    rowGroupRows: 1e6,
    dictionary,
    idOf: (id) => `${id}!`,
    encoder,
  });
  return {
    seal: (readings: readonly Reading[], from: number) => {
      const later = readings.map((reading) => ({ ...reading, micros: reading.micros + from }));
      builder.append(batchOf(later, dictionary), 0, later.length);
      return builder.seal(later.length);
    },
    close: () => builder.close(),
  };
}

/** All that is kept of a row group, as it is now. */
const stateOf = (encoded: EncodedRowGroup) => ({
  body: Buffer.from(encoded.body).toString('base64'),
  tail: Buffer.from(encoded.tail).toString('base64'),
  runs: runsOf(encoded),
  values: encoded.values,
});

test.each([
  ['in this thread', inline],
  ['by a thread', threaded],
])('row groups encoded %s', async (_, encoder) => {
  const step = fc.record({ day: fc.nat(2), group });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      const days = [0, 1, 2].map(() => builderWith(encoder));
      const sealed: Promise<EncodedRowGroup>[] = [];
      /** The one and the next, as many as are under way in an export. */
      const seal = (at: number) => {
        for (const { day, group } of steps.slice(sealed.length, at + 2))
          sealed.push(days[day]!.seal(readingsOf(group, day), sealed.length * 3_600e6));
        return sealed[at]!;
      };
      const held: { readonly encoded: EncodedRowGroup; readonly expected: object }[] = [];
      for (const [at, { day, group }] of steps.entries()) {
        const alone = builderWith(createEncoder({ threads: 0 }));
        const expected = stateOf(await alone.seal(readingsOf(group, day), at * 3_600e6));
        held.push({ encoded: await seal(at), expected });
      }
      for (const { encoded, expected } of held) expect(stateOf(encoded)).toEqual(expected);
      for (const day of days) await day.close();
    }),
    { numRuns: 8 },
  );
});

test('a discarded frame gives its memory back, but not what small ones share', () => {
  const large = compressed(
    new Uint8Array(100_000).map((_, i) => (i * i) % 251),
    'values',
  );
  discard(large);
  expect(large.buffer.byteLength).toBe(0);
  const small = compressed(Uint8Array.of(1, 2, 3), 'values');
  const text = Buffer.from(small).toString('hex');
  discard(small);
  expect(Buffer.from(small).toString('hex')).toBe(text);
});
