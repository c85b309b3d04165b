/**
 * How a fleet scales: workers in processes of their own, as users start them, empty a queue of vessel-days. Where
 * the service's latency is the limit the concurrency limit decides; where the processor is, the cores that a worker is given.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { addDays, formatCount } from '../../src/core/model/index.ts';
import { startMadeUpServer, startPreparedServer } from './child.ts';
import { formatTable, type Voice } from './figures.ts';
import { DATE, HOURS, prepareDay, VESSEL } from './prepared-day.ts';
import type { Fleet, FleetLoad } from './workers.ts';
import { runFleet } from './workers.ts';

const LATENCY_MS = 400;
const LATENCY_DAYS = 160;
const LATENCY_READINGS = 2_000;
const CPU_READINGS = 2_000_000;
const CPU_DAYS = 8;

/** Measure both, and print a table each. */
export async function measureScaling(dir: string, signal: AbortSignal, voice: Voice): Promise<void> {
  await measureLatency(dir, signal, voice);
  if (spawnSync('taskset', ['--version']).status === 0 && cpus().length > 1)
    await measureCores(dir, signal, voice);
  else voice.say('\nnot measured: workers on one core and on two, which takes two cores and taskset');
}

async function measureLatency(dir: string, signal: AbortSignal, voice: Voice): Promise<void> {
  const fleet = { vessels: 1, readingsPerDay: LATENCY_READINGS, latencyMs: LATENCY_MS };
  await using server = await startMadeUpServer(fleet);
  const dates = Array.from({ length: LATENCY_DAYS }, (_, n) => addDays(DATE, -n));
  const load = { server, days: dates.map((date) => ({ job: 'measurements', vessel: VESSEL, date })) };
  const cases: Fleet[] = [
    { name: '1 worker, cap 4', workers: [{}], concurrencyLimit: 4, vesselDaysAtOnce: 6 },
    { name: '2 workers, cap 8', workers: [{}, {}], concurrencyLimit: 8, vesselDaysAtOnce: 6 },
  ];
  voice.say(
    `\nlatency is the limit: ${LATENCY_DAYS} vessel-days of ${formatCount(LATENCY_READINGS)} readings, each answer ${LATENCY_MS} ms late\n`,
  );
  voice.say(await compare(load, cases, dir, signal, voice));
}

async function measureCores(dir: string, signal: AbortSignal, voice: Voice): Promise<void> {
  const dayDir = join(dir, 'cores-day');
  mkdirSync(dayDir);
  voice.progress(`preparing an hour of ${formatCount(CPU_READINGS)} readings a day`);
  prepareDay(dayDir, CPU_READINGS, HOURS);
  await using server = await startPreparedServer(dayDir);
  // Prepared is one vessel's one day: so many jobs export it.
  const names = Array.from({ length: CPU_DAYS }, (_, n) => `measurements-${n}`);
  const load = { server, days: names.map((job) => ({ job, vessel: VESSEL, date: DATE })) };
  const cases: Fleet[] = [
    { name: '1 worker on 1 core', workers: [{ cores: '0' }], concurrencyLimit: 8, vesselDaysAtOnce: 4 },
    { name: '1 worker on 2 cores', workers: [{ cores: '0,1' }], concurrencyLimit: 8, vesselDaysAtOnce: 4 },
    {
      name: '2 workers on 1 core each',
      workers: [{ cores: '0' }, { cores: '1' }],
      concurrencyLimit: 8,
      vesselDaysAtOnce: 4,
    },
  ];
  const beside = cpus().length === 2 ? ', whose server and Redis share the same two cores' : '';
  voice.say(
    `\nthe processor is the limit: ${CPU_DAYS} vessel-days of ${formatCount(CPU_READINGS)} readings${beside}\n`,
  );
  voice.say(await compare(load, cases, dir, signal, voice));
}

async function compare(
  load: FleetLoad,
  cases: readonly Fleet[],
  dir: string,
  signal: AbortSignal,
  voice: Voice,
): Promise<string> {
  const table = [['', 'wall s', 'vessel-days/min', 'readings/s', 'times the first', 'CPU s of threads']];
  let first: number | undefined;
  for (const one of cases) {
    const { seconds, rows, threadSeconds } = await runFleet(load, one, join(dir, 'scaling'), signal);
    first ??= seconds;
    table.push([
      one.name,
      seconds.toFixed(1),
      ((60 * load.days.length) / seconds).toFixed(0),
      formatCount(Math.round(rows / seconds)),
      (first / seconds).toFixed(2),
      sharesOf(threadSeconds),
    ]);
    voice.progress(table.at(-1)!.join('  '));
  }
  return formatTable(table);
}

/** Threads that matter, the busiest first: `main 7.1, encode 2.4`. */
function sharesOf(threadSeconds: ReadonlyMap<string, number>): string {
  return [...threadSeconds]
    .filter(([, seconds]) => seconds >= 0.05)
    .sort(([, a], [, b]) => b - a)
    .map(([name, seconds]) => `${name} ${seconds.toFixed(1)}`)
    .join(', ');
}
