/**
 * Our sorting and encoding alone, of a day that is decoded before the clock starts: `encode.ts FOLDER`, in this
 * thread. Prints one JSON line `{"wallMs", "cpuMs", "bytesOut"}`.
 */
import { createReadStream } from 'node:fs';
import { type ColumnBatch, createSeriesDictionary, ROW_GROUP_ROWS } from '../../src/core/model/index.ts';
import { createEncoder, createMeasurementRowGroups } from '../../src/parquet/write/index.ts';
import { createReadingDecoder } from '../../src/source/decode/reading-decoder.ts';
import { fileIn, readPreparedDay } from './prepared-day.ts';

const [dir] = process.argv.slice(2);
if (dir === undefined) throw new Error('usage: encode.ts FOLDER');
const dictionary = createSeriesDictionary();
const batches: ColumnBatch[] = [];
const decoder = createReadingDecoder({
  format: 'ndjson',
  dictionary,
  // The decoder uses its batch again.
  onBatch: (batch) => batches.push(structuredClone(batch)),
});
for await (const chunk of createReadStream(fileIn(dir).readings)) decoder.push(chunk);
decoder.end();

const { series } = await readPreparedDay(dir);
const names = new Map(series.map(({ timeSeriesId, id }) => [timeSeriesId, id]));

const startedMs = performance.now();
const startedCpu = process.cpuUsage();
const encoder = createEncoder({ threads: 0 });
const builder = createMeasurementRowGroups({
  rowGroupRows: ROW_GROUP_ROWS,
  dictionary,
  idOf: (timeSeriesId) => names.get(timeSeriesId) ?? null,
  encoder,
});
let bytesOut = 0;
const seal = async (rows: number) => {
  bytesOut += (await builder.seal(rows)).body.length;
};
for (const batch of batches) {
  builder.append(batch, 0, batch.rows);
  for (let rows = builder.sealableRows(); rows > 0; rows = builder.sealableRows()) await seal(rows);
}
if (builder.rows > 0) await seal(builder.rows);
await encoder.close();
const { user, system } = process.cpuUsage(startedCpu);
const wallMs = performance.now() - startedMs;
process.stdout.write(`${JSON.stringify({ wallMs, cpuMs: (user + system) / 1000, bytesOut })}\n`);
