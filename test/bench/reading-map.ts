/** The page's map of the made-up ledger, asked three times of `vessel-export web`, each when the answer before counts no more. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

export interface MapLook {
  readonly cells: number;
  /** Of the answer. */
  readonly gzipBytes: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Longest time that another request took meanwhile. */
  readonly longestMs: number;
  /** Of the whole process, from its start on. */
  readonly peakRssBytes: number;
}

const CLI = new URL('../../src/bin.js', import.meta.url).pathname;
const LOOKS = 3;
/** An answer counts for so long, or for ten times as long as it took. */
const MIN_KEPT_MS = 10_000;
const KEPT_TIMES = 10;
const PAUSE_MS = 20;
/** The kernel counts processor time in hundredths of a second; less counts as one. */
const TICK_MS = 10;

/** `env`: where the lake and the job are. The process has ended when this resolves. */
export async function lookAtMap(
  env: Readonly<Record<string, string>>,
  { from, to }: { readonly from: string; readonly to: string },
  signal: AbortSignal,
): Promise<MapLook[]> {
  const child = spawn(process.execPath, [CLI, 'web', '--port', '0'], {
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  child.on('error', () => {});
  const ended = once(child, 'close');
  try {
    const died = ended.then(([code]) => Promise.reject(new Error(`web ended with ${code}`)));
    const [line] = await Promise.race([once(child.stdout, 'data'), died]);
    const address = String(line).trim();
    const looks: MapLook[] = [];
    for (;;) {
      const look = await lookOnce(address, child.pid!, `from=${from}&to=${to}`);
      looks.push(look);
      if (looks.length === LOOKS) return looks;
      await sleep(Math.max(MIN_KEPT_MS, KEPT_TIMES * look.wallMs) + 100, undefined, { signal });
    }
  } finally {
    child.kill();
    await ended;
  }
}

async function lookOnce(address: string, pid: number, range: string): Promise<MapLook> {
  const [startedMs, before] = [performance.now(), usageOf(pid)];
  const asked = fetch(new URL(`api/jobs/measurements/coverage?${range}`, address)).then(async (answer) => {
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`got ${answer.status}: ${text.slice(0, 1_000)}`);
    return { text, wallMs: performance.now() - startedMs };
  });
  const [{ text, wallMs }, longestMs] = await Promise.all([asked, longestMeanwhile(address, asked)]);
  const after = usageOf(pid);
  return {
    cells: (JSON.parse(text) as { readonly cells: string }).cells.length,
    gzipBytes: gzipSync(text).byteLength,
    ...{
      cpuMs: Math.max(TICK_MS, after.cpuMs - before.cpuMs),
      wallMs,
      longestMs,
      peakRssBytes: after.peakRssBytes,
    },
  };
}

async function longestMeanwhile(address: string, asked: Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  void asked.then(over, over);
  let longestMs = 0;
  while (!isOver) {
    const startedMs = performance.now();
    await (await fetch(new URL('health', address))).text();
    longestMs = Math.max(longestMs, performance.now() - startedMs);
    await sleep(PAUSE_MS);
  }
  return longestMs;
}

/** Of a process of Linux. */
function usageOf(pid: number): { readonly cpuMs: number; readonly peakRssBytes: number } {
  const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!;
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return { cpuMs: (Number(user) + Number(system)) * TICK_MS, peakRssBytes: Number(peak[1]) * 1_024 };
}
