/** What a fleet costs those who look at it and plan it: `status` and `reconcile` of a month, planning of ten years, the queue. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatCount } from '../../src/core/model/index.ts';
import { type BenchServer, type ChildRun, measureScript, startServer } from './child.ts';
import { queryEnv } from './contenders.ts';
import { formatTable, megabytes, type Voice } from './figures.ts';
import {
  FLEET_DAYS,
  FLEET_FROM,
  FLEET_TO,
  FLEET_VESSELS,
  removeFleetIndex,
  writeFleetLedger,
} from './fleet-lake.ts';
import { type BenchLake, openLocalLake, openS3Lake } from './lakes.ts';
import { measureTable } from './table.ts';

const CLI = new URL('../../src/bin.js', import.meta.url);
const JOB_FILE = `dataset: measurements
vessels: { discover: "flat/*/*" }
select: ["flat/{vessel}/*"]
`;

/** Scripts of their own, which say more. */
const FAR = [
  ['far-nights.ts', 'nights of 10,000 vessels and 30 days'],
  [
    'far-backfill.ts',
    'a backfill of 1,000 vessels and ten years, half of it done, against an instant exporter',
  ],
] as const;

/** Measure and print: the ledger on each lake, then planning. Throws when a command finds what is not there. */
export async function measureFleet(dir: string, signal: AbortSignal, voice: Voice): Promise<void> {
  const jobsDir = join(dir, 'jobs');
  await mkdir(jobsDir);
  await writeFile(join(jobsDir, 'measurements.yaml'), JOB_FILE);
  const table = [['', 'lake', 'wall s', 'CPU s', 'peak RSS MB']];
  await using server = await startServer('fleet-server.ts', []);
  const measure = (lake: BenchLake) => measureLedger(lake, server, { table, jobsDir, signal, voice });
  {
    await using lake = openLocalLake(join(dir, 'lake'));
    await measure(lake);
  }
  {
    await using lake = await openS3Lake(voice.progress);
    if (lake !== undefined) await measure(lake);
  }
  const vesselDays = formatCount(FLEET_VESSELS.length * FLEET_DAYS);
  voice.say(`\na ledger of ${vesselDays} vessel-days (target: seconds, under 300 MB)\n`);
  voice.say(formatTable(table));
  voice.progress('planning 100,000 vessel-days');
  const planning = await measureScript(new URL('planning.ts', import.meta.url), [], {}, signal);
  voice.say(`\nplanning: ${planning.stdout.trim()}`);
  await measureTable(dir, signal, voice);
  for (const [script, what] of FAR) {
    voice.progress(what);
    const { stdout } = await measureScript(new URL(script, import.meta.url), [], {}, signal);
    voice.say(`\n${what}: ${stdout.trim()}`);
  }
}

interface LedgerMeasuring {
  readonly table: string[][];
  readonly jobsDir: string;
  readonly signal: AbortSignal;
  readonly voice: Voice;
}

/** Each command as a user starts it, over receipts that nobody has read yet, and again. */
async function measureLedger(
  lake: BenchLake,
  server: BenchServer,
  { table, jobsDir, signal, voice }: LedgerMeasuring,
): Promise<void> {
  voice.progress(`writing ${formatCount(FLEET_VESSELS.length * FLEET_DAYS)} receipts: ${lake.name}`);
  await writeFleetLedger(lake);
  const env = { ...queryEnv(server), LAKE_URL: lake.url, JOBS_DIR: jobsDir, ...lake.env };
  const range = ['--from', FLEET_FROM, '--to', FLEET_TO];
  const run = async (what: string, args: readonly string[], check: (run: ChildRun) => boolean) => {
    const measured = await measureScript(CLI, [...args, ...range], env, signal);
    if (!check(measured)) throw new Error(`${what}: got\n${measured.stdout.slice(-1_000)}`);
    table.push([
      what,
      lake.name,
      (measured.wallMs / 1_000).toFixed(1),
      (measured.cpuMs / 1_000).toFixed(1),
      megabytes(measured.peakRssBytes).toFixed(0),
    ]);
    voice.progress(table.at(-1)!.join('  '));
  };
  const isPublished = ({ stdout }: ChildRun) => stdout.includes('30,000 published');
  const isUnchanged = ({ stdout }: ChildRun) =>
    stdout.includes('30,000 vessel-days compared: nothing changed');
  await run('status, without _index', ['status'], isPublished);
  await run('status, again', ['status'], isPublished);
  await run('status --json', ['status', '--json'], ({ stdout }) => stdout.includes('"fromIndex": 30000'));
  await removeFleetIndex(lake);
  await run('reconcile, without _index', ['reconcile'], isUnchanged);
  await run('reconcile, again', ['reconcile'], isUnchanged);
}
