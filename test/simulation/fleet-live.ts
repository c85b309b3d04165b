/** Lives the history of a fleet to its end, and asks every oracle. */
import { formatVesselDay } from '../../src/core/model/index.ts';
import { changeBackfill } from '../../src/fleet/backfills.ts';
import { liftHold } from '../../src/fleet/queue/hold.ts';
import { tryAgain, tryFailedAgain } from '../../src/fleet/try-again.ts';
import { acceptWarning } from '../../src/lake/accept.ts';
import { listBackfills } from '../../src/lake/backfills.ts';
import type { FleetHistory } from './fleet-history.ts';
import { FAULTY_MS } from './fleet-history.ts';
import {
  CALM_MS,
  createLook,
  dueDays,
  expectAllWell,
  expectPublished,
  expectTold,
  statusOf,
} from './fleet-oracles.ts';
import { DO, fleetOf, runProcess } from './fleet-roles.ts';
import { createFleetWorld, type FleetPorts, type FleetWorld, newLife } from './fleet-world.ts';
import type { Lived } from './live.ts';
import { OracleError, Oracles } from './oracles.ts';
import { JOB } from './process.ts';
import { randomOf } from './random.ts';
import type { Life } from './scheduler.ts';
import type { Watching, World } from './world.ts';
import { fromSeed } from './world.ts';

const HOUR_MS = 3_600_000;
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
      runProcess(world.open(life, select), role, stop.signal);
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
  runProcess(world.open(newLife('calm-scheduler')), 'scheduler', stop.signal);
  for (const name of ['calm-worker-1', 'calm-worker-2'])
    runProcess(world.open(newLife(name)), 'worker', stop.signal);
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
