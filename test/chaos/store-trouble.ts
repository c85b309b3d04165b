/** What the store does to single vessel-days and writes while there is chaos. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { claimKey } from '../../src/lake/keys.ts';
import type { FleetBench } from '../integration/fleet-bench.ts';
import { JOB } from '../integration/fleet-bench.ts';
import type { FaultProxy, SeenRequest } from '../store/fault-proxy.ts';

const isWrite = ({ method }: SeenRequest) => method === 'PUT' || method === 'POST' || method === 'DELETE';

/** The next writes reach the bucket so much later than their sender was cut off. */
export function delayWrites(line: FaultProxy, writes: number, lateMs: number): void {
  // Not all in a row, so that the sender gets some through and goes on.
  let seen = 0;
  const matches = (request: SeenRequest) => isWrite(request) && seen++ % 3 === 0;
  line.script(matches, ...Array.from({ length: writes }, () => ({ kind: 'late', afterMs: lateMs }) as const));
}

/** Folders of claims, and how many requests under each were refused. */
const forbidden = new WeakMap<FaultProxy, Map<string, number>>();

/**
 * The store refuses one vessel-day: 403 for every key of it in a bucket; in a folder, where root may do anything, a
 * file stands in the place of the folder of its claims. The answer ends it.
 */
export async function poisonDay(
  { line, lakeDir }: FleetBench,
  { vessel, date }: { readonly vessel: string; readonly date: string },
): Promise<() => Promise<void>> {
  const claims = dirname(claimKey({ job: JOB, vessel, date }, 1));
  if (line === undefined) {
    const path = join(lakeDir, claims);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, 'poison');
    return () => rm(path);
  }
  const days = forbidden.get(line) ?? new Map<string, number>();
  forbidden.set(line, days.set(claims, 0));
  line.always = ({ url }) => {
    const path = decodeURIComponent(url);
    const poisoned = [...days].find(([day]) => path.includes(day));
    if (poisoned === undefined) return undefined;
    days.set(poisoned[0], poisoned[1] + 1);
    return ACCESS_DENIED;
  };
  return async () => {
    if (days.get(claims) === 0)
      throw new Error(`nobody asked for anything under ${claims}: it was no poison`);
    days.delete(claims);
  };
}

const ACCESS_DENIED = {
  kind: 'answer',
  status: 403,
  body: '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>',
} as const;
