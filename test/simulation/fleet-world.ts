/** A fleet in one process: schedulers, workers and people on one lake, one Redis and one source, each with its own clock. */
import { createHash } from 'node:crypto';
import { RetriableError } from '../../src/core/errors.ts';
import { type Job, silentLog } from '../../src/core/model/index.ts';
import type { Backfill } from '../../src/lake/backfills.ts';
import type { Answer } from '../../src/source/fetch/exchange.ts';
import type { Transport } from '../../src/source/fetch/transport.ts';
import type { ObjectStore } from '../../src/store/store.ts';
import { createMemoryStore } from '../helpers/memory-store.ts';
import type { FleetHistory } from './fleet-history.ts';
import { SINCE } from './fleet-history.ts';
import { createNoticeOracle, type NoticeOracle } from './fleet-notices.ts';
import { type Command, memoryScheduleState, openMemoryQueue } from './fleet-queue.ts';
import { FleetRedis } from './fleet-redis.ts';
import { jobOf, openPorts } from './process.ts';
import { chance, randomOf } from './random.ts';
import { BEGIN_MS, createLife, createScheduler, type Life, type Scheduler, shortDelay } from './scheduler.ts';
import { API, NO_SERVICE_FAULTS, transportOf } from './service.ts';
import { createSource, type Source } from './source.ts';
import { NO_STORE_FAULTS, storeOf } from './store.ts';
import type { Change } from './world.ts';

const HOUR_MS = 3_600_000;
/** Between looks of a scheduler: an hour has few, and a history is over in a moment. */
export const LOOK_MS = 600_000;

/** Everything that a process of a fleet is given. */
export type FleetPorts = ReturnType<FleetWorld['open']>;

export interface FleetWorld {
  readonly history: FleetHistory;
  readonly scheduler: Scheduler;
  readonly source: Source;
  readonly redis: FleetRedis;
  readonly disk: ObjectStore;
  readonly notices: NoticeOracle;
  readonly changes: readonly Change[];
  readonly readClocks: ReadonlyMap<number, number>;
  readonly lines: readonly string[];
  /** What is wrong beside the faults of the history. */
  readonly trouble: { vessel?: string | undefined; isRefused?: boolean };
  /** Backfills that somebody has asked for, and nobody has cancelled. */
  readonly asked: Set<Backfill>;
  isCalm: boolean;
  shrinkAllowedMs(): number;
  allowShrink(): void;
  digest(): string;
  tell(who: string, what: string): void;
  /** A process that begins now. */
  open(life: Life, select?: 0 | 1): ReturnType<typeof openProcess>;
}

/** Every three hours, so that a day has some firings; a day is due six hours after its end. */
export function fleetJob(vessels: readonly string[], select: 0 | 1): Job {
  return {
    ...jobOf(vessels, select),
    since: SINCE,
    schedule: { cron: '15 */3 * * *', timezone: 'UTC', settleMs: 6 * HOUR_MS },
    reconcile: { cron: '45 */3 * * *', timezone: 'UTC', lookbackDays: 5 },
  };
}

export function createFleetWorld(history: FleetHistory, isTold: boolean): FleetWorld {
  const { seed } = history;
  const scheduler = createScheduler(seed, { maxEvents: 400_000 });
  const trace = createHash('sha256');
  const lines: string[] = [];
  const changes: Change[] = [];
  let [by, shrinkAllowedMs] = ['', Number.POSITIVE_INFINITY];
  const tell = (who: string, what: string) => {
    trace.update(`${scheduler.nowMs} ${who} ${what}\n`);
    if (isTold) lines.push(`${momentOf(scheduler.nowMs)}  ${who.padEnd(12)} ${what}`);
  };
  const disk = createMemoryStore(
    () => BEGIN_MS + scheduler.nowMs,
    (key, bytes, nonce) => {
      if (bytes !== undefined) trace.update(bytes);
      changes.push({ atMs: scheduler.nowMs, key, bytes, nonce, by });
    },
  );
  const readClocks = new Map<number, number>();
  const world: FleetWorld = {
    ...{
      history,
      scheduler,
      disk,
      changes,
      readClocks,
      lines,
      tell,
      trouble: {},
      asked: new Set<Backfill>(),
      isCalm: false,
    },
    source: createSource(seed, history.vessels, history.dates, randomOf(seed, 'source')),
    redis: new FleetRedis(() => BEGIN_MS + scheduler.nowMs),
    notices: createNoticeOracle(),
    shrinkAllowedMs: () => shrinkAllowedMs,
    allowShrink: () => {
      shrinkAllowedMs = Math.min(shrinkAllowedMs, scheduler.nowMs);
    },
    digest: () => trace.copy().digest('hex').slice(0, 16),
    open: (life, select = 0) => openProcess(world, life, select, (who) => (by = who)),
  };
  for (const change of history.changes)
    scheduler.at(change.atMs, () => {
      const changed = world.source.change({ ...change, atMs: scheduler.nowMs });
      if (changed.length > 0) tell('source', `${change.kind} ${change.series}: ${changed.join(', ')}`);
    });
  for (const { kind, atMs, forMs } of history.losses) {
    if (kind === 'away') continue;
    let kept: unknown;
    if (kind === 'restore') scheduler.at(Math.max(0, atMs - HOUR_MS), () => (kept = world.redis.snapshot()));
    scheduler.at(atMs, () => {
      tell('redis', kind === 'flush' ? 'is flushed' : `is as it was ${forMs} ms after an older moment`);
      world.redis.flush(kept);
    });
  }
  return world;
}

/** When Redis can be reached again; now, where it can. */
function reachableMs({ history, scheduler, isCalm }: FleetWorld): number {
  if (isCalm) return scheduler.nowMs;
  const ends = history.losses.flatMap(({ kind, atMs, forMs }) =>
    kind === 'away' && atMs <= scheduler.nowMs && scheduler.nowMs < atMs + forMs ? atMs + forMs : [],
  );
  return Math.max(scheduler.nowMs, ...ends);
}

function openProcess(world: FleetWorld, life: Life, select: 0 | 1, onEffect: (who: string) => void) {
  const { history, scheduler, redis, disk, source, tell, trouble } = world;
  const { seed, vessels, dates, layout } = history;
  const draw = randomOf(seed, life.name);
  const base = scheduler.clockOf(life);
  const clock = {
    ...base,
    nowMs() {
      const readMs = base.nowMs();
      const known = world.readClocks as Map<number, number>;
      if (!known.has(readMs)) known.set(readMs, scheduler.nowMs);
      return readMs;
    },
  };
  const store = storeOf(life, {
    ...{ scheduler, disk, draw: randomOf(seed, `${life.name} store`) },
    faults: () => (world.isCalm ? NO_STORE_FAULTS : history.store),
    onEffect(who, call, how) {
      onEffect(who.name);
      tell(who.name, how === 'once' ? call : `${call} (${how})`);
    },
  });
  const command = commandOf(world, life);
  const transport = illTransport(
    world,
    life,
    transportOf(life, {
      ...{ scheduler, source, draw: randomOf(seed, `${life.name} service`) },
      faults: () => (world.isCalm ? NO_SERVICE_FAULTS : history.service),
      get refused() {
        return trouble.vessel;
      },
      onRequest: (who, what, status) => tell(who.name, `asks ${what}: ${status}`),
    }),
  );
  const opened = openPorts({
    ...{ name: life.name, store, clock, transport, draw, vessels, dates, isFleet: true, log: undefined },
    sizes: { rowGroupRows: 1_000, partBytes: 1 << 20 },
    wanted: layout === 'delta' ? layout : undefined,
  });
  const queueWorld = { redis, command, clock, name: life.name, isAlive: () => !life.isDead };
  const onNews = (go: () => void) => void scheduler.at(scheduler.nowMs + shortDelay(draw), go, life);
  return {
    ...{ life, clock, store, draw, ports: opened.ports, job: fleetJob(vessels, select), log: silentLog },
    queue: openMemoryQueue({ ...queueWorld, onNews }),
    state: memoryScheduleState(queueWorld),
    /** What people were told, beside the lake's. */
    shared: {
      read: () => command('told?', () => redis.told, true),
      replace: (before: string, after: string) =>
        command('told', () => redis.replaceTold(before, after), true),
    },
    webhook: webhookOf(world, life),
    forget: () => {
      if (redis.told === '') world.notices.forget();
    },
    isRedisAway: () => reachableMs(world) > scheduler.nowMs,
    close: opened.close,
  };
}

/** Of a process: each command has a moment of asking, of effect and of answer. While Redis is away most wait for it. */
function commandOf(world: FleetWorld, life: Life): Command {
  const { scheduler, history, tell } = world;
  const draw = randomOf(history.seed, `${life.name} redis`);
  return (what, act, atOnce = false) => {
    scheduler.onAsk(life);
    const [thereMs, backMs, isTwice] = [shortDelay(draw), shortDelay(draw), chance(draw, history.twice)];
    return new Promise((resolve, reject) => {
      const answer = (go: () => void) => scheduler.at(scheduler.nowMs + backMs, go, life);
      const arrive = () => {
        const reachable = reachableMs(world);
        if (reachable > scheduler.nowMs) {
          if (atOnce)
            answer(() => reject(new RetriableError('redis-away', `${what}: Redis is out of reach`)));
          else scheduler.at(reachable + thereMs, arrive, life);
          return;
        }
        tell(life.name, what);
        try {
          const result = act();
          if (isTwice && !world.isCalm) again(act, resolve);
          else answer(() => resolve(result));
        } catch (error) {
          answer(() => reject(error));
        }
      };
      /** The answer was lost with its connection, and the command is sent again. */
      const again = (same: typeof act, go: typeof resolve) =>
        scheduler.at(
          scheduler.nowMs + backMs,
          () => {
            tell(life.name, `${what} (again)`);
            try {
              const result = same();
              answer(() => go(result));
            } catch (error) {
              answer(() => reject(error));
            }
          },
          life,
        );
      // What is on its way when a process dies arrives.
      scheduler.at(scheduler.nowMs + thereMs, arrive);
    });
  };
}

/** While the service is ill it refuses all that is asked. */
function illTransport(world: FleetWorld, life: Life, well: Transport): Transport {
  const { scheduler, history, trouble } = world;
  const statusNow = () => {
    if (world.isCalm) return trouble.isRefused ? 401 : undefined;
    const isNow = ({ atMs, forMs }: FleetHistory['illnesses'][number]) =>
      atMs <= scheduler.nowMs && scheduler.nowMs < atMs + forMs;
    return history.illnesses.find(isNow)?.status;
  };
  return {
    ...well,
    async send(attempt) {
      const status = statusNow();
      if (status === undefined || (status === 503 && attempt.outgoing.setting === 'QUERY_AUTH_URL'))
        return await well.send(attempt);
      scheduler.onAsk(life);
      await new Promise<void>((resolve) => scheduler.at(scheduler.nowMs + 40, resolve, life));
      attempt.signal.throwIfAborted();
      const text = Buffer.from('{"error":"ill"}');
      const date = new Date(BEGIN_MS + scheduler.nowMs).toUTCString();
      const length = { 'content-length': `${text.length}` };
      const headers = { 'api-version': API, 'content-type': 'application/json', date, ...length };
      const body = (async function* () {
        yield text;
      })();
      return await attempt.consume({ status, headers, body } as Answer);
    },
  };
}

/** People are told, or not; and who sends does not always hear of it. */
function webhookOf(world: FleetWorld, life: Life) {
  const { scheduler, history, tell, notices } = world;
  const draw = randomOf(history.seed, `${life.name} webhook`);
  return {
    async send(message: Parameters<NoticeOracle['arrive']>[0]): Promise<void> {
      scheduler.onAsk(life);
      const [thereMs, backMs] = [shortDelay(draw), shortDelay(draw)];
      const isLost = chance(draw, history.undelivered) && !world.isCalm;
      const isArriving = !isLost || chance(draw, 50);
      await new Promise<void>((resolve, reject) => {
        scheduler.at(scheduler.nowMs + thereMs, () => {
          if (isArriving) {
            for (const { what, kind, members } of message.changes)
              tell('people', `are told by ${life.name}: ${kind} ${what} ${members.join(' ')}`);
            notices.arrive(message, scheduler.nowMs);
          }
          const error = new RetriableError('notice-not-delivered', 'no answer');
          scheduler.at(scheduler.nowMs + backMs, () => (isLost ? reject(error) : resolve()), life);
        });
      });
    },
  };
}

/** As the world has it: `3 01:02:03.004` is in its fourth day. */
function momentOf(ms: number): string {
  const text = new Date(BEGIN_MS + ms).toISOString();
  return text.slice(5, 23);
}

export function newLife(name: string, more: Partial<Life> = {}): Life {
  return createLife(name, more);
}
