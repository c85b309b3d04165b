/** Our decoder alone, from the readings' file: `parse.ts FOLDER`. Prints one JSON line `{"rows"}`. */
import { createReadStream } from 'node:fs';
import { createSeriesDictionary } from '../../src/core/model/index.ts';
import { createReadingDecoder } from '../../src/source/decode/reading-decoder.ts';
import { fileIn } from './prepared-day.ts';

const READ_BYTES = 256 * 1024;

const [dir] = process.argv.slice(2);
if (dir === undefined) throw new Error('usage: parse.ts FOLDER');
let rows = 0;
const decoder = createReadingDecoder({
  format: 'ndjson',
  dictionary: createSeriesDictionary(),
  onBatch: (batch) => {
    rows += batch.rows;
  },
});
for await (const chunk of createReadStream(fileIn(dir).readings, { highWaterMark: READ_BYTES }))
  decoder.push(chunk);
decoder.end();
process.stdout.write(`${JSON.stringify({ rows })}\n`);
