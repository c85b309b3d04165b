/**
 * Preloaded into each measured process (`--import`), and nowhere else: tells on descriptor 3, at its exit, what it used, as a
 * Usage of child.ts. Plain JavaScript: Node's reader of TypeScript would take 18 MB and 40 ms of every process that is measured.
 */
import { readFileSync, writeSync } from 'node:fs';

const USAGE_FD = 3;

process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const usage = {
    cpuMs: (userCPUTime + systemCPUTime) / 1000,
    peakRssBytes: (highWaterKibibytes() ?? maxRSS) * 1024,
  };
  writeSync(USAGE_FD, JSON.stringify(usage));
});

/** Linux counts into `maxRSS` what the parent held when it forked; VmHWM is of this process alone. */
function highWaterKibibytes() {
  try {
    const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
    return line === null ? undefined : Number(line[1]);
  } catch {
    return undefined;
  }
}
