/** A service, lakes, and export processes that can be made to die: what the crash tests work with. */

import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Receipt, VesselDay } from '../../src/core/model/index.ts';
import { systemClock } from '../../src/core/model/index.ts';
import { objectKey, receiptKey } from '../../src/lake/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { startFaultyService } from '../helpers/faulty-service/faulty-service.ts';
import { startProgram } from '../helpers/run.ts';
import { replayTable } from '../helpers/table.ts';
import { newMemoryFolder } from '../helpers/temp.ts';
import type { CrashPlan } from './child.ts';

export const VESSEL = 'IMO9321483';
export const DATE = '2026-01-05';
export const DAY: VesselDay = { job: 'measurements', vessel: VESSEL, date: DATE };
const JOB = 'dataset: measurements\nvessels: [IMO9321483]\nselect: ["flat/{vessel}/*"]\n';

/** One lake: where it is, and how to look into it. */
export interface CrashLake {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly store: ObjectStore;
}

export interface ExportEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

export interface RunningExport {
  readonly process: ChildProcess;
  readonly ended: Promise<ExportEnd>;
}

export type CrashBench = Awaited<ReturnType<typeof openCrashBench>>;

/** Start a service of so many readings a day. Sizes are small unless a plan says otherwise. */
export async function openCrashBench(
  readingsPerDay: number,
  sizes: Pick<CrashPlan, 'rowGroupRows' | 'partBytes' | 'sliceTargetRows'>,
) {
  const folder = await newMemoryFolder();
  const jobsDir = join(folder.path, 'jobs');
  mkdirSync(jobsDir);
  writeFileSync(join(jobsDir, 'measurements.yaml'), JOB);
  const service = await startFaultyService({
    host: '127.0.0.1',
    port: 0,
    tenant: 'crash',
    data: { seed: 7, vessels: 1, readingsPerDay },
    tokenTtlSeconds: 3_600,
    clock: systemClock,
  });
  const stores: ObjectStore[] = [];
  let lakes = 0;
  const lakeAt = async (url: string, env: Readonly<Record<string, string>>): Promise<CrashLake> => {
    const store = await openStore(url, { ...process.env, ...env });
    stores.push(store);
    return { url, env, store };
  };
  const start = (lake: CrashLake, plan: Partial<CrashPlan> = {}): RunningExport => {
    const full: CrashPlan = {
      ...sizes,
      jobs: ['measurements'],
      from: DATE,
      to: '2026-01-06',
      vessel: VESSEL,
      ...plan,
    };
    return startChild({
      ...COMPILE_CACHE,
      ...lake.env,
      QUERY_BASE_URL: service.baseUrl,
      QUERY_AUTH_URL: service.authUrl,
      QUERY_CLIENT_ID: service.clientId,
      QUERY_CLIENT_SECRET: service.clientSecret,
      LAKE_URL: lake.url,
      JOBS_DIR: jobsDir,
      LOG_LEVEL: 'info',
      CRASH_PLAN: JSON.stringify(full),
    });
  };
  return {
    service,
    /** A lake elsewhere, for instance in a bucket. */
    lakeAt,
    /** A new empty local lake. */
    localLake: (layout = 'plain') =>
      lakeAt(pathToFileURL(join(folder.path, `lake-${lakes++}`)).href, { LAKE_LAYOUT: layout }),
    /** Begin an export process on a lake. */
    start,
    /** Run one to its end. */
    run: (lake: CrashLake, plan?: Partial<CrashPlan>) => start(lake, plan).ended,
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store.close();
      await service.close();
      await folder.remove();
    },
  };
}

function startChild(env: Readonly<Record<string, string>>): RunningExport {
  const { process: child, ended } = startProgram(
    [process.execPath, join(import.meta.dirname, 'child.ts')],
    env,
  );
  const end = ended.then(({ code, signal, stdout, stderr }) => ({ code, signal, output: stdout + stderr }));
  return { process: child, ended: end };
}

/** Bytes of the published day as a reader finds it, or undefined. */
export async function publishedBytes({ store, env }: CrashLake): Promise<Uint8Array | undefined> {
  if (env.LAKE_LAYOUT !== 'delta') return (await store.get(objectKey(DAY)))?.bytes;
  const { view } = await replayTable(store, DAY.job);
  const [file] = view.get(`vessel=${VESSEL}/date=${DATE}`) ?? [];
  return file && (await store.get(`${DAY.job}/${file.path}`))!.bytes;
}

export async function receiptOf(lake: CrashLake): Promise<Receipt | undefined> {
  const object = await lake.store.get(receiptKey(DAY));
  return object === undefined ? undefined : JSON.parse(Buffer.from(object.bytes).toString());
}

/** Claims, notes and open uploads: empty when nothing was left behind. */
export async function leftovers(lake: CrashLake): Promise<string[]> {
  const found: string[] = [];
  for (const prefix of ['_checkpoints/', '_notes/']) {
    for await (const { key } of lake.store.list(prefix)) found.push(key);
  }
  for await (const { key } of lake.store.listUploads('')) found.push(`upload of ${key}`);
  return found;
}

/** State of a process in /proc: `T` while it is stopped. */
export async function stateOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return /\) (\w)/.exec(stat)?.[1];
}
