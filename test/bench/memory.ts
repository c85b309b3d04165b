/** Peak memory of the exporter for large vessel-days, on a local lake and on S3. */
import { mkdirSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CreateBucketCommand, HeadObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { formatCount } from '../../src/terminal/format.ts';
import { missingRadosgwPrograms, startRadosgw } from '../helpers/radosgw.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { type BenchServer, startPreparedServer } from './child.ts';
import { DAY_KEY, exportEnv, measureExport } from './contenders.ts';
import { formatTable, megabytes } from './figures.ts';
import { HOURS, type PreparedDay, prepareDay } from './prepared-day.ts';
import { findWrongRows } from './row-check.ts';

const DAY_ROWS = [20_000_000, 40_000_000];
const BUCKET = 'bench';

export interface Voice {
  readonly say: (text: string) => void;
  readonly progress: (text: string) => void;
}

/** A lake to export into. */
interface BenchLake extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
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
    for (const open of await lakeOpeners(dir, voice)) {
      await using lake = await open();
      const { peakRssBytes, wallMs, cpuMs } = await exportInto(lake, server, dir, signal);
      const bytesOut = await lake.check(day);
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
  voice.say(`\npeak memory of the exporter (target: under 400 MB, and no more for 40 than for 20 million)\n`);
  voice.say(formatTable(table));
}

async function exportInto(lake: BenchLake, server: BenchServer, dir: string, signal: AbortSignal) {
  const env = await exportEnv(server, lake.url, join(dir, 'jobs'));
  return measureExport({ ...env, ...lake.env }, signal);
}

async function lakeOpeners(dir: string, { progress }: Voice): Promise<(() => Promise<BenchLake>)[]> {
  const local = () => openLocalLake(join(dir, 'memory-lake'));
  const missing = missingRadosgwPrograms();
  if (missing.length === 0) return [local, openS3Lake];
  progress(`without S3: ${missing.join(', ')} not on PATH`);
  return [local];
}

async function openLocalLake(dir: string): Promise<BenchLake> {
  const file = join(dir, DAY_KEY);
  return {
    name: 'local',
    url: pathToFileURL(dir).href,
    env: {},
    async check(day) {
      const wrong = await findWrongRows(file, day);
      if (wrong.length > 0) throw new Error(`the exported rows are not those served: ${wrong.join(', ')}`);
      return (await stat(file)).size;
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

/** A throwaway Ceph; its rows are as many as the receipt proves. */
async function openS3Lake(): Promise<BenchLake> {
  const folder = await newTempFolder();
  const server = await startRadosgw(join(folder.path, 's3'));
  const { endpoint, region, accessKeyId, secretAccessKey } = server.address;
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  return {
    name: 'S3',
    url: `s3://${BUCKET}/lake`,
    env: {
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
    },
    async check() {
      const head = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: `lake/${DAY_KEY}` }));
      return head.ContentLength ?? 0;
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      await server.stop();
      await folder.remove();
    },
  };
}
