/**
 * The page's map of the made-up ledger, in a process of its own: `reading-map.ts LAKE_URL NOW_MS FROM TO`. Asks three
 * times, each when the answer before counts no more, and prints what each took as JSON: a list of MapLook.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { gzipSync } from 'node:zlib';
import fastify from 'fastify';
import { silentLog } from '../../src/model/index.ts';
import { thisProcess } from '../../src/process/process-id.ts';
import { openStore } from '../../src/store/open-store.ts';
import { registerCoverage } from '../../src/web/coverage.ts';
import type { WebPorts } from '../../src/web/ports.ts';
import { MADE_UP_JOB } from '../helpers/made-up-ledger.ts';
import { createManualClock } from '../helpers/manual-clock.ts';

export interface MapLook {
  readonly cells: number;
  /** Of the answer. */
  readonly gzipBytes: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Longest time in which nobody else in the process had a turn. */
  readonly longestMs: number;
  /** Of the whole process, from its start on. */
  readonly peakRssBytes: number;
}

const LOOKS = 3;
/** Answers count for ten seconds by a clock that stands still while they are made. */
const PAUSE_MS = 60_000;
const DELAY_STEP_MS = 5;

const [url, nowMs, from, to] = process.argv.slice(2);
const clock = createManualClock(Number(nowMs));
const store = await openStore(url!, { PATH: process.env.PATH });
const ports: WebPorts = {
  ...{ store, clock, jobs: [MADE_UP_JOB], layout: 'plain', log: silentLog, self: thisProcess() },
  ...{ apiVersion: '2026-09-10', version: '0.0.0' },
};
const server = fastify();
await server.register(async (api) => registerCoverage(api, ports));
await server.ready();

async function look(): Promise<MapLook> {
  const delay = monitorEventLoopDelay({ resolution: DELAY_STEP_MS });
  delay.enable();
  const [startedMs, before] = [performance.now(), process.cpuUsage()];
  const answer = await server.inject({ url: `/jobs/measurements/coverage?from=${from}&to=${to}` });
  const { user, system } = process.cpuUsage(before);
  const wallMs = performance.now() - startedMs;
  delay.disable();
  if (answer.statusCode !== 200) throw new Error(`got ${answer.statusCode}: ${answer.body.slice(0, 1_000)}`);
  return {
    cells: (answer.json() as { readonly cells: string }).cells.length,
    gzipBytes: gzipSync(answer.rawPayload).byteLength,
    ...{ cpuMs: (user + system) / 1_000, wallMs },
    longestMs: Math.max(0, delay.max / 1e6 - DELAY_STEP_MS),
    peakRssBytes: process.resourceUsage().maxRSS * 1_024,
  };
}

const looks: MapLook[] = [];
for (let at = 0; at < LOOKS; at++) {
  looks.push(await look());
  await clock.advance(PAUSE_MS);
}
await server.close();
await store.close();
process.stdout.write(JSON.stringify(looks));
