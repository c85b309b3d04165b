import { describe, expect, it } from 'vitest';
import { FatalError } from '../../../src/core/errors.ts';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import type { Encoder } from '../../../src/parquet/write/index.ts';
import { createEncoder, createMeasurementRowGroups } from '../../../src/parquet/write/index.ts';
import { splitParquetFile } from '../../../src/parquet/write/parquet-tail.ts';
import { batchOf, DAY_MICROS } from './lake-file.ts';

const READINGS = [1, 2, 3].map((i) => ({ micros: DAY_MICROS + i, series: 'a', value: BigInt(i) }));

/** Seal the readings through an encoder that does something wrong before it encodes. */
function sealWith(spoil: (job: Parameters<Encoder['encode']>[0]) => void) {
  const inner = createEncoder({ threads: 0 });
  const encoder: Encoder = {
    prepare: (rows) => inner.prepare(rows),
    encode(job) {
      spoil(job);
      return inner.encode(job);
    },
    close: () => inner.close(),
  };
  const dictionary = createSeriesDictionary();
  const builder = createMeasurementRowGroups({ rowGroupRows: 10, dictionary, idOf: (id) => id, encoder });
  builder.append(batchOf(READINGS, dictionary), 0, READINGS.length);
  return builder.seal(READINGS.length);
}

describe('the check after sealing', () => {
  it('passes what was encoded rightly', async () => {
    await expect(sealWith(() => {})).resolves.toMatchObject({
      rows: 3,
      minMicros: DAY_MICROS + 1,
      maxMicros: DAY_MICROS + 3,
    });
  });

  it.each([
    ['a lost row', /rows in the footer: got 2, expected 3/, (rows: { rows: number }) => rows.rows--],
    [
      'a changed first timestamp',
      /the smallest timestamp: got/,
      (rows: { timestampMicros: Float64Array }) => rows.timestampMicros[0]!--,
    ],
    [
      'a changed last timestamp',
      /the largest timestamp: got/,
      (rows: { timestampMicros: Float64Array }) => rows.timestampMicros[2]!++,
    ],
  ] as const)('finds %s', async (_, message, spoil) => {
    const sealed = sealWith((job) => spoil(job.gathered as never));
    await expect(sealed).rejects.toThrow(message);
    await expect(sealed).rejects.toMatchObject({ code: 'encode-check-failed' });
    await expect(sealed).rejects.toBeInstanceOf(FatalError);
  });
});

describe('a file to splice', () => {
  const magic = Buffer.from('PAR1');

  it.each([
    ['too short', Buffer.from('PAR1PAR')],
    ['without its magic', Buffer.concat([magic, Buffer.alloc(20)])],
    ['with a footer longer than itself', Buffer.concat([magic, Buffer.from([9, 0, 0, 0]), magic])],
  ])('is refused when it is %s', (_, file) => {
    expect(() => splitParquetFile(file)).toThrow(FatalError);
  });
});
