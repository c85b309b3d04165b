import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ProcessId } from '../model/index.ts';

/** On Linux the host part names boot and pid name space too: a pid of one container says nothing in another. */
export function thisProcess(): ProcessId {
  return { host: [hostname(), ...linuxNames()].join('/'), pid: process.pid };
}

function linuxNames(): string[] {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8);
    return [boot, readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')];
  } catch {
    return [];
  }
}

/** True only where it is certain: the same host, and no such process. */
export function isKnownDead(owner: ProcessId, self: ProcessId): boolean {
  return owner.host === self.host && !isAlive(owner.pid);
}

/** False only where it is certain that no process of this host and name space has this id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
