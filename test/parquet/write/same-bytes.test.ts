import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { EncodedRowGroup } from '../../../src/core/model/index.ts';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import type { Encoder } from '../../../src/parquet/write/index.ts';
import { createMeasurementRowGroups } from '../../../src/parquet/write/index.ts';
import type { Reading, Value } from './lake-file.ts';
import { batchOf, DAY_MICROS, fileOf, READINGS_SQL, rowOf, runsOf } from './lake-file.ts';
import { encoderHere, inFileOrder, readerHere } from './readers.ts';

const reader = await readerHere();
const [inline, threaded] = [encoderHere(), encoderHere(1)];

const SERIES = ['b', 'a', '🚢', '\ue000', 'IMO9321483/a name longer than sixteen bytes'];
const nameOf = (id: string) => (id === 'b' ? null : `name of ${id}`);

const value: fc.Arbitrary<Value> = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(0n, 1n, -1n, 2n ** 53n + 1n),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(-0, 0, 1.5),
  fc.json(),
  fc.constantFrom('true', '""', '"Ærø \\"Q\\""'),
);

const readings: fc.Arbitrary<Reading[]> = fc
  .array(
    fc.record({
      step: fc.constantFrom(0, 0, 0, 1, 2, 3_600_000_000),
      series: fc.constantFrom(...SERIES),
      value,
    }),
    {
      minLength: 1,
      maxLength: 60,
    },
  )
  .map((rows) => {
    let micros = DAY_MICROS;
    return rows.map(({ step, series, value }) => {
      micros += step;
      return { micros, series, value };
    });
  });

/** How the same rows arrive: their order within a timestamp, the codes, the batches, and what breaks off. */
const arrival = fc.record({
  shuffle: fc.array(fc.nat(1000), { minLength: 60, maxLength: 60 }),
  codes: fc.shuffledSubarray([...SERIES, 'unused', 'also unused']),
  cuts: fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1, maxLength: 8 }),
  breaks: fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
});
type Arrival = typeof arrival extends fc.Arbitrary<infer T> ? T : never;

/** Few rows, or few bytes of JSON: whichever comes first. */
const groupSize = fc.record({
  rowGroupRows: fc.integer({ min: 1, max: 20 }),
  rowGroupTextBytes: fc.integer({ min: 1, max: 60 }),
});

const IN_ORDER: Arrival = { shuffle: [], codes: [], cuts: [1000], breaks: [false] };

interface GroupSize {
  readonly rowGroupRows: number;
  readonly rowGroupTextBytes: number;
}

async function encode(rows: readonly Reading[], how: Arrival, size: GroupSize, encoder: Encoder) {
  const arriving = rows
    .map((reading, i) => ({ reading, key: how.shuffle[i] ?? i }))
    .sort((a, b) => a.reading.micros - b.reading.micros || a.key - b.key)
    .map(({ reading }) => reading);
  const dictionary = createSeriesDictionary(how.codes);
  const builder = createMeasurementRowGroups({ ...size, dictionary, idOf: nameOf, encoder });
  const sealed: Promise<EncodedRowGroup>[] = [];
  let at = 0;
  for (let turn = 0; at < arriving.length; turn++) {
    const batch = arriving.slice(at, at + how.cuts[turn % how.cuts.length]!);
    builder.append(batchOf(batch, dictionary), 0, batch.length);
    at += batch.length;
    // A body that breaks off: what has the last timestamp is forgotten and comes again, in one batch.
    if (how.breaks[turn % how.breaks.length]) {
      const again = builder.dropFrom(builder.lastTimestampMicros!);
      const batch = arriving.slice(at - again, at);
      builder.append(batchOf(batch, dictionary), 0, batch.length);
    }
    for (let count = builder.sealableRows(); count > 0; count = builder.sealableRows())
      sealed.push(builder.seal(count));
  }
  if (builder.rows > 0) sealed.push(builder.seal(builder.rows));
  const groups = await Promise.all(sealed);
  await builder.close();
  return { groups, file: fileOf('measurements', groups) };
}

it('gives the same bytes however the same rows arrive, in either thread', async () => {
  await fc.assert(
    fc.asyncProperty(readings, arrival, groupSize, async (rows, how, size) => {
      const expected = await encode(rows, IN_ORDER, size, inline);
      const other = await encode(rows, how, size, threaded);
      expect(other.groups.map((group) => group.rows)).toEqual(expected.groups.map((group) => group.rows));
      expect(other.groups.map(runsOf)).toEqual(expected.groups.map(runsOf));
      expect(other.file.equals(expected.file)).toBe(true);
    }),
    { numRuns: 150 },
  );
});

it('holds every row, in order, with none beside', async () => {
  await fc.assert(
    fc.asyncProperty(readings, arrival, groupSize, async (rows, how, size) => {
      const { groups, file } = await encode(rows, how, size, inline);
      let from = 0;
      const expected = groups.flatMap((group) => {
        const own = rows.slice(from, from + group.rows);
        from += group.rows;
        return inFileOrder(own).map((reading) => rowOf(reading, nameOf(reading.series)));
      });
      expect(await reader.query(file, READINGS_SQL)).toEqual(expected);
      const counted = groups.flatMap(runsOf).reduce((sum, run) => sum + run.count, 0);
      expect(counted).toBe(rows.length);
    }),
    { numRuns: 60 },
  );
});
