/** Lives the history of a fleet to its end, and asks every oracle. */
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
import { exportJobs } from '../../src/export/run/run-jobs.ts';
import { changeBackfill, releaseFailed, startBackfill } from '../../src/fleet/backfills.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { createNoticeWatch } from '../../src/fleet/notice-watch.ts';
import { withOtherPlace } from '../../src/fleet/notify/notice-store.ts';
import { createTeller } from '../../src/fleet/notify/notices.ts';
import { liftHold } from '../../src/fleet/queue/hold.ts';
import { createScheduler as createFleetScheduler } from '../../src/fleet/scheduler.ts';
import { tryAgain, tryFailedAgain } from '../../src/fleet/try-again.ts';
import { startWork } from '../../src/fleet/work.ts';
import { acceptWarning } from '../../src/lake/accept.ts';
import { type Backfill, listBackfills } from '../../src/lake/backfills.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import type { Config } from '../../src/runtime/config/config.ts';
import type { Doing, FleetHistory } from './fleet-history.ts';
import { BACKFILL_FROM, FAULTY_MS, SINCE } from './fleet-history.ts';
import {
  createFleetWorld,
  type FleetPorts,
  type FleetWorld,
  fleetJob,
  LOOK_MS,
  newLife,
} from './fleet-world.ts';
import type { Lived } from './live.ts';
import { OracleError, Oracles } from './oracles.ts';
import { JOB } from './process.ts';
import { randomOf } from './random.ts';
import { BEGIN_MS, type Life } from './scheduler.ts';
import type { Watching, World } from './world.ts';
import { fromSeed } from './world.ts';

const HOUR_MS = 3_600_000;
const TIMES = {
  worker: { lockMs: 120_000, stalledCheckMs: LOOK_MS },
  hold: { pollMs: LOOK_MS, probeMs: [60_000, LOOK_MS] as const },
};

export async function liveFleet(history: FleetHistory, { isTold = false }: Watching = {}): Promise<Lived> {
  const { random } = Math;
  const draw = randomOf(history.seed, 'random');
  Math.random = () => draw(1 << 24) / (1 << 24);
  try {
    return await fromSeed(history.seed, async () => {
      const world = createFleetWorld(history, isTold);
      const fault = await liveToEnd(world).catch((error: Error) => error.message || `${error.stack}`);
      const { lines, scheduler } = world;
      return { digest: world.digest(), events: scheduler.events, fault: fault ?? undefined, lines };
    });
  } finally {
    Math.random = random;
  }
}

export const FLEET_SHRINKING = { live: liveFleet, shorter: shorterFleet };

/** Every history that lacks one thing, the largest things first. */
function* shorterFleet(history: FleetHistory): Generator<FleetHistory> {
  const without = <T>(all: readonly T[], one: T) => all.filter((other) => other !== one);
  const { processes, people, losses, illnesses, changes, store, service } = history;
  for (const one of processes) yield { ...history, processes: without(processes, one) };
  for (const one of people) yield { ...history, people: without(people, one) };
  for (const one of losses) yield { ...history, losses: without(losses, one) };
  for (const one of illnesses) yield { ...history, illnesses: without(illnesses, one) };
  for (const one of changes) yield { ...history, changes: without(changes, one) };
  if (history.vessels.length > 1) yield { ...history, vessels: history.vessels.slice(0, -1) };
  if (history.layout === 'delta') yield { ...history, layout: 'plain' };
  for (const kind of Object.keys(store) as (keyof typeof store)[])
    if (store[kind] > 0) yield { ...history, store: { ...store, [kind]: 0 } };
  for (const kind of Object.keys(service) as (keyof typeof service)[])
    if (service[kind] > 0) yield { ...history, service: { ...service, [kind]: 0 } };
  for (const kind of ['twice', 'undelivered'] as const)
    if (history[kind] > 0) yield { ...history, [kind]: 0 };
  if (history.lasting !== 'none') yield { ...history, lasting: 'none' };
  yield* simplerProcesses(history);
}

function* simplerProcesses(history: FleetHistory): Generator<FleetHistory> {
  const { processes } = history;
  for (const one of processes)
    for (const name of ['step', 'killAfter', 'pauseAfter', 'stopMs'] as const) {
      const { [name]: found, ...simpler } = one;
      if (found === undefined) continue;
      yield { ...history, processes: processes.map((other) => (other === one ? simpler : other)) };
    }
  for (const one of processes) {
    const simpler = { ...one, aheadMs: 0, select: 0 as const };
    if (one.aheadMs !== 0 || one.select === 1)
      yield { ...history, processes: processes.map((other) => (other === one ? simpler : other)) };
  }
}

async function liveToEnd(world: FleetWorld): Promise<void> {
  const { history, scheduler, tell } = world;
  const oracles = new Oracles(world as unknown as World);
  const lives: Life[] = [];
  for (const {
    name,
    role,
    atMs,
    stopMs,
    aheadMs,
    step,
    killAfter,
    pauseAfter,
    select,
  } of history.processes) {
    const onStopped = (how: 'dies' | 'pauses') => tell(name, how);
    const life = newLife(name, { aheadMs, killAfter, pauseAfter, onStopped });
    lives.push(life);
    const stop = new AbortController();
    scheduler.at(atMs, () => {
      tell(name, `begins${aheadMs === 0 ? '' : `, its clock ${aheadMs} ms ahead`}`);
      run(world.open(life, select), role, stop.signal);
    });
    if (stopMs !== undefined)
      scheduler.at(Math.max(atMs, stopMs), () => stop.abort(new Error('stopped')), life);
    if (step)
      scheduler.at(step.atMs, () => {
        life.aheadMs = step.aheadMs;
      });
  }
  for (const [at, doing] of history.people.entries())
    scheduler.at(doing.atMs, () => {
      const life = newLife(`person-${at}`);
      lives.push(life);
      tell(life.name, `begins: ${doing.kind} ${doing.vessel} ${doing.date}`);
      DO[doing.kind](world.open(life), doing, world).then(
        () => tell(life.name, 'ends'),
        (error: Error) => tell(life.name, `ends: ${error.message}`),
      );
    });
  const look = createLook(world, oracles);
  for (let untilMs = 2 * HOUR_MS; untilMs <= FAULTY_MS; untilMs += 2 * HOUR_MS) {
    await scheduler.run(() => false, untilMs);
    await look();
  }
  world.isCalm = true;
  for (const life of lives) life.isDead = true;
  tell('world', 'is calm: whoever was there is gone');
  await endCalmly(world, oracles, look);
}

/** A job's schedule fires in it, and its look-back. */
const CALM_MS = 4 * HOUR_MS;

/** With faults off: what lasts is told, the others are published; and in the end everything is, and all is told to be over. */
async function endCalmly(world: FleetWorld, oracles: Oracles, look: () => Promise<void>): Promise<void> {
  const { history, scheduler, trouble, tell } = world;
  const { lasting, vessels } = history;
  const person = world.open(newLife('person'));
  const within = async <T>(work: Promise<T>): Promise<T> => {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    work.then(over, over);
    await scheduler.run(() => isOver, scheduler.nowMs + HOUR_MS);
    if (!isOver) throw new OracleError('7: a person waits for an hour');
    return await work;
  };
  const days = async (ms: number) => {
    const untilMs = scheduler.nowMs + ms;
    while (scheduler.nowMs < untilMs) {
      await scheduler.run(() => false, Math.min(untilMs, scheduler.nowMs + 2 * HOUR_MS));
      await look();
    }
  };
  if (lasting === 'vessel') trouble.vessel = vessels[0];
  trouble.isRefused = lasting === 'refused';
  if (lasting === 'late') haveLateReadings(world, oracles);
  await within(liftHold(person.queue));
  for (const { id, paused } of await listBackfills(world.disk))
    if (paused) await within(changeBackfill(fleetOf(person), 'resume', id));
  const backfills = await listBackfills(world.disk);
  const stop = new AbortController();
  run(world.open(newLife('calm-scheduler')), 'scheduler', stop.signal);
  for (const name of ['calm-worker-1', 'calm-worker-2'])
    run(world.open(newLife(name)), 'worker', stop.signal);
  const openBefore = lasting === 'none' ? [] : dueDays(world).filter((day) => !oracles.receipts.has(day));
  await days(CALM_MS);
  if (lasting === 'vessel') {
    expectPublished(
      world,
      oracles,
      (vessel) => vessel !== trouble.vessel,
      `for ${trouble.vessel} is in trouble`,
    );
    const late = openBefore.filter((day) => day.startsWith(trouble.vessel!) && !oracles.receipts.has(day));
    await expectTold(world, late);
  }
  if (lasting === 'refused' && openBefore.length > 0 && !world.notices.open.has('hold'))
    throw new OracleError('6: nobody was told of the hold');
  trouble.vessel = undefined;
  trouble.isRefused = false;
  tell('world', 'is well');
  for (let round = 0; round < 2; round++) {
    await days(CALM_MS);
    await settle(world, person, within);
  }
  await days(CALM_MS);
  await expectAllWell(world, oracles, backfills);
  stop.abort(new Error('stopped'));
}

/** Readings come late, of days that are published and that a look-back looks at. */
function haveLateReadings({ source, scheduler, tell }: FleetWorld, oracles: Oracles): void {
  const series = source.series.findIndex(({ isThere }) => isThere);
  const vessel = source.series[series]?.vessel;
  const dates = ['2026-01-06', '2026-01-07'].filter((date) => oracles.receipts.has(`${vessel} ${date}`));
  const late = dates.flatMap((date, at) =>
    source.change({ kind: 'comes', series, date, at: 7 + at, atMs: scheduler.nowMs }),
  );
  tell('source', `readings come late: ${late.join(', ')}`);
}

/** As a person does about all that is said to need one. */
async function settle(
  world: FleetWorld,
  person: FleetPorts,
  within: <T>(work: Promise<T>) => Promise<T>,
): Promise<void> {
  const { job, ports, queue } = person;
  world.allowShrink();
  for (const vessel of world.history.vessels) await within(acceptWarning(ports, JOB, vessel));
  await within(tryFailedAgain(queue, JOB));
  const { cells } = await statusOf(world);
  for (const { day, state } of cells)
    if (state === 'refused' || state === 'failed') {
      const what = await within(tryAgain({ queue, ports }, job, day, true));
      world.tell('person', `tries ${formatVesselDay(day)} again: ${what}`);
    }
}

function run(process: FleetPorts, role: 'scheduler' | 'worker', signal: AbortSignal): void {
  const { ports, queue, job, clock, log, state, store, shared, webhook } = process;
  if (role === 'worker') {
    const config = { settings: { WORKER_CONCURRENCY: 2 }, jobs: [job] } as unknown as Config;
    const work = startWork(config, fleetOf(process), log, () => {}, TIMES);
    work.hold.watch(signal).then(async () => {
      await work.worker.stop();
      await process.close();
    });
    return;
  }
  const watch = createNoticeWatch({
    ...{ jobs: [job], clock, log, intervalMs: LOOK_MS, nightByMs: 12 * HOUR_MS, lateDays: 1 },
    tell: createTeller({ ...{ clock, log, webhook }, store: withOtherPlace(forgetting(process), shared) }),
    readHold: async () => (process.isRedisAway() ? 'unknown' : ((await queue.hold.read()) ?? 'none')),
  });
  const planning = { ports, queue, log, ledger: createLedgerView(store, clock, log) };
  const scheduler = createFleetScheduler({
    ...{ ...planning, jobs: [job], state, intervalMs: LOOK_MS, onEvent: watch.onEvent },
  });
  Promise.all([scheduler.run(signal), watch.run(signal)]).then(process.close);
}

/** The oracle is told where nobody can know what was told before. */
function forgetting({ store, forget }: FleetPorts): FleetPorts['store'] {
  const get: typeof store.get = (key) =>
    store.get(key).catch((error: unknown) => {
      forget();
      throw error;
    });
  return { ...store, get };
}

const fleetOf = ({ ports, queue, store }: FleetPorts) =>
  ({ app: { ports, store }, queue }) as unknown as Fleet;
const NEVER = new AbortController().signal;

const DO: Readonly<
  Record<Doing['kind'], (person: FleetPorts, doing: Doing, world: FleetWorld) => Promise<unknown>>
> = {
  async backfill(person, { allowShrink, vessel, atMs }, world) {
    if (allowShrink) world.allowShrink();
    const vessels = atMs % 2 === 0 ? [] : [vessel];
    const request = { job: JOB, from: BACKFILL_FROM, to: SINCE, vessels, allowShrink };
    world.asked.add((await startBackfill(fleetOf(person), person.job, request)).backfill);
  },
  pause: (person) => changeEach(person, 'pause'),
  resume: (person) => changeEach(person, 'resume'),
  async cancel(person, _, { asked }) {
    asked.clear();
    await changeEach(person, 'cancel');
  },
  async try({ queue, ports, job }, { vessel, date, allowShrink }, world) {
    if (allowShrink) world.allowShrink();
    await tryAgain({ queue, ports }, job, { job: JOB, vessel, date }, allowShrink);
  },
  async force(person, doing, world) {
    await DO.try(person, doing, world);
    const day = { job: JOB, vessel: doing.vessel, date: doing.date };
    await person.queue.add([{ ...day, kind: 'reconcile', force: true }]);
  },
  'try-failed': ({ queue }) => tryFailedAgain(queue, JOB),
  release: ({ queue }, { date }) =>
    releaseFailed(queue, { job: JOB, from: date, to: addDays(date, 2), vessels: [], allowShrink: false }),
  accept: ({ ports }, { vessel }) => acceptWarning(ports, JOB, vessel),
  lift: ({ queue }) => liftHold(queue),
  'pause-queue': async (_, __, { redis }) => redis.placeHold(null),
  run: ({ ports, job }, { vessel, date, allowShrink }, world) => {
    if (allowShrink) world.allowShrink();
    const request = { jobs: [job], vessels: [vessel], from: date, to: addDays(date, 1), concurrency: 1 };
    const how = { force: false, allowShrink, takeover: false };
    return exportJobs(ports, { ...request, ...how }, () => {}, NEVER);
  },
};

async function changeEach(person: FleetPorts, change: 'pause' | 'resume' | 'cancel'): Promise<void> {
  for (const { id } of await listBackfills(person.store)) await changeBackfill(fleetOf(person), change, id);
}

/** At a moment at which nobody moves: what readers see, what status says, what people were told. */
function createLook(world: FleetWorld, oracles: Oracles): () => Promise<void> {
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

async function statusOf({ disk, scheduler, history }: FleetWorld) {
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
function dueDays({ history, scheduler, source }: FleetWorld, sinceMs = 0): string[] {
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

function expectPublished(
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
async function expectTold(world: FleetWorld, days: readonly string[]): Promise<void> {
  const told = new Set([...world.notices.open.values()].flatMap((members) => [...members]));
  for (const day of days) {
    const [vessel, date] = day.split(' ');
    if (!told.has(`${JOB}/${vessel}/${date}`) && !told.has(date!))
      throw new OracleError(`6: nobody was told that ${day} is not published`);
  }
}

async function expectAllWell(
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
