/**
 * Fleets at size: schedulers and workers of the product in one process, a store and a Redis that answer at once, a service that
 * takes two seconds a request, and one process that dies each hour. So what is measured is all work of ours.
 */
import { addDays, dateToMicros, type Job, MICROS_PER_HOUR, silentLog } from '../../src/core/model/index.ts';
import type { Fleet } from '../../src/fleet/fleet.ts';
import { createScheduler as createFleetScheduler } from '../../src/fleet/scheduler.ts';
import { startWork } from '../../src/fleet/work.ts';
import { createLedgerView } from '../../src/lake/ledger/ledger-view.ts';
import type { Config } from '../../src/runtime/config/config.ts';
import type { Answer } from '../../src/source/fetch/exchange.ts';
import type { Transport } from '../../src/source/fetch/transport.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { vesselIds } from '../helpers/ledger.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';
import { memoryScheduleState, openMemoryQueue } from './fleet-queue.ts';
import { FleetRedis } from './fleet-redis.ts';
import { jobOf, openPorts } from './process.ts';
import { randomOf } from './random.ts';
import { BEGIN_MS, createLife, createScheduler, type Life } from './scheduler.ts';
import { API, answerTo } from './service.ts';
import { fromSeed } from './world.ts';

const HOUR_MS = 3_600_000;
const TODAY = '2026-01-08';
const LATENCY_MS = 2_000;
const WORKERS = 4;
const AT_ONCE = 2;
/** Of so many vessel-days one has a reading that comes late. */
const LATE_EVERY = 100;
const SERIES = ['A', 'B'];
const READINGS = 6;

type Counts = Record<string, number>;

/** Calls by name, and what the process takes, of one part of a run. */
export interface Part {
  readonly what: string;
  readonly vesselDays: number;
  readonly virtualHours: number;
  readonly deaths: number;
  readonly wallSeconds: number;
  readonly cpuMsEach: number;
  readonly eventsEach: number;
  readonly callsEach: Counts;
  readonly peakRssMb: number;
  readonly peakHeapMb: number;
  /** What the lake itself takes of it: in a real one it lies elsewhere. */
  readonly lakeMb: number;
}

/** Plans and exports all vessel-days before today, then looks back at all of them, of which some have changed. */
export function liveAtSize(vessels: number, days: number, tell: (part: Part) => void): Promise<void> {
  return fromSeed(1, async () => {
    const world = createSizedWorld(vessels, days);
    const total = vessels * days;
    tell(await world.part('exported', total, { schedule: true }, () => world.published() === total));
    world.haveLateReadings();
    const late = world.lateDays();
    const isFound = () => world.published() === total + late;
    tell(await world.part('looked back at', total, { reconcile: true }, isFound));
  });
}

function createSizedWorld(vesselCount: number, days: number) {
  const vessels = vesselIds(vesselCount);
  const from = addDays(TODAY, -days);
  const scheduler = createScheduler(1, { maxEvents: Number.POSITIVE_INFINITY });
  const counts: Counts = {};
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  let [lakeBytes, published, isLate, names, deaths] = [0, 0, false, 0, 0];
  const sizes = new Map<string, number>();
  const disk = createMemoryStore(
    () => BEGIN_MS + scheduler.nowMs,
    (key, bytes) => {
      lakeBytes += (bytes?.length ?? 0) - (sizes.get(key) ?? 0);
      if (bytes === undefined) sizes.delete(key);
      else sizes.set(key, bytes.length);
      if (key.startsWith('_ledger/') && bytes !== undefined) published++;
    },
  );
  const redis = new FleetRedis(() => BEGIN_MS + scheduler.nowMs);
  const dates = Array.from({ length: days }, (_, at) => addDays(from, at));
  const hasLate = (vessel: string, date: string) =>
    (Number(vessel.slice(3)) + dates.indexOf(date)) % LATE_EVERY === 0;

  function start(role: 'scheduler' | 'worker', life: Life, only: Only): void {
    const clock = scheduler.clockOf(life);
    const store = counted(disk, count);
    const { ports } = openPorts({
      ...{ name: life.name, store, clock, vessels, dates, isFleet: true, log: undefined, wanted: undefined },
      transport: transportOf(life),
      draw: randomOf(1, life.name),
      sizes: { rowGroupRows: 1_000, partBytes: 1 << 20 },
    });
    const command = async <T>(_: string, act: () => T) => {
      count('redis');
      return act();
    };
    const onNews = (go: () => void) => void scheduler.at(scheduler.nowMs + 1, go, life);
    const queueWorld = { redis, command, clock, name: life.name, onNews };
    const queue = openMemoryQueue(queueWorld);
    const job = jobOfSize(vessels, from, days, only);
    if (role === 'worker') {
      const config = { settings: { WORKER_CONCURRENCY: AT_ONCE }, jobs: [job] } as unknown as Config;
      const fleet = { app: { ports, store }, queue } as unknown as Fleet;
      startWork(config, fleet, silentLog, () => {}).hold.watch(NEVER);
      return;
    }
    const ledger = createLedgerView(store, clock, silentLog);
    const state = memoryScheduleState(queueWorld);
    createFleetScheduler({ ports, queue, ledger, log: silentLog, jobs: [job], state }).run(NEVER);
  }

  function transportOf(life: Life): Transport {
    const wait = (ms: number) =>
      new Promise<void>((resolve) => scheduler.at(scheduler.nowMs + ms, resolve, life));
    return {
      async send(attempt) {
        const { outgoing } = attempt;
        count('requests');
        await wait(LATENCY_MS);
        attempt.signal.throwIfAborted();
        const { status, text } = answerTo(outgoing, { series: seriesIn(outgoing) }, 0);
        const date = new Date(BEGIN_MS + scheduler.nowMs).toUTCString();
        const bytes = Buffer.from(text);
        const length = { 'content-length': `${bytes.length}` };
        const headers = { 'api-version': API, 'content-type': 'application/json', date, ...length };
        const body = (async function* () {
          yield bytes;
        })();
        return await attempt.consume({ status, headers, body } as Answer);
      },
      close: async () => {},
    };
  }

  /** The series of the vessels that a request names, with the readings of its range. */
  function seriesIn({ target, body = '' }: { readonly target: string; readonly body?: string | undefined }) {
    const found = `${target} ${body}`.matchAll(/IMO(\d{7})|0(\d{7})-000/g);
    const asked = new Set([...found].map(([, vessel, id]) => `IMO${vessel ?? id}`));
    const [, fromDate = '', toDate = ''] = /from=([\d-]{10}).*?[&?]to=([\d-]{10})/.exec(target) ?? [];
    const inRange = dates.filter((date) => date >= fromDate && date <= toDate);
    return [...asked].flatMap((vessel) =>
      SERIES.map((name, at) => ({
        ...{ id: `0${vessel.slice(3)}-000${at}-4000-8000-000000000000`, vessel, name: `${vessel}/S${name}` },
        readings: inRange.flatMap((date) => readingsOf(vessel, date, at)),
        isThere: true,
      })),
    );
  }

  function readingsOf(vessel: string, date: string, at: number) {
    const fromMicros = dateToMicros(date);
    const more = isLate && at === 0 && hasLate(vessel, date) ? 1 : 0;
    return Array.from({ length: READINGS + more }, (_, n) => ({
      micros: fromMicros + n * 3 * MICROS_PER_HOUR + at * 1_000_000,
      value: `${n}.5`,
    }));
  }

  return {
    published: () => published,
    haveLateReadings: () => {
      isLate = true;
    },
    lateDays: () => vessels.reduce((sum, one) => sum + dates.filter((date) => hasLate(one, date)).length, 0),
    /** Processes of its own, until it `isOver`. */
    async part(what: string, vesselDays: number, only: Only, isOver: () => boolean): Promise<Part> {
      const lives: { life: Life; role: 'scheduler' | 'worker' }[] = [];
      const begin = (role: 'scheduler' | 'worker') => {
        const life = createLife(`${role}-${++names}`);
        lives.push({ life, role });
        start(role, life, only);
      };
      for (const role of ['scheduler', ...Array(WORKERS).fill('worker')] as const) begin(role);
      let isEnded = false;
      const dieEachHour = () => {
        if (isEnded) return;
        const { life, role } = lives.shift()!;
        life.isDead = true;
        deaths++;
        scheduler.at(scheduler.nowMs + 60_000, () => begin(role));
        scheduler.at(scheduler.nowMs + HOUR_MS, dieEachHour);
      };
      scheduler.at(scheduler.nowMs + HOUR_MS, dieEachHour);
      for (const name of Object.keys(counts)) delete counts[name];
      const before = { ms: scheduler.nowMs, events: scheduler.events, deaths, wall: performance.timeOrigin };
      const startedMs = Date.now();
      const cpu = process.cpuUsage();
      let [peakRss, peakHeap, looks] = [0, 0, 0];
      await scheduler.run(
        () => {
          if (++looks % 2_000 === 1) {
            const { rss, heapUsed, external } = process.memoryUsage();
            [peakRss, peakHeap] = [Math.max(peakRss, rss), Math.max(peakHeap, heapUsed + external)];
          }
          return isOver() && redis.count('active') === 0;
        },
        scheduler.nowMs + 1_000 * HOUR_MS,
      );
      if (!isOver()) throw new Error(`${what}: ${published} published, and it does not go on`);
      const used = process.cpuUsage(cpu);
      isEnded = true;
      for (const { life } of lives) life.isDead = true;
      const each = (sum: number) => Number((sum / vesselDays).toFixed(3));
      return {
        ...{ what, vesselDays, virtualHours: Number(((scheduler.nowMs - before.ms) / HOUR_MS).toFixed(1)) },
        deaths: deaths - before.deaths,
        wallSeconds: Math.round((Date.now() - startedMs) / 1_000),
        cpuMsEach: each((used.user + used.system) / 1_000),
        eventsEach: each(scheduler.events - before.events),
        callsEach: Object.fromEntries(Object.entries(counts).map(([name, sum]) => [name, each(sum)])),
        ...{ peakRssMb: Math.round(peakRss / 1e6), peakHeapMb: Math.round(peakHeap / 1e6) },
        lakeMb: Math.round(lakeBytes / 1e6),
      };
    },
  };
}

const NEVER = new AbortController().signal;
/** Which of a job's schedules it has. */
type Only = { readonly schedule?: true; readonly reconcile?: true };

function jobOfSize(vessels: readonly string[], since: string, days: number, only: Only): Job {
  return {
    ...jobOf(vessels, 0),
    since,
    ...(only.schedule && { schedule: { cron: '15 6 * * *', timezone: 'UTC', settleMs: 6 * HOUR_MS } }),
    ...(only.reconcile && { reconcile: { cron: '45 7 * * *', timezone: 'UTC', lookbackDays: days } }),
  };
}

/** The same store, and each call of it is counted. */
function counted(store: ObjectStore, count: (name: string) => void): ObjectStore {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function' || name === 'close' || name === 'capabilities') return member;
      return (...args: unknown[]) => {
        count(`store ${String(name)}`);
        return Reflect.apply(member, target, args);
      };
    },
  });
}
