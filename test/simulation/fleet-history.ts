/** What is to happen to a simulated fleet, drawn from its seed: plain data, so that a history that fails can be made shorter. */
import type { Layout } from '../../src/core/model/index.ts';
import { addDays } from '../../src/core/model/index.ts';
import { chance, type Draw, pick, randomOf } from './random.ts';
import { BEGIN_MS } from './scheduler.ts';
import { drawServiceFaults, type ServiceFaults } from './service.ts';
import type { SourceChange } from './source.ts';
import { drawStoreFaults, type StoreFaults } from './store.ts';

/** A process that runs until it is stopped, or dies. */
export interface FleetProcess {
  readonly name: string;
  readonly role: 'scheduler' | 'worker';
  readonly atMs: number;
  /** Told to stop. */
  readonly stopMs?: number;
  readonly aheadMs: number;
  readonly step?: { readonly atMs: number; readonly aheadMs: number };
  readonly killAfter?: number;
  readonly pauseAfter?: { readonly asked: number; readonly forMs: number };
  /** Of which release it is: their job has another `select`, which means the same series. */
  readonly select: 0 | 1;
}

export const DOINGS = [
  ...([
    'backfill',
    'backfill',
    'pause',
    'resume',
    'cancel',
    'try',
    'force',
    'try-failed',
    'release',
  ] as const),
  ...(['accept', 'lift', 'pause-queue', 'run'] as const),
] as const;
/** Something that a person does. */
export interface Doing {
  readonly kind: (typeof DOINGS)[number];
  readonly atMs: number;
  readonly vessel: string;
  readonly date: string;
  readonly allowShrink: boolean;
}

/** What befalls Redis: all is lost, or what came since an hour before, or nobody reaches it. */
export interface Loss {
  readonly kind: 'flush' | 'restore' | 'away';
  readonly atMs: number;
  readonly forMs: number;
}

/** The service refuses everybody. */
export interface Illness {
  readonly atMs: number;
  readonly forMs: number;
  readonly status: 401 | 503;
}

/** What lasts while all else is well, so that it is to be told: of one vessel, of all, or nothing. */
export type Lasting = 'none' | 'vessel' | 'refused' | 'late';

export interface FleetHistory {
  readonly seed: number;
  readonly layout: Layout;
  readonly vessels: readonly string[];
  /** Those that the source has readings of. */
  readonly dates: readonly string[];
  readonly processes: readonly FleetProcess[];
  readonly people: readonly Doing[];
  readonly losses: readonly Loss[];
  readonly illnesses: readonly Illness[];
  readonly changes: readonly SourceChange[];
  readonly store: StoreFaults;
  readonly service: ServiceFaults;
  /** Of a hundred commands to Redis, so many arrive twice, and of messages to people, so many get no answer. */
  readonly twice: number;
  readonly undelivered: number;
  readonly lasting: Lasting;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** So long do faults come. */
export const FAULTY_MS = 14 * HOUR_MS;
/** Days before it nobody asks for but a backfill. */
export const SINCE = '2026-01-06';
export const BACKFILL_FROM = '2026-01-04';
const VESSELS = ['IMO9321483', 'IMO9322853', 'IMO9330000'];

export function drawFleetHistory(seed: number): FleetHistory {
  const draw = randomOf(seed, 'fleet');
  const dates = Array.from({ length: 10 }, (_, day) => addDays(BACKFILL_FROM, day));
  const vessels = VESSELS.slice(0, 2 + draw(2));
  const over = dates.filter((date) => Date.parse(date) < BEGIN_MS);
  const some = <T>(most: number, make: () => T) => Array.from({ length: draw(most + 1) }, make);
  return {
    ...{ seed, layout: chance(draw, 75) ? ('plain' as const) : ('delta' as const), vessels, dates },
    processes: [...drawRole(draw, 'scheduler', 2), ...drawRole(draw, 'worker', 2)],
    people: some(5, () => ({
      kind: pick(draw, DOINGS),
      ...{ atMs: draw(FAULTY_MS), vessel: pick(draw, vessels), date: pick(draw, over) },
      allowShrink: chance(draw, 20),
    })),
    losses: some(2, () => ({
      kind: pick(draw, ['flush', 'restore', 'away'] as const),
      ...{ atMs: draw(FAULTY_MS), forMs: MINUTE_MS + draw(3 * HOUR_MS) },
    })),
    illnesses: some(2, () => ({
      ...{ atMs: draw(FAULTY_MS), forMs: 5 * MINUTE_MS + draw(4 * HOUR_MS) },
      status: pick(draw, [401, 503] as const),
    })),
    changes: some(4, () => ({
      atMs: draw(FAULTY_MS),
      kind: pick(draw, ['comes', 'comes', 'comes', 'goes', 'leaves', 'returns'] as const),
      ...{ series: draw(9), date: pick(draw, over), at: draw(100_000) },
    })),
    store: drawStoreFaults(draw),
    service: drawServiceFaults(draw),
    ...{ twice: draw(3) === 0 ? 1 + draw(3) : 0, undelivered: draw(2) === 0 ? 10 + draw(40) : 0 },
    lasting: pick(draw, ['none', 'vessel', 'refused', 'late'] as const),
  };
}

/** One from the beginning; others that stand by, take over, or come when it has gone. */
function drawRole(draw: Draw, role: FleetProcess['role'], most: number): FleetProcess[] {
  return Array.from({ length: 1 + draw(most + 1) }, (_, at) => ({
    ...{ name: `${role}-${at}`, role },
    atMs: at === 0 ? 0 : draw(2) === 0 ? draw(10_000) : draw(FAULTY_MS),
    ...(chance(draw, 20) && { stopMs: HOUR_MS + draw(FAULTY_MS) }),
    aheadMs: drawAhead(draw),
    ...(chance(draw, 10) && { step: { atMs: draw(FAULTY_MS), aheadMs: drawAhead(draw) } }),
    ...(chance(draw, 40) && { killAfter: 1 + draw(draw(2) === 0 ? 80 : 800) }),
    ...(chance(draw, 35) && {
      pauseAfter: { asked: 1 + draw(400), forMs: pick(draw, [90_000, 20 * MINUTE_MS, HOUR_MS]) },
    }),
    select: chance(draw, 15) ? (1 as const) : (0 as const),
  }));
}

/** Seconds as a rule, now and then minutes or days. */
function drawAhead(draw: Draw): number {
  const sign = draw(2) === 0 ? 1 : -1;
  const kind = draw(10);
  if (kind === 0) return sign * draw(10 * DAY_MS);
  if (kind === 1) return sign * draw(2 * HOUR_MS);
  return kind < 5 ? 0 : sign * draw(4_000);
}
