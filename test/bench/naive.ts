/**
 * As one would write it in an afternoon, from the readings' file: readline, JSON.parse, Arrow vectors, parquet-wasm.
 * `naive.ts FOLDER OUT`, or with a folder of such folders: `daysIn`. Prints one JSON line `{"bytesOut"}`.
 *
 * What it gets wrong, as such scripts do: Date.parse drops the microseconds, JSON.parse turns every number into a
 * double, so that `5.00` becomes an integer and integers beyond 2^53 others; nothing is sorted.
 */
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import {
  Dictionary,
  Float64,
  Int32,
  Int64,
  Table,
  TimestampMillisecond,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import {
  Compression,
  type RecordBatch,
  transformParquetStream,
  Table as WasmTable,
  WriterPropertiesBuilder,
} from 'parquet-wasm';
import { bytesOf, type DayFiles, daysIn, fileIn } from './prepared-day.ts';

const BATCH_ROWS = 500_000;

const [dir, out] = process.argv.slice(2);
if (dir === undefined || out === undefined) throw new Error('usage: naive.ts FOLDER OUT');

function namesIn(metadata: string): Map<string, string> {
  const all: { timeSeriesId: string; id: string }[] = JSON.parse(readFileSync(metadata, 'utf8'));
  return new Map(all.map(({ timeSeriesId, id }) => [timeSeriesId, id]));
}

function emptyColumns() {
  return {
    timestamps: [] as number[],
    seriesIds: [] as string[],
    ids: [] as (string | null)[],
    longs: [] as (bigint | null)[],
    doubles: [] as (number | null)[],
    texts: [] as (string | null)[],
  };
}

function toRecordBatch(columns: ReturnType<typeof emptyColumns>): RecordBatch {
  const table = new Table({
    timestamp: vectorFromArray(columns.timestamps, new TimestampMillisecond('UTC')),
    time_series_id: vectorFromArray(columns.seriesIds, new Dictionary(new Utf8(), new Int32())),
    id: vectorFromArray(columns.ids, new Dictionary(new Utf8(), new Int32())),
    long_value: vectorFromArray(columns.longs, new Int64()),
    double_value: vectorFromArray(columns.doubles, new Float64()),
    json_value: vectorFromArray(columns.texts, new Utf8()),
  });
  return WasmTable.fromIPCStream(tableToIPC(table, 'stream')).recordBatches()[0]!;
}

async function* recordBatches(dayDir: string): AsyncGenerator<RecordBatch> {
  const files = fileIn(dayDir);
  const names = namesIn(files.metadata);
  let columns = emptyColumns();
  for await (const line of createInterface({ input: createReadStream(files.readings) })) {
    const { id, timestamp, value } = JSON.parse(line);
    columns.timestamps.push(Date.parse(timestamp));
    columns.seriesIds.push(id);
    columns.ids.push(names.get(id) ?? null);
    columns.longs.push(Number.isInteger(value) ? BigInt(value) : null);
    columns.doubles.push(typeof value === 'number' && !Number.isInteger(value) ? value : null);
    columns.texts.push(typeof value === 'number' ? null : JSON.stringify(value));
    if (columns.timestamps.length === BATCH_ROWS) {
      yield toRecordBatch(columns);
      columns = emptyColumns();
    }
  }
  if (columns.timestamps.length > 0) yield toRecordBatch(columns);
}

async function writeDay({ dir, out }: DayFiles): Promise<void> {
  const properties = new WriterPropertiesBuilder()
    .setCompression(Compression.ZSTD)
    .setMaxRowGroupSize(BATCH_ROWS)
    .build();
  const parquet = await transformParquetStream(ReadableStream.from(recordBatches(dir)), properties);
  await parquet.pipeTo(Writable.toWeb(createWriteStream(out)));
}

const days = daysIn(dir, out);
for (const day of days) await writeDay(day);
process.stdout.write(`${JSON.stringify({ bytesOut: bytesOf(days) })}\n`);
