/** Child processes of the bench: the measured ones, and servers that end with this process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

/** What a process used, all its threads together. */
export interface Usage {
  /** User and system. */
  readonly cpuMs: number;
  readonly peakRssBytes: number;
}

export interface ChildRun extends Usage {
  /** From the start of the process to its end. */
  readonly wallMs: number;
  readonly stdout: string;
}

/** Where usage.js writes; importing it would make this process tell too. */
const USAGE_FD = 3;
const USAGE_MODULE = new URL('usage.js', import.meta.url).href;

/** Run a script of Node's to its end and measure it. Throws when it fails, with what it said, or is stopped. */
export async function measureScript(
  script: URL,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ChildRun> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, ['--import', USAGE_MODULE, script.pathname, ...args], {
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    signal,
  });
  // An abort is an error too, but only when the child is gone may its files be removed.
  child.on('error', () => {});
  const [stdout, stderr, usage, [code, killedBy]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    text(child.stdio[USAGE_FD] as Readable),
    new Promise<unknown[]>((closed) => child.once('close', (...how) => closed(how))),
  ]);
  const wallMs = performance.now() - startedMs;
  signal.throwIfAborted();
  if (code !== 0)
    throw new Error(`${script.pathname} ${args.join(' ')}: exit ${code ?? killedBy}\n${stdout}${stderr}`);
  return { ...(JSON.parse(usage) as Usage), wallMs, stdout };
}

/** A server of the query API, in a process of its own. */
export interface BenchServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Serves the bytes of a folder that `prepareDay` has filled. */
export const startPreparedServer = (dir: string) => startServer('prepared-server.ts', [dir]);

export interface MadeUpFleet {
  readonly vessels: number;
  readonly readingsPerDay: number;
  readonly latencyMs: number;
}

/** Our own query service. */
export const startMadeUpServer = ({ vessels, readingsPerDay, latencyMs }: MadeUpFleet) =>
  startServer('made-up-server.ts', [vessels, readingsPerDay, latencyMs].map(String));

/** Start a script and wait until it listens. It ends with this process too, however that ends. */
export async function startServer(name: string, args: readonly string[]): Promise<BenchServer> {
  const script = new URL(name, import.meta.url);
  const child = spawn(process.execPath, [script.pathname, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const [line] = await Promise.race([
    once(child.stdout, 'data'),
    ended.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`))),
  ]);
  return {
    ...(JSON.parse(String(line)) as Omit<BenchServer, keyof AsyncDisposable>),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}
