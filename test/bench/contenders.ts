/** The rows of the table: what each one runs, and in which file its rows end. */

import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { addDays } from '../../src/core/model/index.ts';
import { objectKey } from '../../src/lake/keys.ts';
import { type BenchServer, type ChildRun, measureScript, type Usage } from './child.ts';
import { DATE, type PreparedDay, VESSEL } from './prepared-day.ts';

export interface Measurement extends Usage {
  readonly wallMs: number;
  readonly bytesOut: number | undefined;
}

export interface Contender {
  readonly name: string;
  /** Run once, in a process of its own. */
  run(signal: AbortSignal): Promise<Measurement>;
  /** The Parquet file that the last run wrote; undefined where only a part of the way is measured. */
  readonly file?: string;
}

export interface Contenders {
  readonly receive: Contender;
  readonly parse: Contender;
  readonly encode: Contender;
  readonly ours: Contender;
  readonly duckdbSorted1: Contender;
  readonly duckdbSorted2: Contender;
  readonly duckdbUnsorted1: Contender;
  readonly duckdbUnsorted2: Contender;
  readonly naive: Contender;
  readonly receiveFromService: Contender;
  readonly oursFromService: Contender;
}

/** Who answers: prepared bytes, or our own query service with as many readings of a made-up vessel. */
export interface Servers {
  readonly prepared: BenchServer;
  readonly madeUp: BenchServer;
}

/** Everything that is measured, on one prepared day; files go to `outDir`. */
export function createContenders(day: PreparedDay, servers: Servers, outDir: string): Contenders {
  const { prepared, madeUp } = servers;
  return {
    receive: scripted('receiving the bytes, no more', 'receive.ts', [], queryEnv(prepared)),
    parse: scripted('our decoder alone, from the file', 'parse.ts', [day.dir]),
    encode: scripted('our sorting and encoding alone', 'encode.ts', [day.dir]),
    ours: exporter('ours, end to end', prepared, join(outDir, 'lake')),
    duckdbSorted1: duckdb(day, outDir, 1, 'sorted'),
    duckdbSorted2: duckdb(day, outDir, 2, 'sorted'),
    duckdbUnsorted1: duckdb(day, outDir, 1, 'unsorted'),
    duckdbUnsorted2: duckdb(day, outDir, 2, 'unsorted'),
    naive: writer('readline, JSON.parse, parquet-wasm', 'naive.ts', [day.dir], join(outDir, 'naive.parquet')),
    receiveFromService: scripted('receiving from our own service', 'receive.ts', [], queryEnv(madeUp)),
    oursFromService: exporter('ours, from our own service', madeUp, join(outDir, 'made-up-lake')),
  };
}

/** What a script prints: of itself where it measures only a part of its own time. */
interface Printed {
  readonly wallMs?: number;
  readonly cpuMs?: number;
  readonly bytesOut?: number;
}

async function measurePrinting(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Measurement> {
  const run = await measureScript(new URL(script, import.meta.url), args, env, signal);
  const printed: Printed = JSON.parse(run.stdout);
  const { wallMs, cpuMs, peakRssBytes } = { ...run, ...printed };
  return { wallMs, cpuMs, peakRssBytes, bytesOut: printed.bytesOut };
}

function scripted(name: string, script: string, args: readonly string[], env = {}): Contender {
  return { name, run: (signal) => measurePrinting(script, args, env, signal) };
}

function writer(name: string, script: string, args: readonly string[], file: string): Contender {
  return {
    name,
    file,
    run: async (signal) => {
      await rm(file, { force: true });
      return measurePrinting(script, [...args.slice(0, 1), file, ...args.slice(1)], {}, signal);
    },
  };
}

function duckdb(day: PreparedDay, outDir: string, threads: 1 | 2, order: 'sorted' | 'unsorted'): Contender {
  const name = `DuckDB, ${threads} ${threads === 1 ? 'thread' : 'threads'}, ${order}`;
  const file = join(outDir, `duckdb-${threads}-${order}.parquet`);
  return writer(name, 'duckdb.ts', [day.dir, String(threads), order], file);
}

/** Where a process finds a server. */
export function queryEnv({ baseUrl, authUrl, clientId, clientSecret }: BenchServer): Record<string, string> {
  return {
    QUERY_BASE_URL: baseUrl,
    QUERY_AUTH_URL: authUrl,
    QUERY_CLIENT_ID: clientId,
    QUERY_CLIENT_SECRET: clientSecret,
  };
}

/** All readings of the one vessel, or another job; into a folder that it makes. */
export async function writeJob(jobsDir: string, text = JOB, name = 'measurements'): Promise<void> {
  await mkdir(jobsDir, { recursive: true });
  await writeFile(join(jobsDir, `${name}.yaml`), text);
}
const JOB = `dataset: measurements\nvessels: [${VESSEL}]\nselect: ["flat/{vessel}/*"]\n`;

/** Where `vessel-export` finds the server, its job and the lake. */
export async function exportEnv(
  server: BenchServer,
  lakeUrl: string,
  jobsDir: string,
): Promise<Record<string, string>> {
  await writeJob(jobsDir);
  return { ...queryEnv(server), LAKE_URL: lakeUrl, JOBS_DIR: jobsDir };
}

/** `vessel-export run` of the prepared day, as a user starts it. */
export function measureExport(env: Record<string, string>, signal: AbortSignal): Promise<ChildRun> {
  const args = ['run', 'measurements', '--from', DATE, '--to', addDays(DATE, 1), '--json'];
  return measureScript(new URL('../../src/bin.js', import.meta.url), args, env, signal);
}

/** The day's object in a lake. */
export const DAY_KEY = objectKey({ job: 'measurements', vessel: VESSEL, date: DATE });

function exporter(name: string, server: BenchServer, lakeDir: string): Contender {
  const file = join(lakeDir, DAY_KEY);
  return {
    name,
    file,
    run: async (signal) => {
      await rm(lakeDir, { recursive: true, force: true });
      const env = await exportEnv(server, pathToFileURL(lakeDir).href, `${lakeDir}-jobs`);
      const { wallMs, cpuMs, peakRssBytes } = await measureExport(env, signal);
      return { wallMs, cpuMs, peakRssBytes, bytesOut: (await stat(file)).size };
    },
  };
}
