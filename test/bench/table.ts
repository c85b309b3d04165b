/** What a delta lake costs: a night of the fleet beside the same in a plain lake, and a table of a year. */
import { hash } from 'node:crypto';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { addDays, datesBetween, formatCount, silentLog, systemClock } from '../../src/core/model/index.ts';
import type { Action } from '../../src/lake/table/actions.ts';
import { openTable } from '../../src/lake/table/table.ts';
import { createLocalStore } from '../../src/store/local/local.ts';
import { type BenchServer, measureScript, startMadeUpServer } from './child.ts';
import { queryEnv } from './contenders.ts';
import { formatTable, type Voice } from './figures.ts';

const VESSELS = 1_000;
const DATE = '2026-01-05';
const YEAR = datesBetween('2025-01-01', '2026-01-01');
const ENTRY_DATES = 5;

/** Measure and print. Throws when a night does not publish every vessel. */
export async function measureTable(dir: string, signal: AbortSignal, voice: Voice): Promise<void> {
  const jobsDir = join(dir, 'table-jobs');
  await writeJob(jobsDir);
  await using server = await startMadeUpServer({ vessels: VESSELS, readingsPerDay: 1_000, latencyMs: 0 });
  const table = [
    ['a night of', 'layout', 'wall s', 'CPU s', 'store calls a vessel-day', 'versions', 'log kB'],
  ];
  for (const layout of ['plain', 'delta']) {
    voice.progress(`a night of ${VESSELS} vessels: ${layout}`);
    table.push(await measureNight({ server, dir: join(dir, layout), jobsDir, layout, signal }));
  }
  voice.say(`\n${formatTable(table)}`);
  voice.progress(`a table of ${formatCount(VESSELS * YEAR.length)} files`);
  voice.say(`\n${formatTable(await measureYear(join(dir, 'year')))}`);
}

async function writeJob(jobsDir: string): Promise<void> {
  await mkdir(jobsDir);
  const job =
    'dataset: measurements\nvessels: { discover: "flat/*/Shaft Power" }\nselect: ["flat/{vessel}/Shaft *"]\n';
  await writeFile(join(jobsDir, 'measurements.yaml'), job);
}

interface Night {
  readonly server: BenchServer;
  readonly dir: string;
  readonly jobsDir: string;
  readonly layout: string;
  readonly signal: AbortSignal;
}

async function measureNight({ server, dir, jobsDir, layout, signal }: Night): Promise<string[]> {
  const lake = { LAKE_URL: pathToFileURL(dir).href, LAKE_LAYOUT: layout, JOBS_DIR: jobsDir };
  const script = new URL('table-night.ts', import.meta.url);
  const run = await measureScript(script, [DATE], { ...queryEnv(server), ...lake }, signal);
  const { published, wallMs, calls } = JSON.parse(run.stdout) as {
    published: number;
    wallMs: number;
    calls: Record<string, number>;
  };
  if (published !== VESSELS) throw new Error(`a night published ${published} vessel-days of ${VESSELS}`);
  const all = Object.values(calls).reduce((sum, count) => sum + count, 0);
  const { versions, bytes } = await logOf(dir);
  return [
    `${formatCount(VESSELS)} vessels`,
    layout,
    (wallMs / 1_000).toFixed(1),
    (run.cpuMs / 1_000).toFixed(1),
    (all / VESSELS).toFixed(2),
    ...(layout === 'plain' ? ['', ''] : [String(versions), (bytes / 1_000).toFixed(0)]),
  ];
}

async function logOf(dir: string): Promise<{ versions: number; bytes: number }> {
  const folder = join(dir, 'measurements/_delta_log');
  const names = await readdir(folder).catch(() => []);
  const entries = names.filter((name) => name.endsWith('.json'));
  const sizes = await Promise.all(entries.map(async (name) => (await stat(join(folder, name))).size));
  return { versions: entries.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** Commit a year of the fleet, as a conversion does; then checkpoint it, open it anew and commit to it. */
async function measureYear(dir: string): Promise<string[][]> {
  const ports = { store: createLocalStore(dir), clock: systemClock, log: silentLog, prefix: 'measurements/' };
  const table = [['a year of the fleet', 'wall ms', 'CPU ms', 'MB']];
  const timed = async <T>(what: string, work: () => Promise<T>, megabytes = ''): Promise<T> => {
    const [wallMs, cpu] = [performance.now(), process.cpuUsage()];
    const result = await work();
    const { user, system } = process.cpuUsage(cpu);
    table.push([
      what,
      (performance.now() - wallMs).toFixed(0),
      ((user + system) / 1_000).toFixed(0),
      megabytes,
    ]);
    return result;
  };
  const written = await openTable(ports);
  const columns = [{ name: 'timestamp', type: 'timestamp' } as const];
  const content = { job: 'measurements', dataset: 'measurements' as const, columns };
  await written.commit(-1, 'CREATE TABLE', written.preparation(content));
  for (let at = 0; at < YEAR.length; at += ENTRY_DATES)
    await written.commit(written.version, 'WRITE', YEAR.slice(at, at + ENTRY_DATES).flatMap(filesOf));
  await timed('write a checkpoint', () => written.checkpoint());
  const name = `measurements/_delta_log/${String(written.version).padStart(20, '0')}.checkpoint.parquet`;
  table.at(-1)![3] = ((await stat(join(dir, name))).size / 1e6).toFixed(1);
  const opened = await timed('open it: checkpoint and list', () => openTable(ports));
  if (opened.fileCount !== VESSELS * YEAR.length) throw new Error(`the table has ${opened.fileCount} files`);
  await timed('look for news, of which there are none', () => opened.refresh());
  await timed('commit a vessel-day', () =>
    opened.commit(opened.version, 'WRITE', [filesOf('2026-01-01')[0]!]),
  );
  await timed('commit 500 vessel-days', () =>
    opened.commit(opened.version, 'WRITE', filesOf(addDays('2026-01-01', 1)).slice(0, 500)),
  );
  return table;
}

function filesOf(date: string): Action[] {
  return Array.from({ length: VESSELS }, (_, i) => {
    const vessel = `IMO${9_100_000 + i}`;
    const name = hash('sha256', `${vessel}${date}`).slice(0, 16);
    const bounds = (time: string, id: string) =>
      `{"timestamp":"${date}T${time}Z","time_series_id":"${id}","long_value":${i},"double_value":${i / 7}}`;
    const ids = [`0000${i}-4000-8000-000000000000`, `ffff${i}-4000-8000-000000000000`] as const;
    const nulls = '{"timestamp":0,"time_series_id":0,"id":0,"long_value":7,"double_value":9,"json_value":11}';
    const stats = `{"numRecords":250000,"minValues":${bounds('00:00:00.000', ids[0])},"maxValues":${bounds('23:59:59.999', ids[1])},"nullCount":${nulls}}`;
    const partitionValues = { vessel, date };
    const path = `vessel=${vessel}/date=${date}/${name}.parquet`;
    return {
      add: { path, partitionValues, size: 2_000_000 + i, modificationTime: 1, dataChange: true, stats },
    };
  });
}
