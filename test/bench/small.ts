/**
 * Many small vessel-days, as a nightly run has them: CPU per vessel-day of 2,000 readings of the exporter alone, beside
 * what people use instead, which read files. Everything of one row runs in one process, its start counted.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { addDays, formatCount } from '../../src/core/model/index.ts';
import { type BenchServer, type ChildRun, measureScript, startMadeUpServer } from './child.ts';
import { exportEnv, writeJob } from './contenders.ts';
import { formatSpread, formatTable, megabytes, spreadOf, type Voice } from './figures.ts';
import { type BenchLake, openLocalLake, openS3Lake } from './lakes.ts';
import { DATE } from './prepared-day.ts';
import { findDifferingRows } from './row-check.ts';
import { fetchSmallDays, type SmallDays } from './small-days.ts';

/** A process that begins pays for what becomes hot: of more vessels it pays less of it for each. */
const DEFAULT_VESSELS = 50;
const NIGHTS = 2;
const READINGS = 2_000;

interface SmallRun extends Pick<ChildRun, 'cpuMs' | 'wallMs' | 'peakRssBytes'> {
  /** Of a run that finds everything done: start-up, and a look at the lake. */
  readonly idleCpuMs?: number;
}

/** Measure in rounds, and print a table. Throws where rows of ours are not those of the service. */
export async function measureSmall(
  dir: string,
  rounds: number,
  signal: AbortSignal,
  voice: Voice,
  vessels = DEFAULT_VESSELS,
): Promise<void> {
  await using server = await startMadeUpServer({ vessels, readingsPerDay: READINGS, latencyMs: 0 });
  voice.progress(`fetching ${vessels * NIGHTS} vessel-days for those who read files`);
  const dates = Array.from({ length: NIGHTS }, (_, night) => addDays(DATE, night));
  const days = await fetchSmallDays(server, join(dir, 'small-days'), dates, signal);
  const others = othersOf(days, join(dir, 'small-out'));
  const results = new Map<string, SmallRun[]>();
  const note = (name: string, run: SmallRun) => {
    results.set(name, [...(results.get(name) ?? []), run]);
    voice.progress(`${name}: ${(run.cpuMs / days.count).toFixed(1)} ms of CPU a vessel-day`);
  };
  await using s3 = await openS3Lake(voice.progress);
  for (let round = 0; round < rounds; round++) {
    // Removed with `dir`, not before the next round: a disk may be slow to give away what has just become free.
    const local = openLocalLake(join(dir, `small-lake-${round}`));
    note('ours, in a folder', await exportAll(server, local, dir, signal));
    await checkRows(join(dir, `small-lake-${round}`, 'measurements', '*', '*', '*.parquet'), days);
    if (s3 !== undefined)
      note('ours, on S3', await exportAll(server, { ...s3, url: `${s3.url}-${round}` }, dir, signal));
    for (const [name, run] of Object.entries(others)) note(name, await run(signal));
  }
  voice.say(
    `\n${days.count} vessel-days of ${formatCount(Math.round(days.rows / days.count))} readings and ${(days.series / vessels).toFixed(1)} series (target: 14 ms of CPU each)\n`,
  );
  voice.say(tableOf(results, days));
  voice.say('\nours, in a folder: rows equal what was served, in every round');
}

/** The exporter over all vessel-days, and once more when they are done. */
async function exportAll(
  server: BenchServer,
  lake: Pick<BenchLake, 'url' | 'env'>,
  dir: string,
  signal: AbortSignal,
): Promise<SmallRun> {
  const jobsDir = join(dir, 'small-jobs');
  const env = { ...(await exportEnv(server, lake.url, jobsDir)), ...lake.env, LOG_LEVEL: 'warn' };
  await writeJob(
    jobsDir,
    'dataset: measurements\nvessels: { discover: "flat/*/*" }\nselect: ["flat/{vessel}/*"]\n',
  );
  const args = ['run', 'measurements', '--from', DATE, '--to', addDays(DATE, NIGHTS), '--json'];
  const run = () => measureScript(new URL('../../src/bin.js', import.meta.url), args, env, signal);
  const measured = await run();
  return { ...measured, idleCpuMs: (await run()).cpuMs };
}

async function checkRows(ours: string, days: SmallDays): Promise<void> {
  const differing = await findDifferingRows(ours, days.dir);
  if (differing > 0) throw new Error(`${differing} rows exported are not those that the service has`);
}

function othersOf(days: SmallDays, outDir: string) {
  const of = (script: string, args: readonly string[]) => async (signal: AbortSignal) => {
    await rm(outDir, { recursive: true, force: true });
    await mkdir(outDir);
    return measureScript(new URL(script, import.meta.url), [days.dir, outDir, ...args], {}, signal);
  };
  return {
    'readline, JSON.parse, parquet-wasm': of('naive.ts', []),
    'DuckDB, 1 thread, sorted': of('duckdb.ts', ['1', 'sorted']),
  };
}

function tableOf(results: ReadonlyMap<string, readonly SmallRun[]>, { count }: SmallDays): string {
  const header = ['', 'CPU ms', 'without start-up', 'wall ms', 'peak RSS MB'];
  const rows = [...results].map(([name, runs]) => {
    const spread = (of: (run: SmallRun) => number) => formatSpread(spreadOf(runs.map(of)), 1);
    const hasIdle = runs.every(({ idleCpuMs }) => idleCpuMs !== undefined);
    return [
      name,
      spread(({ cpuMs }) => cpuMs / count),
      hasIdle ? spread(({ cpuMs, idleCpuMs }) => (cpuMs - idleCpuMs!) / count) : '-',
      spread(({ wallMs }) => wallMs / count),
      formatSpread(spreadOf(runs.map(({ peakRssBytes }) => megabytes(peakRssBytes))), 0),
    ];
  });
  return formatTable([header, ...rows]);
}
