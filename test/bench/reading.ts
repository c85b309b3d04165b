/**
 * What it takes to read a lake: `status` and `reconcile` of a fleet's month, in a folder and on S3, as those who publish
 * have left it and without an index; `status --json` and the page's map of a year; `verify --deep`. Each in a process of
 * its own; CPU is of the whole process, its start counted. Throws where a command finds something else than is there.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { addDays, formatCount } from '../../src/core/model/index.ts';
import { vesselIds } from '../helpers/ledger.ts';
import { MADE_UP_JOB_FILE, writeMadeUpFolder } from '../helpers/made-up-ledger.ts';
import { type ChildRun, measureScript, startMadeUpServer, startServer } from './child.ts';
import { queryEnv, writeJob } from './contenders.ts';
import { formatTable, megabytes, type Voice } from './figures.ts';
import { FLEET_FROM, FLEET_VESSELS, removeFleetIndex, writeFleetLedger } from './fleet-lake.ts';
import { type BenchLake, openLocalLake, openS3Lake } from './lakes.ts';
import { DATE } from './prepared-day.ts';
import { lookAtMap } from './reading-map.ts';

/** How much is read. */
export interface ReadingSizes {
  /** Of the month that `status` and `reconcile` read. */
  readonly vessels: number;
  readonly days: number;
  /** Of the year; it is left out where there are none. The same for those that are verified. */
  readonly yearVessels: number;
  readonly yearDays: number;
  /** From its writing until it is read: folders of receipts tell nothing until they are two minutes old. */
  readonly settleMs: number;
  /** Of the lake that is verified, with so many readings a vessel-day. */
  readonly deepVessels: number;
  readonly deepDays: number;
  readonly deepReadings: number;
  readonly isS3: boolean;
}

export const READING_SIZES: ReadingSizes = {
  ...{ vessels: FLEET_VESSELS.length, days: 30 },
  ...{ yearVessels: 1_000, yearDays: 365, settleMs: 125_000 },
  ...{ deepVessels: 6, deepDays: 8, deepReadings: 100_000 },
  isS3: true,
};

const CLI = new URL('../../src/bin.js', import.meta.url);

/** Of the month alone, of a fleet of another size, in a folder. */
export const monthOf = (vessels: number): ReadingSizes => ({
  ...READING_SIZES,
  ...{ vessels, yearVessels: 0, deepVessels: 0, isS3: false },
});

/** A line of the table. */
export interface ReadingFigure {
  readonly what: string;
  readonly lake: string;
  readonly vesselDays: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakRssBytes: number;
  readonly target: string;
  /** What else is known of it. */
  readonly more?: string;
}

/** Measure and print; the figures. */
export async function measureReading(
  dir: string,
  sizes: ReadingSizes,
  signal: AbortSignal,
  voice: Voice,
): Promise<ReadingFigure[]> {
  const figures: ReadingFigure[] = [];
  const note = (figure: ReadingFigure) => {
    figures.push(figure);
    voice.progress(cellsOf(figure).join('  '));
  };
  const bench = { dir, sizes, signal, voice, note };
  await measureMonth(bench);
  if (sizes.yearVessels > 0) await measureYear(bench);
  if (sizes.deepVessels > 0) await measureDeep(bench);
  const header = ['', 'lake', 'vessel-days', 'wall s', 'CPU s', 'peak RSS MB', 'target', ''];
  voice.say(`\nreading a lake\n\n${formatTable([header, ...figures.map(cellsOf)])}`);
  return figures;
}

interface Bench {
  readonly dir: string;
  readonly sizes: ReadingSizes;
  readonly signal: AbortSignal;
  readonly voice: Voice;
  readonly note: (figure: ReadingFigure) => void;
}

function cellsOf(figure: ReadingFigure): string[] {
  const { what, lake, vesselDays, wallMs, cpuMs, peakRssBytes, target, more = '' } = figure;
  const [wall, cpu] = [wallMs, cpuMs].map((ms) => (ms / 1_000).toFixed(1)) as [string, string];
  return [what, lake, formatCount(vesselDays), wall, cpu, megabytes(peakRssBytes).toFixed(0), target, more];
}

async function measureMonth(bench: Bench): Promise<void> {
  const { dir, sizes, signal, voice } = bench;
  const fleet = vesselIds(Math.max(sizes.vessels, FLEET_VESSELS.length));
  await using server = await startServer('fleet-server.ts', [String(fleet.length)]);
  const vessels = fleet.slice(0, sizes.vessels);
  const isAll = vessels.length === fleet.length;
  const jobsDir = join(dir, 'month-jobs');
  await writeJob(
    jobsDir,
    isAll ? MADE_UP_JOB_FILE : MADE_UP_JOB_FILE.replace(/^vessels: .*$/m, `vessels: [${vessels.join(', ')}]`),
  );
  const { days } = sizes;
  const measure = async (lake: BenchLake) => {
    const env = { ...queryEnv(server), LAKE_URL: lake.url, JOBS_DIR: jobsDir, ...lake.env };
    const range = ['--from', FLEET_FROM, '--to', addDays(FLEET_FROM, days)];
    const vesselDays = vessels.length * days;
    const run = async (what: string, target: string, args: readonly string[], expected: RegExp) => {
      const measured = await measureScript(CLI, [...args, ...range], env, signal);
      if (!expected.test(measured.stdout)) throw new Error(`${what}: got\n${measured.stdout.slice(-1_000)}`);
      const asked = vessels.length === FLEET_VESSELS.length ? target : '';
      bench.note({ what, lake: lake.name, vesselDays, target: asked, ...measured });
    };
    voice.progress(`publishing ${formatCount(vesselDays)} receipts: ${lake.name}`);
    await writeFleetLedger(lake, { vessels, days, isPublished: true });
    const isComplete = new RegExp(`\\b${formatCount(vesselDays)} (?:complete|published)`);
    const isUnchanged = new RegExp(`${formatCount(vesselDays)} vessel-days compared: nothing changed`);
    await run('status, the first after those who published', '8 s', ['status'], isComplete);
    await run('status, again', '', ['status'], isComplete);
    const fromIndex = new RegExp(`"fromIndex": ${vesselDays}\\b`);
    await run('status --json, again', '', ['status', '--json'], fromIndex);
    await run('reconcile', '10 s', ['reconcile'], isUnchanged);
    await removeFleetIndex(lake);
    await run('status, without any index', '', ['status'], isComplete);
  };
  {
    await using lake = openLocalLake(join(dir, 'month'));
    await measure(lake);
  }
  await using s3 = sizes.isS3 ? await openS3Lake(voice.progress) : undefined;
  if (s3 !== undefined) await measure(s3);
}

async function measureYear({ dir, sizes, signal, voice, note }: Bench): Promise<void> {
  const lake = join(dir, 'year');
  const today = new Date().toISOString().slice(0, 10);
  const options = { vessels: sizes.yearVessels, days: sizes.yearDays, today };
  const vesselDays = options.vessels * options.days;
  voice.progress(`making up ${formatCount(vesselDays)} vessel-days`);
  const made = await writeMadeUpFolder(lake, options);
  const jobsDir = join(dir, 'year-jobs');
  await writeJob(jobsDir, MADE_UP_JOB_FILE);
  const env = { LAKE_URL: pathToFileURL(lake).href, JOBS_DIR: jobsDir };
  const range = ['--from', made.from, '--to', made.to];
  voice.progress(`waiting ${sizes.settleMs / 1_000} s`);
  await sleep(sizes.settleMs, undefined, { signal });
  const [what, target] = ['status --json of a year', '8 s, 250 MB'];
  const status = await measureScript(CLI, ['status', '--json', ...range], env, signal);
  const [{ totals, vesselDays: told }] = (JSON.parse(status.stdout) as ToldStatus).jobs;
  // By the clock of now: what is running and not due in the ledger is missing.
  const published = made.totals.published + made.totals.warned;
  if (told !== vesselDays || totals.published !== published || totals.empty !== made.totals.empty)
    throw new Error(`status --json: got ${JSON.stringify(totals)} of ${told} vessel-days`);
  const more = `${megabytes(status.stdout.length).toFixed(1)} MB of JSON`;
  note({ what, lake: 'local', vesselDays, target, ...status, more });
  const looks = await lookAtMap(env, made, signal);
  for (const [at, look] of looks.entries()) {
    if (look.cells !== vesselDays) throw new Error(`the map has ${look.cells} cells, expected ${vesselDays}`);
    const { cpuMs, wallMs, peakRssBytes, gzipBytes, longestMs } = look;
    note({
      ...{ what: `the page's map of a year, look ${at + 1}`, lake: 'local', vesselDays, target: '200 MB' },
      ...{ cpuMs, wallMs, peakRssBytes },
      more: `${(gzipBytes / 1e3).toFixed(0)} kB gzipped, others waited ${longestMs.toFixed(0)} ms at most`,
    });
  }
  await rm(lake, { recursive: true, force: true });
}

interface ToldStatus {
  readonly jobs: readonly [
    { readonly vesselDays: number; readonly totals: Readonly<Record<'published' | 'empty', number>> },
  ];
}

async function measureDeep({ dir, sizes, signal, voice, note }: Bench): Promise<void> {
  const { deepVessels: vessels, deepDays: days, deepReadings: readingsPerDay } = sizes;
  await using server = await startMadeUpServer({ vessels, readingsPerDay, latencyMs: 0 });
  await using lake = openLocalLake(join(dir, 'deep'));
  const vesselDays = vessels * days;
  const jobsDir = join(dir, 'deep-jobs');
  await writeJob(jobsDir, MADE_UP_JOB_FILE);
  const env = { ...queryEnv(server), LAKE_URL: lake.url, JOBS_DIR: jobsDir, LOG_LEVEL: 'warn' };
  const range = ['--from', DATE, '--to', addDays(DATE, days)];
  voice.progress(`exporting ${vesselDays} vessel-days`);
  await measureScript(CLI, ['run', ...range], env, signal);
  for (const [what, args] of [
    ['verify', []],
    ['verify --deep', ['--deep']],
  ] as const) {
    const measured: ChildRun = await measureScript(CLI, ['verify', ...args, ...range], env, signal);
    if (!measured.stdout.includes(`${vesselDays} vessel-days`))
      throw new Error(`${what}: got\n${measured.stdout.slice(-1_000)}`);
    const perDay = measured.cpuMs / vesselDays;
    note({
      ...{ what, lake: 'local', vesselDays, target: '' },
      ...measured,
      more: `${perDay.toFixed(0)} ms of CPU a vessel-day of ${formatCount(readingsPerDay)} readings`,
    });
  }
}
