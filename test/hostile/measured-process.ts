/** A child process whose memory, work and open handles are read from /proc, where there is one. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** How long the threads of a process, this one too, have waited for a processor, in milliseconds; 0 where nobody can know. */
export function starvedMs(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const waitedNs = threads.map(
      (id) => readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[1],
    );
    return waitedNs.reduce((sum, ns) => sum + Number(ns), 0) / 1e6;
  } catch {
    return 0;
  }
}

/** Milliseconds of one tick in /proc/PID/stat: Linux tells user programs 100 a second on every machine. */
const TICK_MS = 10;

export interface Measured {
  readonly child: ChildProcess;
  isAlive(): boolean;
  /** Most resident memory since the last `forgetPeak`, in bytes; 0 where nobody can know. */
  peakBytes(): number;
  /** Begin the peak anew, where the kernel lets us; else it is that of the whole life. */
  forgetPeak(): void;
  residentBytes(): number;
  /** Time that the process has computed, in milliseconds: a loaded machine adds nothing to it. */
  cpuMs(): number;
  openHandles(): number;
  /** SIGTERM, and SIGKILL for who has not ended `graceMs` later. Resolves when it has ended. */
  end(graceMs?: number): Promise<void>;
}

export function measure(child: ChildProcess): Measured {
  const folder = `/proc/${child.pid}`;
  const read = (name: string): string => {
    try {
      return readFileSync(`${folder}/${name}`, 'utf8');
    } catch {
      return '';
    }
  };
  const kibibytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(read('status'))?.[1] ?? 0) * 1024;
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  return {
    child,
    isAlive,
    peakBytes: () => kibibytes('VmHWM'),
    residentBytes: () => kibibytes('VmRSS'),
    forgetPeak() {
      try {
        writeFileSync(`${folder}/clear_refs`, '5');
      } catch {
        // The peak stays that of the whole life, which is stricter.
      }
    },
    cpuMs() {
      // The name of the program, in brackets, may hold spaces.
      const [, rest = ''] = read('stat').split(') ');
      const fields = rest.split(' ');
      return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS;
    },
    openHandles() {
      try {
        return readdirSync(`${folder}/fd`).length;
      } catch {
        return 0;
      }
    },
    async end(graceMs = 10_000) {
      if (!isAlive()) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

const BIN = resolve(import.meta.dirname, '../../src/bin.js');
/** A log that grows without end must not take this process down: its last part is kept. */
const MAX_LOG_CHARS = 4 * 1024 * 1024;

/**
 * Starts a command that serves, as a user does; resolves with what `open` makes of it once it listens: `said` is what it wrote
 * to stdout. Whatever ends this process ends it too.
 */
export async function startCommand<T>(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  open: (process: Measured, said: string, log: () => string) => Promise<T>,
): Promise<T> {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    log = (log + more).slice(-MAX_LOG_CHARS);
  });
  const [said] = (await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${args[0]} did not start: ${log}`))),
  ])) as [Buffer];
  const measured = measure(child);
  try {
    return await open(measured, said.toString('utf8').trim(), () => log);
  } catch (error) {
    await measured.end(0);
    throw error;
  }
}
