import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, expect, onTestFinished } from 'vitest';
import type { AppOverrides } from '../../src/app.ts';
import type { RunOptions } from '../../src/cli/commands/run.ts';
import { runCommand } from '../../src/cli/commands/run.ts';
import type { VesselDay } from '../../src/core/model/index.ts';
import { addDays, systemClock } from '../../src/core/model/index.ts';
import type { RunningService } from '../../src/service/options.ts';
import type { CommandRun, JobFile } from './command-run.ts';
import { commandRun, createScreen, exportEnv, OTHER_VESSEL, VESSEL, writeJobs } from './command-run.ts';
import type { FaultPort } from './faulty-service/faults.ts';
import type { FaultyService, FaultyServiceOptions } from './faulty-service/faulty-service.ts';
import { startFaultyService } from './faulty-service/faulty-service.ts';
import { lakeFiles } from './lake.ts';
import { newMemoryFolder } from './temp.ts';

/** A date on which every made-up vessel sends readings. */
export const DATE = '2026-01-05';

export { exportEnv, type JobFile, OTHER_VESSEL, VESSEL, writeJobs };

export type TestServiceOptions = Partial<Omit<FaultyServiceOptions, 'data' | 'faults'>> & {
  readonly seed?: number;
  readonly vessels?: number;
  readonly readingsPerDay?: number;
};

/** A running service whose faults can be changed while it runs. */
export interface TestService extends FaultyService {
  /** What goes wrong from now on; undefined: nothing. */
  faults: FaultPort | undefined;
}

/** A service on a free port with a small fleet. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const { seed = 1, vessels = 1, readingsPerDay = 3_000, ...rest } = options;
  let faults: FaultPort | undefined;
  const service = await startFaultyService({
    host: '127.0.0.1',
    port: 0,
    tenant: 'fleet',
    data: { seed, vessels, readingsPerDay },
    tokenTtlSeconds: 3_600,
    clock: systemClock,
    ...rest,
    faults: (request) => faults?.(request),
  });
  return Object.defineProperty(service, 'faults', {
    get: () => faults,
    set: (port: FaultPort | undefined) => {
      faults = port;
    },
  }) as TestService;
}

/** The service of a test file: each test begins without faults, and it ends with the file. Call it at the top of the file. */
export async function serviceForTests(options: TestServiceOptions = {}): Promise<TestService> {
  const service = await startTestService(options);
  afterEach(() => {
    service.faults = undefined;
  });
  afterAll(() => service.close());
  return service;
}

/** A service of one test, with which it ends. */
export async function serviceOfTest(options: TestServiceOptions = {}): Promise<TestService> {
  const service = await startTestService(options);
  onTestFinished(() => service.close());
  return service;
}

/** A lake in a folder of its own, in memory: nothing in it has to outlast a power cut. */
export interface TestLake extends AsyncDisposable {
  readonly dir: string;
  readonly url: string;
}

export async function newLake(): Promise<TestLake> {
  const { path, remove } = await newMemoryFolder();
  return { dir: path, url: pathToFileURL(path).href, [Symbol.asyncDispose]: remove };
}

/** Every reading of the first vessel. */
export const MEASUREMENTS: JobFile = {
  dataset: 'measurements',
  vessels: [VESSEL],
  select: ['flat/{vessel}/*'],
};

/**
 * Nine of its series, counters and JSON among them, about a seventh of its readings: for tests that make many exports,
 * where the statistics of all series would take most of the time.
 */
export const FEW_SERIES: JobFile = { ...MEASUREMENTS, select: ['flat/{vessel}/S*'] };
export const FEW_EXPRESSIONS: readonly string[] = [`flat/${VESSEL}/S*`];

export interface RunExportOptions {
  /** `clientId` and `clientSecret` may be replaced by wrong ones. */
  readonly service: Pick<RunningService, 'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret'>;
  readonly lakeUrl: string;
  /** Job name → what stands in its YAML file; default: `measurements` of FEW_SERIES. */
  readonly jobs?: Readonly<Record<string, JobFile>>;
  /** Default: the one day DATE. */
  readonly args?: RunOptions & { readonly jobs?: readonly string[] };
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: short client limits, so that faults do not take long, and no encoder thread. */
  readonly overrides?: AppOverrides;
  readonly signal?: AbortSignal;
}

/** A result as `run --json` prints it. */
export interface PrintedResult extends VesselDay {
  readonly state: string;
  readonly exported: boolean;
  readonly rows?: number;
  readonly resumed?: boolean;
  readonly code?: string;
  readonly message?: string;
}

export interface RanExport extends CommandRun {
  readonly results: readonly PrintedResult[];
}

/** Client limits under which every fault is over in a moment. */
export const QUICK_LIMITS: NonNullable<AppOverrides['clientLimits']> = {
  headersTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  retry: { baseDelayMs: 2, maxDelayMs: 20 },
};

/**
 * `vessel-export run --json` in this process, at log level debug. Fails the test when a secret is seen in its
 * output or in any file of a local lake.
 */
export async function runExport(options: RunExportOptions): Promise<RanExport> {
  const { service, lakeUrl, args = {}, overrides = {} } = options;
  const { jobs: jobNames = [], ...runOptions } = args;
  const from = runOptions.from ?? DATE;
  const jobs = options.jobs ?? { measurements: FEW_SERIES };
  const env = { LOG_LEVEL: 'debug', ...options.env };
  const place = { service, lakeUrl, jobs, env, ...(options.signal && { signal: options.signal }) };
  const { code, stdout, stderr, error } = await commandRun(place, (context) =>
    runCommand(
      context,
      jobNames,
      { json: true, ...runOptions, from, to: runOptions.to ?? addDays(from, 1) },
      { clientLimits: QUICK_LIMITS, encoderThreads: 0, ...overrides },
    ),
  );
  await expectNoSecrets(service, lakeUrl, stdout, stderr);
  const results = stdout.startsWith('{') ? JSON.parse(stdout).days : [];
  return { code, stdout, stderr, results, error };
}

/** Like `runExport`, for runs that must succeed: one published day each. */
export async function mustExport(options: RunExportOptions): Promise<RanExport> {
  const ran = await runExport(options);
  expect(ran.results.filter(({ state }) => state === 'failed' || state === 'refused')).toEqual([]);
  expect(ran.error).toBeUndefined();
  expect(ran.code).toBe(0);
  return ran;
}

/** No secret and no token stands in what was printed, nor in any file of the lake. */
async function expectNoSecrets(
  service: RunExportOptions['service'],
  lakeUrl: string,
  stdout: string,
  stderr: string,
): Promise<void> {
  const places: [string, string][] = [
    ['stdout', stdout],
    ['stderr', stderr],
  ];
  if (lakeUrl.startsWith('file:')) {
    for (const [key, bytes] of await lakeFiles(fileURLToPath(lakeUrl)))
      places.push([key, (key.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1')]);
  }
  const { clientId, clientSecret } = service;
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const leaks = places.filter(
    ([, text]) =>
      text.includes(clientSecret) ||
      text.includes(basic) ||
      // The head of any JSON Web Token; a header.
      /eyJ[\w-]{10,}\.|authorization["']?:/i.test(text),
  );
  expect(leaks, 'secrets are shown').toEqual([]);
}

/** A command under way. */
export type RunningCli = ReturnType<typeof startProgram>;

export interface RanCli {
  /** Exit code, or null after a signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

const BIN = resolve(import.meta.dirname, '../../src/bin.js');

/** `vessel-export …` as a child process, with this environment and nothing else but PATH: no `.env` of a developer's. */
export function startCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): RunningCli {
  return startProgram([process.execPath, BIN, ...withoutEnvFile(args)], env, cwd);
}

function withoutEnvFile(args: readonly string[]): readonly string[] {
  return args.includes('--env-file') ? args : ['--no-env-file', ...args];
}

/** A program and its arguments as a child process, with this environment and nothing else but PATH. */
export function startProgram(
  [program, ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
) {
  const child = spawn(program!, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  const text = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (more: string) => {
      text[name] += more;
      for (const watch of watchers) watch();
    });
  }
  const ended = once(child, 'close').then(([code, signal]): RanCli => ({ code, signal, ...text }));
  return {
    process: child,
    get stdout() {
      return text.stdout;
    },
    get stderr() {
      return text.stderr;
    },
    /** Resolves when the output so far matches; rejects when the command ends before it does. */
    until: (stream: 'stdout' | 'stderr', shape: RegExp) =>
      new Promise<void>((done, fail) => {
        const watch = () => {
          if (!shape.test(text[stream])) return;
          watchers.delete(watch);
          done();
        };
        watchers.add(watch);
        watch();
        void ended.then(({ code }) =>
          fail(new Error(`ended with ${code} before ${shape} in ${stream}:\n${text.stdout}\n${text.stderr}`)),
        );
      }),
    /** Resolves when the command has ended. */
    ended,
  };
}

/** `vessel-export …` as a child process, to its end. */
export function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<RanCli> {
  return startCli(args, env, cwd).ended;
}

/** `vessel-export …` in this process: for what a command says and does, where no signal, terminal or library is tried. */
export async function callCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RanCli> {
  const { perform } = await import('../../src/cli/cli.ts');
  const [stdout, stderr] = [createScreen(), createScreen()];
  const { signal } = new AbortController();
  const context = { env: { PATH: process.env.PATH, ...env }, stdout, stderr, signal };
  const code = await perform(context, ['node', 'vessel-export', ...withoutEnvFile(args)]);
  return { code, signal: null, stdout: stdout.text, stderr: stderr.text };
}
