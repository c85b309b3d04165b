/** The exporter as a process of its own, run in a folder that it may not leave, against the front. */
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stringify } from 'yaml';
import { COMPILE_CACHE } from '../../helpers/compile-cache.ts';
import type { Target } from '../input.ts';
import type { Measured } from '../measured-process.ts';
import { measure } from '../measured-process.ts';
import type { Command, CommandEnd } from './exporter-child.ts';
import type { Front } from './front.ts';
import { openFront } from './front.ts';

export const VESSEL = 'IMO9321483';
export const DATE = '2026-01-05';
export const NEXT_DATE = '2026-01-06';
/** Resident memory that the exporter must stay below. */
export const MAX_EXPORTER_BYTES = 450 * 1024 * 1024;
/** A process that holds so much is replaced, so that one input's leftovers are not the next one's. */
const RECYCLE_BYTES = 260 * 1024 * 1024;
const CHILD = resolve(import.meta.dirname, 'exporter-child.ts');
/** As `src/bin.js` sets it. */
const EXEC_ARGS = ['--semi-space-growth-factor=1'];

export type JobFile = Readonly<Record<string, unknown>>;
export const READINGS: JobFile = {
  dataset: 'measurements',
  vessels: [VESSEL],
  select: ['flat/{vessel}/S*'],
};

/** A folder with a lake, jobs, temporary files, and a file beside them that nobody may touch. */
export interface Sandbox extends AsyncDisposable {
  readonly path: string;
  readonly lake: string;
  readonly jobs: string;
  readonly temp: string;
  /** Files of the lake that an input has put there. */
  planted?: ReadonlyMap<string, Buffer>;
}

export interface ExporterFace extends AsyncDisposable {
  readonly front: Front;
  readonly target: Target;
  /** Ends the process; the next command starts another. */
  recover(): Promise<void>;
  sandbox(job?: JobFile): Promise<Sandbox>;
  /** A sandbox whose lake holds the day already, exported honestly. */
  publishedSandbox(job?: JobFile): Promise<Sandbox>;
  /** The same with a snapshot of metadata beside it: what `service --data` can serve by name. */
  servedLake(): Promise<string>;
  /** Run a command in a sandbox. */
  run(sandbox: Sandbox, args: readonly string[], env?: Record<string, string>): Promise<CommandEnd>;
  /** SHA-256 of the day's object as an honest service has it exported. */
  honestDigest(job?: JobFile): Promise<string | undefined>;
}

export const RUN_ARGS = ['run', '--from', DATE, '--to', NEXT_DATE];

export async function openExporter(): Promise<ExporterFace> {
  const front = await openFront();
  const root = await mkdtemp(join(tmpdir(), 'vessel-export-hostile-'));
  let child: Measured | undefined;
  let made = 0;
  const honestSandboxes = new Map<string, Promise<Sandbox>>();

  async function started(): Promise<Measured> {
    if (child?.isAlive() === true) {
      if (child.residentBytes() < RECYCLE_BYTES) return child;
      await child.end();
    }
    const forked = fork(CHILD, [], {
      execArgv: EXEC_ARGS,
      env: { PATH: process.env.PATH, ...COMPILE_CACHE },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child = measure(forked);
    await once(forked, 'spawn');
    return child;
  }

  async function run(sandbox: Sandbox, args: readonly string[], more: Record<string, string> = {}) {
    const { child: process } = await started();
    const { clientId, clientSecret } = front.credentials;
    const env = {
      QUERY_BASE_URL: `http://127.0.0.1:${front.port}/fleet`,
      QUERY_AUTH_URL: `http://127.0.0.1:${front.port}/auth`,
      ...{ QUERY_CLIENT_ID: clientId, QUERY_CLIENT_SECRET: clientSecret, LOG_LEVEL: 'debug' },
      ...{ LAKE_URL: pathToFileURL(sandbox.lake).href, JOBS_DIR: sandbox.jobs, TEMP_DIR: sandbox.temp },
      ...{ TMPDIR: sandbox.temp, HOME: sandbox.temp, WORKER_CONCURRENCY: '2', ...more },
    };
    const over = new AbortController();
    const ended = once(process, 'message', { signal: over.signal }) as Promise<[CommandEnd]>;
    const died = once(process, 'exit', { signal: over.signal }).then(([code, signal]) => {
      throw new Error(`the exporter's process ended with ${code ?? signal}`);
    });
    for (const wait of [ended, died]) wait.catch(() => {});
    process.send({ args, env } satisfies Command);
    try {
      const [end] = await Promise.race([ended, died]);
      return end;
    } finally {
      over.abort();
    }
  }

  async function sandbox(job: JobFile = READINGS): Promise<Sandbox> {
    const path = join(root, `s${made++}`);
    const folders = { lake: join(path, 'lake'), jobs: join(path, 'jobs'), temp: join(path, 'temp') };
    for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
    await writeFile(join(path, 'canary'), 'sings');
    await writeFile(join(folders.jobs, 'readings.yaml'), stringify(job));
    return { path, ...folders, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
  }

  /** Exported with nothing in the way; kept, to be copied. */
  async function honest(job: JobFile): Promise<Sandbox> {
    const plan = front.plan;
    front.plan = {};
    const made = await sandbox(job);
    const { code, stderr } = await run(made, RUN_ARGS);
    front.plan = plan;
    if (code !== 0) throw new Error(`the honest export failed: ${stderr.slice(-600)}`);
    return made;
  }

  const kept = (job: JobFile) => {
    const key = JSON.stringify(job);
    const known = honestSandboxes.get(key) ?? honest(job);
    honestSandboxes.set(key, known);
    return known;
  };

  const target: Target = {
    begin: () => child?.forgetPeak(),
    peakBytes: () => child?.peakBytes() ?? 0,
    cpuMs: () => child?.cpuMs() ?? 0,
    async ailment() {
      front.plan = {};
      const peak = child?.peakBytes() ?? 0;
      return peak > MAX_EXPORTER_BYTES ? `the exporter took ${Math.round(peak / 1024 / 1024)} MB` : undefined;
    },
  };
  // Whatever an input waits for, the first one does not pay for what all need.
  await kept(READINGS);
  return {
    ...{ front, target, sandbox, run },
    async recover() {
      await child?.end(0);
    },
    async publishedSandbox(job = READINGS) {
      const from = await kept(job);
      const made = await sandbox(job);
      await cp(from.lake, made.lake, { recursive: true });
      return made;
    },
    async servedLake() {
      const served = await sandbox();
      const names = { ...READINGS, dataset: 'metadata', select: ['flat/{vessel}/*'] };
      await writeFile(join(served.jobs, 'names.yaml'), stringify(names));
      for (const args of [
        ['run', 'readings', ...RUN_ARGS.slice(1)],
        ['run', 'names', '--from', 'today'],
      ]) {
        const { code, stderr } = await run(served, args);
        if (code !== 0) throw new Error(`the lake to serve was not exported: ${stderr.slice(-600)}`);
      }
      return served.lake;
    },
    honestDigest: async (job = READINGS) => digestOf((await kept(job)).lake),
    async [Symbol.asyncDispose]() {
      await child?.end();
      await front[Symbol.asyncDispose]();
      await rm(root, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** SHA-256 of the published object of the day; undefined where there is none. */
export async function digestOf(lake: string): Promise<string | undefined> {
  try {
    const bytes = await readFile(join(lake, `readings/vessel=${VESSEL}/date=${DATE}/data.parquet`));
    return createHash('sha256').update(bytes).digest('hex');
  } catch {
    return undefined;
  }
}

/** Every file below a folder, by its path there. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
