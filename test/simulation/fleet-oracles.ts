/** 6, 7: what status says and people are told of a fleet, and whether all that is due is published. */
import { hostname } from 'node:os';
import { stateOf } from '../../src/audit/status/cells.ts';
import { readJobStatus } from '../../src/audit/status/job-status.ts';
import {
  addDays,
  datesBetween,
  formatVesselDay,
  microsToDate,
  silentLog,
} from '../../src/core/model/index.ts';
import { isDue } from '../../src/core/plan/due.ts';
import { type Backfill, listBackfills } from '../../src/lake/backfills.ts';
import { BACKFILL_FROM, SINCE } from './fleet-history.ts';
import { type FleetWorld, fleetJob } from './fleet-world.ts';
import { OracleError, type Oracles } from './oracles.ts';
import { JOB } from './process.ts';
import { BEGIN_MS } from './scheduler.ts';

const HOUR_MS = 3_600_000;

/** A job's schedule fires in it, and its look-back. */
export const CALM_MS = 4 * HOUR_MS;

/** At a moment at which nobody moves: what readers see, what status says, what people were told. */
export function createLook(world: FleetWorld, oracles: Oracles): () => Promise<void> {
  let taken = 0;
  return async () => {
    for (; taken < world.changes.length; taken++) await oracles.take(world.changes[taken]!);
    world.notices.expectOnce();
    const { cells } = await statusOf(world);
    const unsaid = troublesLast(world);
    for (const { day, state, rows } of cells) {
      const name = `${day.vessel} ${day.date}`;
      const { lines } = await oracles.contentOf(name);
      const isSaid = state === 'published' || state === 'empty';
      if (isSaid && !oracles.receipts.has(name)) throw new OracleError(`6: status says ${state} of ${name}`);
      if (isSaid && unsaid.has(name))
        throw new OracleError(`6: status says ${state} of ${name}, which was ${unsaid.get(name)} since`);
      if (isSaid && rows !== lines.length)
        throw new OracleError(
          `6: status says that ${name} has ${rows} rows, and ${lines.length} can be read`,
        );
      const isFailed = world.redis.isFailed(formatVesselDay(day));
      if (isFailed && state === 'missing' && stateOf({ state }, { queued: 'failed' }).state !== 'failed')
        throw new OracleError(`6: the page says ${state} of ${name}, which has failed`);
    }
  };
}

/** Days of which a note tells that somebody had in mind after the last receipt was there, whatever the clocks said. */
function troublesLast({ changes, readClocks }: FleetWorld): Map<string, string> {
  const troubles = new Map<string, string>();
  const publishedMs = new Map<string, number>();
  for (const { key, bytes, atMs } of changes) {
    const [, kind, date, vessel] = /^_(notes|ledger)\/m\/date=([\d-]+)\/vessel=(\w+)\.json$/.exec(key) ?? [];
    if (kind === undefined) continue;
    const day = `${vessel} ${date}`;
    const note = kind === 'notes' && bytes !== undefined && JSON.parse(Buffer.from(bytes).toString());
    if (kind === 'ledger') publishedMs.set(day, atMs);
    if (note && (readClocks.get(Date.parse(note.at)) ?? 0) > (publishedMs.get(day) ?? 0))
      troubles.set(day, note.state);
    else troubles.delete(day);
  }
  return troubles;
}

export async function statusOf({ disk, scheduler, history }: FleetWorld) {
  const nowMs = BEGIN_MS + scheduler.nowMs;
  const clock = { nowMs: () => nowMs, monotonicMs: () => scheduler.nowMs, sleep: async () => {} };
  const ports = {
    store: disk,
    clock,
    log: silentLog,
    self: { host: hostname(), pid: 1 },
    apiVersion: '2026-09-10',
  };
  const [from, to] = [BACKFILL_FROM, addDays(microsToDate(nowMs * 1_000), 1)];
  const job = fleetJob(history.vessels, 0);
  const status = await readJobStatus(ports as never, job, { from, to, vessels: history.vessels });
  return { cells: [...status.cells] };
}

/** `<vessel> <date>` of those that the job asks for by itself. */
export function dueDays({ history, scheduler, source }: FleetWorld, sinceMs = 0): string[] {
  const nowMs = BEGIN_MS + scheduler.nowMs - sinceMs;
  const job = { name: JOB, dataset: 'measurements', schedule: { settleMs: 6 * HOUR_MS } } as never;
  const answered = history.vessels.filter((vessel) =>
    source.series.some((one) => one.vessel === vessel && one.isThere),
  );
  return history.dates
    .filter((date) => date >= SINCE && isDue(job, date, nowMs))
    .flatMap((date) => answered.map((vessel) => `${vessel} ${date}`));
}

/** Those of a backfill. */
function backfillDays({ history, source }: FleetWorld, { vessels, from, to }: Backfill): string[] {
  const isThere = (vessel: string) => source.series.some((one) => one.vessel === vessel && one.isThere);
  return (vessels.length > 0 ? vessels : history.vessels)
    .filter(isThere)
    .flatMap((vessel) => datesBetween(from, to).map((date) => `${vessel} ${date}`));
}

export function expectPublished(
  world: FleetWorld,
  oracles: Oracles,
  isMeant: (vessel: string) => boolean,
  why: string,
): void {
  for (const day of dueDays(world, CALM_MS))
    if (isMeant(day.split(' ')[0]!) && !oracles.receipts.has(day) && !isWaiting(world, day))
      throw new OracleError(`7: ${day} is not published, ${why}`);
}

/** It was refused, or waits for series: somebody has to say that it is right. */
function isWaiting({ changes }: FleetWorld, day: string): boolean {
  const [vessel, date] = day.split(' ');
  const note = changes.findLast(({ key }) => key === `_notes/${JOB}/date=${date}/vessel=${vessel}.json`);
  return (
    note?.bytes !== undefined &&
    ['refused', 'waiting'].includes(JSON.parse(Buffer.from(note.bytes).toString()).state)
  );
}

/** 6: days that have failed for good for two hours now, and nobody was told. */
export async function expectTold(world: FleetWorld, days: readonly string[]): Promise<void> {
  const told = new Set([...world.notices.open.values()].flatMap((members) => [...members]));
  for (const day of days) {
    const [vessel, date] = day.split(' ');
    if (!told.has(`${JOB}/${vessel}/${date}`) && !told.has(date!))
      throw new OracleError(`6: nobody was told that ${day} is not published`);
  }
}

export async function expectAllWell(
  world: FleetWorld,
  oracles: Oracles,
  backfills: readonly { readonly id: string }[],
): Promise<void> {
  const { source, notices, redis } = world;
  for (const day of dueDays(world, CALM_MS)) {
    if (!oracles.receipts.has(day)) throw new OracleError(`7: ${day} is not published in the end`);
    const [vessel, date] = day.split(' ') as [string, string];
    const [lake, truth] = [await oracles.contentOf(day), source.truths(vessel, date).at(-1)!];
    // Counts are what is compared: what came and went in one series is the same number.
    if (lake.lines.length !== truth.lines.length)
      throw new OracleError(`7: ${day} has ${lake.lines.length} readings, the source ${truth.lines.length}`);
  }
  for (const backfill of world.asked)
    for (const day of backfillDays(world, backfill))
      if (!oracles.receipts.has(day)) throw new OracleError(`7: ${day} of a backfill is not published`);
  const left = (await listBackfills(world.disk)).filter(({ id }) => backfills.some((one) => one.id === id));
  if (left.length > 0) throw new OracleError(`7: backfill ${left[0]!.id} does not end`);
  const answered = new Set(dueDays(world).map((day) => day.split(' ')[0]));
  for (const state of ['waiting', 'prioritized', 'delayed', 'active', 'failed'] as const)
    for (const id of redis.idsIn(state))
      if (answered.has(id.split('/')[1])) throw new OracleError(`7: ${id} is ${state} in the end`);
  if (answered.size < world.history.vessels.length) return;
  for (const [kind, members] of notices.open)
    throw new OracleError(`6: nobody was told that ${kind} of ${[...members]} is over`);
}
