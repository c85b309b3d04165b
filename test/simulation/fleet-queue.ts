/** The queue of vessel-days in memory, behind the port that BullMQ's stands behind, and what schedulers share. */
import type { Redis } from 'ioredis';
import type { Clock } from '../../src/core/model/index.ts';
import { cleanMessage, formatVesselDay, type VesselDay } from '../../src/core/model/index.ts';
import type { Hold, QueueHold } from '../../src/fleet/queue/hold.ts';
import { PAUSED } from '../../src/fleet/queue/hold.ts';
import type { QueuedDay } from '../../src/fleet/queue/queued-day.ts';
import { PRIORITY, readQueuedDay } from '../../src/fleet/queue/queued-day.ts';
import { LONGEST_WAIT_MS, type VesselDayQueue } from '../../src/fleet/queue/vessel-day-queue.ts';
import { startVesselDayWorker } from '../../src/fleet/queue/vessel-day-worker.ts';
import type { ScheduleState } from '../../src/redis/schedule-state.ts';
import type { FleetRedis, State } from './fleet-redis.ts';
import { openWorkerOf } from './fleet-worker.ts';

/** One command of a process: what it does there, and how it is on its way, is the world's. `atOnce`: it rejects while Redis is away. */
export type Command = <T>(what: string, act: () => T, atOnce?: boolean) => Promise<T>;

export interface QueueWorld {
  readonly redis: FleetRedis;
  readonly command: Command;
  readonly clock: Clock;
  readonly name: string;
  readonly isAlive?: () => boolean;
  /** How the news that there may be work comes to the process. */
  readonly onNews?: (go: () => void) => void;
}

const WAITING = ['waiting', 'prioritized', 'delayed'] as const;
const STATES = [...WAITING, 'active', 'failed'] as const;
const KINDS = ['nightly', 'reconcile', 'backfill'] as const;

export function openMemoryQueue(world: QueueWorld): VesselDayQueue {
  const { redis, command, clock } = world;
  const idsOf = (days: readonly VesselDay[]) => days.map(formatVesselDay);
  const remove = (id: string) => command(`remove ${id}`, () => redis.remove(id));

  /** What is no vessel-day is dropped. */
  async function read(ids: readonly string[]) {
    const jobs: { readonly day: QueuedDay; readonly failedReason: string }[] = [];
    const found = await command('read', () => ids.map((id) => ({ id, ...redis.get(id) })));
    for (const { id, data, failedReason = '' } of found) {
      if (data === undefined) continue;
      const parsed = readQueuedDay(id, JSON.parse(data));
      if (parsed.fault === undefined) jobs.push({ day: parsed.day, failedReason });
      else await remove(id);
    }
    return jobs;
  }
  const readIn = async (states: readonly State[]) =>
    read(await command('list', () => states.flatMap((state) => redis.idsIn(state))));

  return {
    hold: holdOf(world),
    startWorker: (more) =>
      startVesselDayWorker({
        ...{ redis: { status: 'ready' } as Redis, prefix: 'memory', openWorker: openWorkerOf(world) },
        ...more,
      }),
    async countKinds() {
      const counted = await command(
        'count',
        () => {
          const kindsIn = (state: State) => redis.idsIn(state).map((id) => redis.get(id)!.name);
          const [waiting, delayed, failed] = [
            [...kindsIn('waiting'), ...kindsIn('prioritized')],
            kindsIn('delayed'),
            kindsIn('failed'),
          ];
          const of = (names: string[], kind: string) => names.filter((name) => name === kind).length;
          return KINDS.map((kind) => ({
            ...{ kind, waiting: of(waiting, kind) },
            ...{ delayed: of(delayed, kind), failed: of(failed, kind) },
          }));
        },
        true,
      );
      return counted;
    },
    async facts(day) {
      const id = formatVesselDay(day);
      const [job, state] = await command('facts', () => [{ ...redis.get(id) }, redis.stateOf(id)] as const);
      if (job.data === undefined) return undefined;
      const { attemptsMade: attempts = 0, failedReason = '' } = job;
      const parsed = readQueuedDay(id, JSON.parse(job.data));
      return { state, day: parsed.fault === undefined ? parsed.day : null, attempts, failedReason };
    },
    known: (days) => command('known', () => new Set(idsOf(days).filter((id) => redis.get(id) !== undefined))),
    failed: (days) => command('failed', () => new Set(idsOf(days).filter((id) => redis.isFailed(id)))),
    names: (mostOfEach) =>
      command('names', () => {
        const namesIn = (states: readonly State[]) =>
          new Set(states.flatMap((state) => redis.idsIn(state).slice(0, mostOfEach)));
        return { queued: namesIn([...WAITING, 'active']), failed: namesIn(['failed']) };
      }),
    async find(day) {
      const id = formatVesselDay(day);
      const [job] = await read([id]);
      const word = await command('state', () => redis.stateOf(id));
      if (job === undefined || word === 'unknown') return undefined;
      return { queued: job.day, state: word === 'prioritized' ? ('waiting' as const) : word };
    },
    async add(days) {
      if (days.length === 0) return;
      const texts = days.map((day) => ({ day, data: JSON.stringify(day) }));
      const nowMs = clock.nowMs();
      await command(`add ${days.length}`, () => {
        for (const { day, data } of texts)
          redis.add(formatVesselDay(day), day.kind, data, PRIORITY[day.kind], nowMs);
      });
    },
    async depth() {
      const counts = await command('depth', () =>
        STATES.map((state) => [state, redis.count(state)] as const),
      );
      return Object.fromEntries(counts) as Record<(typeof STATES)[number], number>;
    },
    async deadLetters() {
      return (await readIn(['failed'])).map(({ day: queued, failedReason }) => {
        const { job, vessel, date, failure: ours, mayPass = ours === undefined } = queued;
        const failure = ours ?? { code: 'unknown', message: cleanMessage(failedReason) };
        return { day: { job, vessel, date }, queued, ...failure, mayPass };
      });
    },
    remove: (day) => remove(formatVesselDay(day)),
    async withdraw(matches) {
      let withdrawn = 0;
      for (const { day } of await readIn(WAITING))
        if (matches(day) && (await remove(formatVesselDay(day)))) withdrawn++;
      return withdrawn;
    },
    bringBack: () => command('bring back', () => redis.bringBack(LONGEST_WAIT_MS)),
    workers: () => command('workers', () => redis.workers),
    close: async () => {},
  };
}

function holdOf({ redis, command }: QueueWorld): QueueHold {
  const message =
    "the queue is paused for an unknown reason: it was paused by hand, or the reason was lost; 'vessel-export hold lift' resumes it";
  const withoutReason: Hold = { code: PAUSED, message, host: null, sinceMs: null };
  return {
    place: (hold) => command(`hold for ${hold.code}`, () => redis.placeHold(hold)),
    read: () => command('hold', () => (redis.hold === null ? withoutReason : redis.hold), true),
    lift: ({ byHand } = { byHand: false }) => command('lift', () => redis.liftHold(byHand), true),
    handLifts: () => command('lifts', () => redis.handLifts, true),
  };
}

/** As of a Redis that all schedulers share. */
export function memoryScheduleState({ redis, command, name }: QueueWorld): ScheduleState {
  return {
    lead: (ttlMs) => command('lead', () => redis.lead(name, ttlMs)),
    resign: () => command('resign', () => redis.resign(name)),
    plannedFiringMs: (kind, job) => command('planned?', () => redis.planned.get(`${kind} ${job}`)),
    setPlannedFiringMs: (kind, job, firingMs) =>
      command(`planned ${kind} ${job}`, () => void redis.planned.set(`${kind} ${job}`, firingMs)),
  };
}
