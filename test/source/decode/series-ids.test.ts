/** Ids go into SQL, files and screens: what is no id is refused in every answer that has some, before anything is made of it. */
import { expect, test } from 'vitest';
import { DataError } from '../../../src/core/errors.ts';
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { createMetadataDecoder } from '../../../src/source/decode/metadata.ts';
import { decodeParquetReadings } from '../../../src/source/decode/parquet-readings.ts';
import { createReadingDecoder } from '../../../src/source/decode/reading-decoder.ts';
import { createStatisticsDecoder } from '../../../src/source/decode/statistics.ts';
import { hostileNames } from '../../helpers/hostile-text.ts';
import { constant, constantColumns, forgeParquet } from '../../parquet/read/forged-parquet.ts';

const AT = '"timestamp":"2026-01-05T00:00:00.000000Z"';
const COUNTS = '{"count":1,"first_time":"2026-01-05T00:00:00Z","last_time":"2026-01-05T00:00:00Z"}';

type Answer = (id: string) => void | Promise<void>;

function decoded(decoder: { push(chunk: Uint8Array): void; end(): void }, body: string): void {
  decoder.push(Buffer.from(body));
  decoder.end();
}
const metadata = (shape: 'array' | 'keyed', body: (id: string) => string, what: 'id' | 'all') => {
  const answer: Answer = (id) =>
    decoded(
      createMetadataDecoder(shape, (one) => void (what === 'id' ? one.timeSeriesId() : one.series())),
      body(JSON.stringify(id)),
    );
  return answer;
};
const readings = (format: 'ndjson' | 'json', body: (id: string) => string) => {
  const answer: Answer = (id) =>
    decoded(
      createReadingDecoder({ format, dictionary: createSeriesDictionary(), onBatch: () => {} }),
      body(JSON.stringify(id)),
    );
  return answer;
};
const statistics = (shape: 'array' | 'keyed', isCounted: boolean, body: (id: string) => string) => {
  const answer: Answer = (id) =>
    decoded(
      createStatisticsDecoder({
        ...{ shape, format: 'json', onRow: () => {} },
        onCounted: isCounted ? () => {} : undefined,
      }),
      body(JSON.stringify(id)),
    );
  return answer;
};
/** A string as its characters are, as far as JSON allows. */
const unescaped = (json: string) =>
  json.replace(/\\u(\w{4})/g, (same, code) =>
    parseInt(code, 16) < 0x20 ? same : String.fromCharCode(parseInt(code, 16)),
  );

const ANSWERS: Readonly<Record<string, Answer>> = {
  'metadata of 2026-09-10, of which ids are read': metadata(
    'array',
    (id) => `[{"id":"a","timeSeriesId":${id}}]`,
    'id',
  ),
  'metadata of 2026-09-10': metadata('array', (id) => `[{"id":"a","timeSeriesId":${id}}]`, 'all'),
  'metadata of 2025-10-31, of which ids are read': metadata(
    'keyed',
    (id) => `{"a":{"timeSeriesId":${id}}}`,
    'id',
  ),
  'metadata of 2025-10-31': metadata('keyed', (id) => `{"a":{"timeSeriesId":${id}}}`, 'all'),
  'readings as NDJSON': readings('ndjson', (id) => `{"id":${id},${AT},"value":1}\n`),
  'readings as NDJSON, without escapes': readings(
    'ndjson',
    (id) => `{"id":${unescaped(id)},${AT},"value":1}\n`,
  ),
  'readings as JSON, in another order': readings('json', (id) => `[{${AT},"value":1,"id":${id}}]`),
  'readings as Parquet': (id) =>
    decodeParquetReadings(
      forgeParquet({ rows: 1, columns: { ...constantColumns(1), id: constant(1, id) } }),
      createSeriesDictionary(),
      () => {},
    ),
  'statistics of 2026-09-10': statistics(
    'array',
    false,
    (id) => `[{${AT},"id":${id},"aggregations":{"mean":1}}]`,
  ),
  'counts of 2026-09-10': statistics('array', true, (id) => `[{${AT},"id":${id},"aggregations":${COUNTS}}]`),
  'counts of 2026-09-10, without escapes': statistics(
    'array',
    true,
    (id) => `[{${AT},"id":${unescaped(id)},"aggregations":${COUNTS}}]`,
  ),
  'statistics of 2025-10-31': statistics('keyed', false, (id) => `[{${AT},${id.slice(0, -1)}:mean":1}]`),
};

/** Halves of characters are no text at all: other tests have them. */
const { half: _, ...HOSTILE } = hostileNames;
const IDS = [...Object.values(HOSTILE), '\n', 'a\u0000', '\ttab', `'; DROP TABLE x;\r--`, 'x'.repeat(4_097)];

test.each(Object.entries(ANSWERS))(
  '%s: an id with what cannot be seen, or too long, is refused',
  async (_, answer) => {
    for (const id of IDS) {
      const fault = await Promise.resolve()
        .then(() => answer(id))
        .catch((error: unknown) => error);
      expect(fault, JSON.stringify(id)).toBeInstanceOf(DataError);
      expect(fault, JSON.stringify(id)).toMatchObject({ code: 'bad-id' });
      expect((fault as Error).message).toMatch(
        /expected an id of at most 4096 bytes without control or invisible characters/,
      );
    }
  },
);

test.each(Object.entries(ANSWERS))('%s: any other text is an id', async (_, answer) => {
  for (const id of [
    '0c9f6d1e-3a52-4c8b-9a41-6f0d2b7e1a01',
    'a',
    '',
    "'; DROP TABLE x; --",
    '風速 {{ x }}',
    'x'.repeat(4_096),
  ])
    await answer(id);
});
