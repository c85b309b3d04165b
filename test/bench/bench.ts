/**
 * `npm run bench`: one table, one run, ratios. Prepares a vessel-day of readings once, then measures, in several
 * rounds and each in a process of its own, the exporter and other ways from the same readings to Parquet. The
 * exporter's rows must equal the prepared ones; no time is asserted, since a busy machine stretches them all.
 *
 * `--help` says what else it can measure.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { version as duckdbVersion } from '@duckdb/node-api';
import { formatCount } from '../../src/core/model/index.ts';
import { newTempFolder } from '../helpers/temp.ts';
import { startMadeUpServer, startPreparedServer } from './child.ts';
import { bytesByColumn, describeColumns, measureDemoLake } from './columns.ts';
import { type Contender, type Contenders, createContenders, type Measurement } from './contenders.ts';
import { formatSpread, formatTable, megabytes, ratiosOf, spreadOf } from './figures.ts';
import { measureFleet } from './fleet.ts';
import { measureMemory } from './memory.ts';
import { measurePeers } from './peers.ts';
import { type PreparedDay, prepareDay } from './prepared-day.ts';
import { measureReading, monthOf, READING_SIZES } from './reading.ts';
import { findWrongRows } from './row-check.ts';
import { measureScaling } from './scaling.ts';
import { measureSmall } from './small.ts';

const USAGE = `npm run bench -- [options]

  --rows N     readings of the vessel-day, 100,000 to 40,000,000 (default: 5,000,000)
  --rounds N   rounds, 0 to 99 (default: 3)
  --memory     also the exporter's peak memory for days of 20 and 40 million readings; --rounds 0 for it alone
  --small      instead: CPU per vessel-day of 2,000 readings, in a folder and on S3, beside those who read files
  --columns    also the bytes of each column of the lake that the demo makes
  --fleet      instead: planning 100,000 vessel-days, nights of 10,000 vessels, and a backfill of 1,000 vessels x 10
               years against an exporter that takes no time; a night and a year of a lake of tables; about half an hour
  --reading    instead: status and reconcile of 1,000 vessels x 30 days, in a folder and on S3; status --json and the
               page's map of 1,000 x 365; verify --deep; a quarter of an hour
  --vessels N  with --reading: nothing but the 30 days of a fleet of another size, in a folder, 1 to 100,000;
               with --small: two nights of so many vessels (default: 50); with --peers: a night (default: 200)
  --peers      instead: a vessel-day and a night of 200 small ones by dlt, and by scripts with pyarrow and Polars, beside
               ours; killed, run again, and met by late data (bash .ci/install-peers)
  --scaling    also how workers share cores, and what their threads take; --rounds 0 for it alone
  --help       this
`;

interface BenchOptions {
  readonly rows: number;
  readonly rounds: number;
  readonly memory: boolean;
  readonly scaling: boolean;
  readonly fleet: boolean;
  readonly small: boolean;
  readonly columns: boolean;
  readonly reading: boolean;
  readonly peers: boolean;
  readonly vessels?: number | undefined;
  readonly help: boolean;
}

/** One measurement a round. */
type Results = Record<keyof Contenders, Measurement[]>;

const say = (text: string) => process.stdout.write(`${text}\n`);
const progress = (text: string) => process.stderr.write(`${text}\n`);

function readOptions(): BenchOptions {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '5000000' },
      rounds: { type: 'string', default: '3' },
      memory: { type: 'boolean', default: false },
      scaling: { type: 'boolean', default: false },
      fleet: { type: 'boolean', default: false },
      small: { type: 'boolean', default: false },
      columns: { type: 'boolean', default: false },
      reading: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      vessels: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const [rows, rounds] = [Number(values.rows), Number(values.rounds)];
  if (!Number.isInteger(rows) || rows < 100_000 || rows > 40_000_000)
    throw new RangeError(`--rows: got ${values.rows}, expected 100000 to 40000000`);
  if (!Number.isInteger(rounds) || rounds < 0 || rounds > 99)
    throw new RangeError(`--rounds: got ${values.rounds}, expected 0 (no table) to 99`);
  const vessels = values.vessels === undefined ? undefined : Number(values.vessels);
  if (
    vessels !== undefined &&
    !(
      Number.isInteger(vessels) &&
      vessels >= 1 &&
      vessels <= 100_000 &&
      (values.reading || values.small || values.peers)
    )
  )
    throw new RangeError(
      `--vessels: got ${values.vessels}, expected 1 to 100000, with --reading, --small or --peers`,
    );
  return { ...values, rows, rounds, vessels };
}

const sizesOf = ({ vessels }: BenchOptions) => (vessels === undefined ? READING_SIZES : monthOf(vessels));

function describeMachine(): string {
  const [cpu] = cpus();
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const load = loadavg()[0]!.toFixed(1);
  return [
    `${cpus().length} × ${cpu?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, load ${load}`,
    `${process.platform} ${process.arch}, Node ${process.versions.node}, DuckDB ${duckdbVersion()}`,
    `vessel-export ${manifest.version}, parquet-wasm ${manifest.devDependencies['parquet-wasm']}`,
  ].join(' · ');
}

async function runRounds(contenders: Contenders, rounds: number, signal: AbortSignal, day: PreparedDay) {
  const keys = Object.keys(contenders) as (keyof Contenders)[];
  const results = Object.fromEntries(keys.map((key) => [key, []])) as unknown as Results;
  for (let round = 1; round <= rounds; round++) {
    for (const key of keys) {
      const measured = await contenders[key].run(signal);
      results[key].push(measured);
      progress(`round ${round}/${rounds}  ${contenders[key].name}: ${seconds(measured.wallMs)} s`);
      if (key === 'ours') await checkOurs(contenders.ours, day);
    }
  }
  return results;
}

const seconds = (ms: number) => (ms / 1000).toFixed(2);

async function checkOurs({ file }: Contender, day: PreparedDay): Promise<void> {
  const wrong = await findWrongRows(file!, day);
  if (wrong.length > 0) throw new Error(`the exported rows are not those prepared: ${wrong.join(', ')}`);
}

function resultTable(contenders: Contenders, results: Results): string {
  const header = ['', 'wall s', 'CPU s', 'peak RSS MB', 'out MB'];
  const rows = Object.entries(contenders).map(([key, { name }]) => {
    const measured = results[key as keyof Contenders];
    const figures = (value: (one: Measurement) => number, digits: number) =>
      formatSpread(spreadOf(measured.map(value)), digits);
    const { bytesOut } = measured[0]!;
    return [
      name,
      figures(({ wallMs }) => wallMs / 1000, 2),
      figures(({ cpuMs }) => cpuMs / 1000, 2),
      figures(({ peakRssBytes }) => megabytes(peakRssBytes), 0),
      bytesOut === undefined ? '-' : megabytes(bytesOut).toFixed(1),
    ];
  });
  return formatTable([header, ...rows]);
}

function ratioTable(results: Results): string {
  const row = (name: string, over: keyof Contenders, under: keyof Contenders, target: string) => [
    name,
    formatSpread(spreadOf(ratiosOf(results[over], results[under])), 2),
    target,
  ];
  return formatTable([
    ['ratio of wall times', '', 'target'],
    row('ours end to end / DuckDB 1 thread sorted', 'ours', 'duckdbSorted1', '≤ 0.30'),
    row('ours end to end / DuckDB 2 threads sorted', 'ours', 'duckdbSorted2', ''),
    row('ours end to end / DuckDB 1 thread unsorted', 'ours', 'duckdbUnsorted1', ''),
    row('ours end to end / DuckDB 2 threads unsorted', 'ours', 'duckdbUnsorted2', '≤ 1.00'),
    row('ours end to end / receiving the bytes', 'ours', 'receive', '≤ 2.50'),
    row('naive / ours end to end', 'naive', 'ours', '≥ 7.00'),
    row('receiving from our own service / ours end to end', 'receiveFromService', 'ours', '≤ 1.00'),
  ]);
}

/** What the others' rows differ in from what was served. */
async function describeWrongRows(contenders: Contenders, day: PreparedDay): Promise<string[]> {
  const lines: string[] = [];
  for (const { name, file } of [contenders.duckdbSorted1, contenders.naive]) {
    const wrong = await findWrongRows(file!, day);
    lines.push(`${name}: ${wrong.length === 0 ? 'rows equal what was served' : wrong.join(', ')}`);
  }
  return lines;
}

async function runBench({ rows, rounds }: BenchOptions, dir: string, signal: AbortSignal): Promise<void> {
  const [dayDir, outDir] = [join(dir, 'day'), join(dir, 'out')];
  for (const folder of [dayDir, outDir]) mkdirSync(folder);
  progress(`preparing ${formatCount(rows)} readings in ${dir}`);
  const day = prepareDay(dayDir, rows, 1);
  await using prepared = await startPreparedServer(dayDir);
  await using madeUp = await startMadeUpServer({ vessels: 1, readingsPerDay: rows, latencyMs: 0 });
  const contenders = createContenders(day, { prepared, madeUp }, outDir);
  const results = await runRounds(contenders, rounds, signal, day);
  say(
    `\n${formatCount(day.rows)} readings, ${megabytes(day.bytes).toFixed(0)} MB of NDJSON, ${rounds} rounds`,
  );
  say(`\n${resultTable(contenders, results)}\n\n${ratioTable(results)}\n`);
  say('ours, end to end: rows equal what was served, in every round');
  say(`ours, ${describeColumns(await bytesByColumn(contenders.ours.file!))}`);
  for (const line of await describeWrongRows(contenders, day)) say(line);
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options.help) {
    say(USAGE);
    return;
  }
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  await using temp = await newTempFolder();
  try {
    say(describeMachine());
    const voice = { say, progress };
    const isOther = options.fleet || options.small || options.reading || options.peers;
    if (options.rounds > 0 && !isOther) await runBench(options, temp.path, stop.signal);
    if (options.small) await measureSmall(temp.path, options.rounds, stop.signal, voice, options.vessels);
    if (options.peers) {
      const { rows, rounds, vessels = 200 } = options;
      await measurePeers(temp.path, { rows, rounds, vessels }, stop.signal, voice);
    }
    if (options.reading) await measureReading(temp.path, sizesOf(options), stop.signal, voice);
    if (options.fleet) await measureFleet(temp.path, stop.signal, voice);
    if (options.memory) await measureMemory(temp.path, stop.signal, voice);
    if (options.columns) await measureDemoLake(temp.path, stop.signal, voice);
    if (options.scaling) await measureScaling(temp.path, stop.signal, voice);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    progress('interrupted');
    process.exitCode = 130;
  }
}

await main();
