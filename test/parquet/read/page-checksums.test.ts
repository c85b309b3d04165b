/** What is damaged on its way is found by the checksums of pages, where a body has them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeParquetReadings } from '../../../src/source/decode/parquet-readings.ts';
import { clickHouseForTests } from '../../helpers/clickhouse.ts';
import { newTempFolder } from '../../helpers/temp.ts';
import { arrowBody } from '../../source/decode/arrow-body.ts';
import { createRowCollector } from '../../source/decode/decoded-rows.ts';
import { pagesOf, withChecksums } from './page-checksums.ts';

const ROWS = Array.from({ length: 4_000 }, (_, row) => ({
  millis: 1_767_571_200_000n + BigInt(row),
  id: `s${row % 3}`,
  value: row % 7 === 0 ? BigInt(row) : row % 11 === 0 ? '"on"' : row / 8,
}));

/** Bodies of arrow-rs: dictionary pages and data pages of both versions, plain and compressed. */
const BODIES = (['UNCOMPRESSED', 'ZSTD'] as const).flatMap((compression) =>
  [false, true].map((isVersion2) => ({
    name: `${compression}, data pages of version ${isVersion2 ? 2 : 1}`,
    body: Buffer.from(arrowBody(ROWS, { compression, isVersion2, pageBytes: 400 })),
  })),
);

async function decode(bytes: Uint8Array) {
  const collector = createRowCollector();
  const error = await decodeParquetReadings(bytes, collector.dictionary, collector.onBatch).then(
    () => undefined,
    (thrown: Error & { code?: string }) => thrown,
  );
  return { rows: collector.rows, error };
}

describe.each(BODIES)('a body ($name)', ({ body }) => {
  const sound = withChecksums(body);
  const pages = pagesOf(sound);

  it('with right checksums is read as without', async () => {
    expect(pages.length).toBeGreaterThan(10);
    expect(new Set(pages.map(({ crc }) => (crc ?? 0) > 2 ** 31))).toEqual(new Set([true, false]));
    expect(await decode(sound)).toEqual(await decode(body));
    expect((await decode(sound)).rows).toHaveLength(ROWS.length);
  });

  it('with a wrong checksum in any page is damaged, and its page is named', async () => {
    for (const [wrong, { column }] of pages.entries()) {
      const forged = withChecksums(body, (page, nth) => crc32(page) + (nth === wrong ? 1 : 0));
      const { error } = await decode(forged);
      expect(error).toMatchObject({ name: 'DataError', code: 'body-damaged' });
      expect(error?.message).toMatch(
        new RegExp(
          `^page \\d+ of column '${column}' in row group 1 of the Parquet body: found CRC-32 [0-9a-f]{8} `,
        ),
      );
      expect(error?.message).toMatch(
        /expected [0-9a-f]{8}, as its header says; request the time slice again/,
      );
    }
  });

  it('with checksums in some pages is held to those', async () => {
    const some = withChecksums(body, (page, nth) => (nth % 2 === 0 ? crc32(page) : undefined));
    expect((await decode(some)).rows).toHaveLength(ROWS.length);
  });

  it('of which any bit of any page is flipped is damaged', async () => {
    const soundRows = (await decode(sound)).rows;
    await fc.assert(
      fc.asyncProperty(fc.nat(pages.length - 1), fc.nat(), fc.nat(7), async (nth, at, bit) => {
        const { start, bytes } = pages[nth]!;
        if (bytes.length === 0) return;
        const flipped = Buffer.from(sound);
        flipped[start + (at % bytes.length)]! ^= 1 << bit;
        const { rows, error } = await decode(flipped);
        expect(error?.code).toBe('body-damaged');
        expect(rows).toEqual(soundRows.slice(0, rows.length));
      }),
      { numRuns: 20 },
    );
  });
});

const openClickHouse = clickHouseForTests();

describe.skipIf(openClickHouse === undefined)('a body of ClickHouse, which writes checksums', () => {
  it('is read, and is damaged where a bit of any page is flipped', async () => {
    await using clickHouse = openClickHouse!();
    await using folder = await newTempFolder();
    const path = join(folder.path, 'body.parquet');
    for (const settings of ['', ', output_format_parquet_data_page_size = 2000']) {
      await clickHouse.run(
        `INSERT INTO FUNCTION file('${path}', Parquet) SELECT toInt64(1767571200000 + number) AS timestamp,
           concat('s', toString(number % 3)) AS id, if(number % 7 = 0, toInt64(number), NULL) AS long_value,
           if(number % 7 != 0, number / 8, NULL) AS double_value, CAST(NULL, 'Nullable(String)') AS json_value
         FROM numbers(3000) SETTINGS engine_file_truncate_on_insert = 1${settings}`,
      );
      const body = await readFile(path);
      expect((await decode(body)).rows).toHaveLength(3_000);
      for (const { start, bytes, crc } of pagesOf(body)) {
        expect(crc).toBe(crc32(bytes));
        const flipped = Buffer.from(body);
        flipped[start + (bytes.length >> 1)]! ^= 4;
        expect((await decode(flipped)).error).toMatchObject({ code: 'body-damaged' });
      }
    }
  });
});

it('without checksums a flipped double passes: nothing in the body tells it', async () => {
  const { body } = BODIES[0]!;
  const { start, bytes } = pagesOf(body).find(
    ({ column, type }) => column === 'double_value' && type === 'DICTIONARY_PAGE',
  )!;
  const flipped = Buffer.from(body);
  flipped[start + bytes.length - 3]! ^= 1;
  const { rows, error } = await decode(flipped);
  expect(error).toBeUndefined();
  expect(rows).not.toEqual((await decode(body)).rows);
});
