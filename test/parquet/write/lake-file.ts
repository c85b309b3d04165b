/** Rows → column batches → a Parquet file, and the file's rows as an independent reader sees them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import type {
  ColumnBatch,
  Dataset,
  EncodedRowGroup,
  SeriesDictionary,
  SeriesMetadata,
} from '../../../src/core/model/index.ts';
import { createColumnBatch, DOUBLE, JSON_TEXT, LONG } from '../../../src/core/model/index.ts';
import type { RowGroupBuilder } from '../../../src/parquet/write/index.ts';
import { PARQUET_MAGIC, parquetFooter } from '../../../src/parquet/write/index.ts';
import { pagesOf } from '../read/page-checksums.ts';

/** A value: bigint is a long, number a double, string a JSON text. */
export type Value = bigint | number | string;

export interface Reading {
  readonly micros: number;
  readonly series: string;
  readonly value: Value;
}

export const DAY_MICROS = Date.UTC(2026, 0, 5) * 1000;

/** Readings as a batch; the heap has an entry that no row uses, as a decoder's may. */
export function batchOf(readings: readonly Reading[], dictionary: SeriesDictionary): ColumnBatch {
  const batch = createColumnBatch(readings.length + 1);
  const texts = [Buffer.from('unused')];
  for (const { micros, series, value } of readings) {
    const row = batch.rows++;
    batch.timestampMicros[row] = micros;
    batch.seriesCodes[row] = dictionary.codeOf(series);
    batch.kinds[row] = typeof value === 'bigint' ? LONG : typeof value === 'number' ? DOUBLE : JSON_TEXT;
    if (typeof value === 'bigint') batch.longs[row] = value;
    else if (typeof value === 'number') batch.doubles[row] = value;
    else batch.longs[row] = BigInt(texts.push(Buffer.from(value)) - 1);
  }
  let end = 0;
  const ends = Int32Array.from(texts, (text) => {
    end += text.length;
    return end;
  });
  batch.jsonText.bytes = Buffer.concat(texts);
  batch.jsonText.ends = ends;
  batch.jsonText.count = texts.length;
  return batch;
}

/** Seal what is complete, and with `rest` what is left. */
export async function sealAll<Batch>(
  builder: RowGroupBuilder<Batch>,
  rest = true,
): Promise<EncodedRowGroup[]> {
  const groups: EncodedRowGroup[] = [];
  for (let rows = builder.sealableRows(); rows > 0; rows = builder.sealableRows())
    groups.push(await builder.seal(rows));
  if (rest && builder.rows > 0) groups.push(await builder.seal(builder.rows));
  return groups;
}

export function fileOf(dataset: Dataset, groups: readonly EncodedRowGroup[]): Buffer {
  const spliced = groups.map(({ body, tail, rows }) => ({ bodyBytes: body.length, tail, rows }));
  const file = Buffer.concat([
    PARQUET_MAGIC,
    ...groups.map((group) => group.body),
    parquetFooter(dataset, spliced),
  ]);
  // Readers that check refuse a page with another one.
  for (const { column, crc, bytes } of pagesOf(file))
    if (crc !== crc32(bytes)) throw new Error(`a page of ${column} has the checksum ${crc}`);
  return file;
}

/** DuckDB over files in a folder of its own; `FILE` in a query stands for the file's path. */
export async function openReader() {
  const folder = await mkdtemp(join(tmpdir(), 'vessel-export-encode-'));
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  let files = 0;
  return {
    async query(file: Uint8Array, sql: string): Promise<unknown[][]> {
      const path = join(folder, `${files++}.parquet`);
      await writeFile(path, file);
      const result = await connection.runAndReadAll(sql.replaceAll('FILE', `'${path}'`));
      return result.getRows();
    },
    async close() {
      connection.closeSync();
      instance.closeSync();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type Reader = Awaited<ReturnType<typeof openReader>>;

export const READINGS_SQL = `select epoch_us(timestamp), time_series_id, id, long_value, double_value, json_value
  from read_parquet(FILE, file_row_number = true) order by file_row_number`;

/** What `READINGS_SQL` answers for a reading. */
export function rowOf({ micros, series, value }: Reading, name: string | null): unknown[] {
  return [
    BigInt(micros),
    series,
    name,
    typeof value === 'bigint' ? value : null,
    typeof value === 'number' ? value : null,
    typeof value === 'string' ? value : null,
  ];
}

/** A series of which nothing is known but what it is called. */
export function bareSeries(id: string, timeSeriesId: string): SeriesMetadata {
  return {
    ...{ id, timeSeriesId, source: null, dataProvider: null, unitOfMeasure: null, scale: null },
    ...{ vesselName: null, vesselImo: null },
    jsmea: { id: null, namingRule: null, category: null, subcategory: null, content: null, item: null },
    flat: { id: null, shortName: null },
    maker: { id: null, name: null, description: null, rangeHigh: null, rangeLow: null },
    domainsJson: '{}',
  };
}

/** The runs of a row group, one by one. */
export function runsOf({ runs }: Pick<EncodedRowGroup, 'runs'>) {
  return [...runs.ranks].map((rank, run) => ({
    timeSeriesId: runs.ids[rank]!,
    count: runs.counts[run]!,
    firstMicros: runs.firstMicros[run]!,
    lastMicros: runs.lastMicros[run]!,
  }));
}
