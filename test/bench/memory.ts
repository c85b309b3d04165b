/** Peak memory of the exporter for large vessel-days, on a local lake and on S3. */
import { mkdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { formatCount } from '../../src/core/model/index.ts';
import { type BenchServer, startPreparedServer } from './child.ts';
import { DAY_KEY, exportEnv, measureExport } from './contenders.ts';
import { formatTable, megabytes, type Voice } from './figures.ts';
import { type BenchLake, type BenchS3Lake, openLocalLake, openS3Lake } from './lakes.ts';
import { HOURS, type PreparedDay, prepareDay } from './prepared-day.ts';
import { findWrongRows } from './row-check.ts';

const DAY_ROWS = [20_000_000, 40_000_000];

interface CheckedLake {
  readonly lake: BenchLake;
  /** Check what was exported; its size in bytes. */
  check(day: PreparedDay): Promise<number>;
}

/** Export each size into each lake, and print a table. Throws when the rows of a local lake are not those served. */
export async function measureMemory(dir: string, signal: AbortSignal, voice: Voice): Promise<void> {
  const table = [['vessel-day', 'lake', 'peak RSS MB', 'wall s', 'CPU s', 'out MB']];
  for (const rows of DAY_ROWS) {
    const dayDir = join(dir, `day-${rows}`);
    mkdirSync(dayDir);
    voice.progress(`preparing an hour of ${formatCount(rows)} readings a day`);
    const day = prepareDay(dayDir, rows, HOURS);
    await using server = await startPreparedServer(dayDir);
    for await (const { lake, check } of openLakes(dir, voice)) {
      const { peakRssBytes, wallMs, cpuMs } = await exportInto(lake, server, dir, signal);
      const bytesOut = await check(day);
      table.push([
        `${formatCount(day.rows)} readings`,
        lake.name,
        megabytes(peakRssBytes).toFixed(0),
        (wallMs / 1000).toFixed(1),
        (cpuMs / 1000).toFixed(1),
        megabytes(bytesOut).toFixed(1),
      ]);
      voice.progress(`${table.at(-1)?.join('  ')}`);
    }
  }
  voice.say(
    `\npeak memory of the exporter (target: at most 250 MB, and no more for 40 than for 20 million)\n`,
  );
  voice.say(formatTable(table));
}

async function exportInto(lake: BenchLake, server: BenchServer, dir: string, signal: AbortSignal) {
  const env = await exportEnv(server, lake.url, join(dir, 'jobs'));
  return measureExport({ ...env, ...lake.env }, signal);
}

/** Each lake only while it is measured. */
async function* openLakes(dir: string, { progress }: Voice): AsyncGenerator<CheckedLake> {
  {
    const lakeDir = join(dir, 'memory-lake');
    await using lake = openLocalLake(lakeDir);
    yield { lake, check: (day) => checkLocal(join(lakeDir, DAY_KEY), day) };
  }
  await using lake = await openS3Lake(progress);
  if (lake !== undefined) yield { lake, check: () => sizeOnS3(lake) };
}

async function checkLocal(file: string, day: PreparedDay): Promise<number> {
  const wrong = await findWrongRows(file, day);
  if (wrong.length > 0) throw new Error(`the exported rows are not those served: ${wrong.join(', ')}`);
  return (await stat(file)).size;
}

/** The rows are as many as the receipt proves. */
async function sizeOnS3({ client, bucket, keyPrefix }: BenchS3Lake): Promise<number> {
  const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: `${keyPrefix}${DAY_KEY}` }));
  return head.ContentLength ?? 0;
}
