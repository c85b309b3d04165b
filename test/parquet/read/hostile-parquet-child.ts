/** Decodes the hostile bodies one after the other, and says what came of each and what it took in memory. */
import { createSeriesDictionary } from '../../../src/core/model/index.ts';
import { decodeParquetReadings } from '../../../src/source/decode/parquet-readings.ts';
import { HOSTILE_BODIES } from './hostile-parquet-bodies.ts';

for (const { name, body } of HOSTILE_BODIES) {
  const bytes = body();
  let rows = 0;
  const error = await decodeParquetReadings(bytes, createSeriesDictionary(), (batch) => {
    rows += batch.rows;
  }).then(
    () => undefined,
    (thrown: Error & { code?: string }) => thrown,
  );
  const { name: kind, code, message } = error ?? {};
  process.stdout.write(`${JSON.stringify({ name, bytes: bytes.length, rows, kind, code, message })}\n`);
}
process.stdout.write(`${JSON.stringify({ maxRssBytes: process.resourceUsage().maxRSS * 1024 })}\n`);
