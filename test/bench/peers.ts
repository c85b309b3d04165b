/**
 * `npm run bench -- --peers`: what a data engineer would use instead, beside ours, all from the same server: a large vessel-day
 * and a night of small ones by dlt, by a script with pyarrow and by one with Polars (`peers/`), which `bash .ci/install-peers`
 * brings. And what becomes of the rows when each is killed in the middle, run again, and met by late data.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { addDays, formatCount, systemClock } from '../../src/core/model/index.ts';
import { type FaultyService, startFaultyService } from '../helpers/faulty-service/faulty-service.ts';
import { type BenchServer, startPreparedServer } from './child.ts';
import { queryEnv, writeJob } from './contenders.ts';
import { formatSpread, formatTable, megabytes, spreadOf, type Voice } from './figures.ts';
import { DATE, prepareDay } from './prepared-day.ts';
import { compareRows, type DifferingRows, findWrongRows } from './row-check.ts';
import { fetchSmallDays } from './small-days.ts';

const READINGS = 2_000;
const PEERS = join(import.meta.dirname, 'peers');
const BIN = join(import.meta.dirname, '../../src/bin.js');
const JOB = 'dataset: measurements\nvessels: { discover: "flat/*/*" }\nselect: ["flat/{vessel}/*"]\n';

type Server = Pick<BenchServer, 'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret'>;

interface Peer {
  readonly name: string;
  /** What it runs for DATE, into `<dir>/lake`; `hours` a request where it is told. */
  command(dir: string, hours: number): readonly string[];
  /** The same a day later, when data has come late: what it has for that. */
  readonly late: (dir: string, hours: number) => readonly string[];
  readonly files: (dir: string) => string;
}

interface Used {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakRssBytes: number;
  readonly bytesOut: number;
}

function installedPython(): string {
  const script = readFileSync(join(import.meta.dirname, '../../.ci/install-peers'), 'utf8');
  const { PEERS_DIR, XDG_CACHE_HOME } = process.env;
  const name = `peers-${/^version=(\S+)$/m.exec(script)?.[1]}`;
  const folder = PEERS_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'vessel-export', name);
  if (!existsSync(join(folder, 'installed')))
    throw new Error(`no dlt, pyarrow and Polars in ${folder}: bash .ci/install-peers brings them`);
  return join(folder, 'bin/python');
}

function peersOf(python: string): readonly Peer[] {
  const scripted = (name: string, script: string, files: string): Peer => {
    const command = (dir: string, hours: number) => [
      ...[python, join(PEERS, script), DATE, join(dir, 'lake'), String(hours)],
    ];
    return { name, command, late: command, files: (dir) => join(dir, 'lake', files) };
  };
  const range = ['--from', DATE, '--to', addDays(DATE, 1)];
  const ours = (...args: string[]) => [process.execPath, BIN, '--no-env-file', ...args, ...range];
  return [
    {
      name: 'vessel-export',
      command: () => ours('run', 'measurements', '--json'),
      late: () => ours('reconcile', 'measurements', '--run', '--json'),
      files: (dir) => join(dir, 'lake/measurements/*/*/*.parquet'),
    },
    scripted('script with pyarrow', 'pyarrow_script.py', 'vessel=*/date=*/data.parquet'),
    scripted('script with Polars', 'polars_script.py', 'vessel=*/date=*/data.parquet'),
    scripted('dlt', 'dlt_pipeline.py', 'lake/readings/*.parquet'),
  ];
}

async function envOf(server: Server, dir: string): Promise<Record<string, string>> {
  await writeJob(join(dir, 'jobs'), JOB);
  const lake = { LAKE_URL: pathToFileURL(join(dir, 'lake')).href, JOBS_DIR: join(dir, 'jobs') };
  const quiet = {
    LOG_LEVEL: 'warn',
    RUNTIME__DLTHUB_TELEMETRY: 'false',
    RUNTIME__LOG_LEVEL: 'ERROR',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  return { PATH: process.env.PATH!, HOME: dir, ...queryEnv(server as BenchServer), ...lake, ...quiet };
}

function start(command: readonly string[], env: Record<string, string>, signal: AbortSignal): ChildProcess {
  const child = spawn(command[0]!, command.slice(1), {
    ...{ env, signal, detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  child.on('error', () => {});
  return child;
}

/** Run a command to its end and measure it, its children included. */
async function measure(
  python: string,
  command: readonly string[],
  server: Server,
  dir: string,
  signal: AbortSignal,
): Promise<Used> {
  const env = await envOf(server, dir);
  const usage = join(dir, 'usage.json');
  const child = start([python, join(PEERS, 'measure.py'), usage, ...command], env, signal);
  const said: string[] = [];
  child.stderr!.on('data', (chunk) => said.push(String(chunk)));
  const [code] = await once(child, 'close');
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${said.join('')}`);
  return { ...JSON.parse(await readFile(usage, 'utf8')), bytesOut: await bytesIn(join(dir, 'lake')) };
}

/** Of the Parquet files of a folder. */
async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.name.endsWith('.parquet'))
      bytes += (await stat(join(entry.parentPath, entry.name))).size;
  return bytes;
}

/** A folder for one try, gone with it. */
async function inFolder<T>(dir: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = join(dir, 'try');
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, 'lake'), { recursive: true });
  return await work(folder);
}

const HEADER = ['', 'wall s', 'CPU s', 'peak RSS MB', 'Parquet MB', 'rows'];

function rowOf(name: string, runs: readonly Used[], verdict: string): string[] {
  const figure = (of: (one: Used) => number, digits: number) => formatSpread(spreadOf(runs.map(of)), digits);
  return [
    name,
    figure(({ wallMs }) => wallMs / 1000, 2),
    figure(({ cpuMs }) => cpuMs / 1000, 2),
    figure(({ peakRssBytes }) => megabytes(peakRssBytes), 0),
    figure(({ bytesOut }) => megabytes(bytesOut), 1),
    verdict,
  ];
}

export interface PeersOptions {
  readonly rows: number;
  readonly vessels: number;
  readonly rounds: number;
}

/** Measure, and print three tables. */
export async function measurePeers(
  dir: string,
  options: PeersOptions,
  signal: AbortSignal,
  voice: Voice,
): Promise<void> {
  const python = installedPython();
  const peers = peersOf(python);
  await measureLargeDay(dir, peers, python, options, signal, voice);
  const service = await startFaultyService({
    ...{ host: '127.0.0.1', port: 0, tenant: 'bench', tokenTtlSeconds: 3_600, clock: systemClock },
    data: { seed: 1, vessels: options.vessels, readingsPerDay: READINGS },
  });
  try {
    await measureNight({ dir, peers, python, service, signal, voice }, options);
  } finally {
    await service.close();
  }
}

async function measureLargeDay(
  dir: string,
  peers: readonly Peer[],
  python: string,
  { rows, rounds }: PeersOptions,
  signal: AbortSignal,
  { say, progress }: Voice,
): Promise<void> {
  const dayDir = join(dir, 'peers-day');
  await mkdir(dayDir);
  progress(`preparing ${formatCount(rows)} readings`);
  const day = prepareDay(dayDir, rows, 1);
  await using server = await startPreparedServer(dayDir);
  const results = new Map<Peer, { runs: Used[]; verdict: string }>();
  for (let round = 1; round <= rounds; round++)
    for (const peer of peers)
      await inFolder(dir, async (folder) => {
        const used = await measure(python, peer.command(folder, 1), server, folder, signal);
        progress(`round ${round}/${rounds}  ${peer.name}: ${(used.wallMs / 1000).toFixed(2)} s`);
        const wrong = await findWrongRows(peer.files(folder), day);
        const before = results.get(peer)?.runs ?? [];
        results.set(peer, { runs: [...before, used], verdict: wrong.join(', ') || 'right' });
      });
  say(
    `\nOne vessel-day, ${formatCount(rows)} readings, ${megabytes(day.bytes).toFixed(0)} MB of NDJSON, ${rounds} rounds\n`,
  );
  const table = peers.map((peer) => rowOf(peer.name, results.get(peer)!.runs, results.get(peer)!.verdict));
  say(formatTable([HEADER, ...table]));
}

interface Night {
  readonly dir: string;
  readonly peers: readonly Peer[];
  readonly python: string;
  readonly service: FaultyService;
  readonly signal: AbortSignal;
  readonly voice: Voice;
}

async function measureNight(night: Night, { vessels, rounds }: PeersOptions): Promise<void> {
  const { dir, peers, python, service, signal, voice } = night;
  const served = async (name: string) => {
    await rm(join(dir, name), { recursive: true, force: true });
    return await fetchSmallDays(service as unknown as BenchServer, join(dir, name), [DATE], signal);
  };
  const days = await served('served');
  const table: string[][] = [];
  for (const peer of peers) {
    const runs: Used[] = [];
    let verdict = '';
    for (let round = 1; round <= rounds; round++)
      await inFolder(dir, async (folder) => {
        runs.push(await measure(python, peer.command(folder, 24), service, folder, signal));
        voice.progress(
          `night, round ${round}/${rounds}  ${peer.name}: ${(runs.at(-1)!.wallMs / 1000).toFixed(2)} s`,
        );
        verdict = describe(await compareRows(peer.files(folder), days.dir));
      });
    table.push(rowOf(peer.name, runs, verdict));
  }
  voice.say(
    `\nA night of ${vessels} vessel-days of ${formatCount(READINGS)} readings, ${formatCount(days.rows)} in all, ${rounds} rounds\n`,
  );
  voice.say(formatTable([HEADER, ...table]));

  const troubles: string[][] = [];
  for (const peer of peers) troubles.push([peer.name, ...(await troubleOf(night, peer, days.dir, served))]);
  voice.say(
    '\nKilled (SIGKILL) after half of the requests, run again, a reading that comes late, and once more\n',
  );
  voice.say(
    formatTable([
      ['', 'after the kill', 'run again', 'run once more', 'late reading', 'requests for it'],
      ...troubles,
    ]),
  );
}

/** What readers find after each: a kill, the same command again, once more, and a late reading with what there is for that. */
async function troubleOf(
  { dir, service, signal, voice, python }: Night,
  peer: Peer,
  daysDir: string,
  served: (name: string) => Promise<{ dir: string }>,
): Promise<string[]> {
  return await inFolder(dir, async (folder) => {
    const env = await envOf(service, folder);
    const found = async (days = daysDir) => describe(await compareRows(peer.files(folder), days));
    const wanted = (await readdir(daysDir)).length;
    const asked = () => service.requests.filter(({ family }) => family === 'measurements').length;
    const before = asked();
    const child = start(peer.command(folder, 24), env, signal);
    child.stderr!.resume();
    const ended = once(child, 'close');
    while (asked() - before < wanted / 2 && child.exitCode === null)
      await new Promise((done) => setTimeout(done, 5));
    process.kill(-child.pid!, 'SIGKILL');
    await ended;
    voice.progress(`${peer.name}: killed`);
    const killed = await found();
    await measure(python, peer.command(folder, 24), service, folder, signal);
    const again = await found();
    await measure(python, peer.command(folder, 24), service, folder, signal);
    const onceMore = await found();
    const [late] = JSON.parse(
      await readFile(join(daysDir, (await readdir(daysDir)).sort()[0]!, 'metadata.json'), 'utf8'),
    ) as { timeSeriesId: string }[];
    const timestampMicros = Date.parse(`${DATE}T12:00:00Z`) * 1_000 + lateMicros++;
    service.overlay.addReadings(late!.timeSeriesId, [{ timestampMicros, valueText: '1.5' }]);
    const now = await served('served-late');
    const requests = service.requests.length;
    await measure(python, peer.late(folder, 24), service, folder, signal);
    const wrong = await found(now.dir);
    const spent = service.requests.slice(requests);
    const forReadings = spent.filter(({ family }) => family === 'measurements').length;
    service.overlay.removeReadings(late!.timeSeriesId, {
      ...{ fromMicros: timestampMicros, toMicros: timestampMicros + 1 },
    });
    return [killed, again, onceMore, wrong, `${spent.length}, ${forReadings} for readings`];
  });
}

let lateMicros = 1;

function describe({ rows, missing, surplus }: DifferingRows): string {
  if (rows === 0) return 'nothing';
  if (missing === 0 && surplus === 0) return 'right';
  const parts = [
    missing > 0 && `${formatCount(missing)} missing`,
    surplus > 0 && `${formatCount(surplus)} too many`,
  ];
  return parts.filter(Boolean).join(', ');
}
