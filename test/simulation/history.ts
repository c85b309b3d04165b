/** What is to happen in a world, drawn from its seed: plain data, so that a history that fails can be made shorter. */
import type { FormatSizes, Layout } from '../../src/core/model/index.ts';
import { addDays } from '../../src/core/model/index.ts';
import { drawPattern, FIRST_DATE, PATTERNS } from './patterns.ts';
import { chance, type Draw, pick, randomOf } from './random.ts';
import { drawServiceFaults, type ServiceFaults } from './service.ts';
import { CHANGES, type SourceChange } from './source.ts';
import type { Stop } from './steps.ts';
import { type Abilities, drawAbilities, drawStoreFaults, type StoreFaults } from './store.ts';

export const PROFILES = ['plain', 'delta', 'upkeep'] as const;
export type Profile = (typeof PROFILES)[number];

export const ACT_KINDS = ['run', 'reconcile', 'gc', 'convert', 'verify', 'accept'] as const;
export type ActKind = (typeof ACT_KINDS)[number];

/** A process: what it does, from when, with which clock, and what becomes of it. */
export interface Act {
  readonly name: string;
  readonly kind: ActKind;
  readonly atMs: number;
  /** Its wall clock is ahead of the world's by so much. */
  readonly aheadMs: number;
  /** And is set anew while it runs. */
  readonly step?: { readonly atMs: number; readonly aheadMs: number };
  readonly killAfter?: number;
  readonly pauseAfter?: { readonly asked: number; readonly forMs: number };
  readonly stop?: Stop;
  readonly force: boolean;
  readonly allowShrink: boolean;
  readonly takeover: boolean;
  /** Which of two `select` its job has: both mean every series. */
  readonly select: 0 | 1;
  readonly concurrency: number;
}

export interface History {
  readonly seed: number;
  readonly profile: Profile;
  readonly layout: Layout;
  readonly vessels: readonly string[];
  readonly dates: readonly string[];
  readonly sizes: FormatSizes;
  readonly store: StoreFaults;
  readonly abilities: Abilities;
  readonly service: ServiceFaults;
  readonly acts: readonly Act[];
  readonly changes: readonly SourceChange[];
  /** How soon tables write checkpoints and clean their logs; as the product does, without. */
  readonly log?: { readonly entriesMs: number; readonly checkpointVersions: number } | undefined;
}

const VESSELS = ['IMO9321483', 'IMO9322853'];
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export function drawHistory(seed: number, only?: Profile): History {
  const draw = randomOf(seed, 'history');
  const profile = only ?? pick(draw, PROFILES);
  const layout =
    profile === 'delta' ? 'delta' : profile === 'plain' ? 'plain' : pick(draw, ['plain', 'delta'] as const);
  const drawn = Array.from({ length: 2 + draw(4) }, (_, at) => drawAct(draw, profile, at));
  const { abilities, unnamed } = drawAbilities(randomOf(seed, 'abilities'));
  const pattern = drawPattern(draw, profile, layout);
  const days = 1 + draw(2);
  const changes = Array.from({ length: draw(4) }, () => ({
    atMs: draw(2) === 0 ? draw(20_000) : draw(30 * MINUTE_MS),
    kind: pick(draw, CHANGES),
    ...{ series: draw(6), date: addDays(FIRST_DATE, draw(days)), at: draw(100_000) },
  }));
  const log = drawLog(randomOf(seed, 'log'));
  const [service, store] = [drawServiceFaults(draw), drawStoreFaults(draw, unnamed)];
  const drawnSchedule = { acts: drawn, days, changes, log, service, store };
  const { acts, ...schedule } = PATTERNS[pattern](drawnSchedule, randomOf(seed, pattern));
  const dates = Array.from({ length: schedule.days }, (_, day) => addDays(FIRST_DATE, day));
  return {
    ...{ seed, profile, dates, abilities, layout },
    acts: acts
      .map(FITTING[abilities] ?? ((act) => act))
      .map((act, at) => ({ ...act, name: `${act.kind}-${at}` })),
    vessels: VESSELS.slice(0, chance(draw, 70) ? 1 : 2),
    sizes: pick(draw, [
      { rowGroupRows: 3, partBytes: 200 },
      { rowGroupRows: 4, partBytes: 3_000 },
      { rowGroupRows: 1_000, partBytes: 1 << 20 },
    ]),
    ...{ service: schedule.service, store: schedule.store },
    ...{ changes: schedule.changes, log: schedule.log },
  };
}

function drawLog(draw: Draw): History['log'] {
  if (draw(2) === 0) return undefined;
  return { entriesMs: pick(draw, [0, 10 * MINUTE_MS, DAY_MS]), checkpointVersions: 2 + draw(4) };
}

/** What the product asks of people whose store lacks conditions. */
const FITTING: Readonly<Partial<Record<Abilities, (act: Act, at: number) => Act>>> = {
  /** Nobody takes over from one who lives: between its read and its write is a moment in which two may collide. */
  'no-replace': ({ step: _, pauseAfter: __, ...act }) => {
    return { ...dying(act), aheadMs: act.aheadMs % 4_000, takeover: false };
  },
  /** One at a time: the next begins once nothing of the one before is on its way. */
  'no-put': (act, at) => ({ ...dying(act), atMs: at * 4 * 60 * MINUTE_MS + (act.atMs % MINUTE_MS) }),
};

function dying({ stop, ...act }: Act): Act {
  return { ...act, ...(stop && stop.forMs === undefined && { stop }) };
}

const KINDS: Readonly<Record<Profile, readonly ActKind[]>> = {
  plain: ['run', 'run', 'run', 'run', 'reconcile', 'reconcile', 'accept'],
  delta: ['run', 'run', 'run', 'run', 'reconcile', 'reconcile', 'accept'],
  upkeep: ['run', 'run', 'run', 'reconcile', 'gc', 'gc', 'convert', 'verify'],
};

function drawAct(draw: Draw, profile: Profile, at: number): Act {
  const kind = at === 0 ? 'run' : pick(draw, KINDS[profile]);
  const isKilled = chance(draw, 35);
  const isPaused = chance(draw, 25);
  return {
    ...{ name: `${kind}-${at}`, kind },
    // Together, or one after the other.
    atMs: draw(2) === 0 ? draw(3_000) : draw(30 * MINUTE_MS),
    aheadMs: drawAhead(draw),
    ...(chance(draw, 8) && { step: { atMs: draw(10 * MINUTE_MS), aheadMs: drawAhead(draw) } }),
    ...(isKilled && { killAfter: 1 + draw(draw(3) === 0 ? 25 : 90) }),
    ...(isPaused && { pauseAfter: { asked: 1 + draw(80), forMs: pick(draw, [30_000, 120_000, 3_600_000]) } }),
    force: chance(draw, 25),
    allowShrink: chance(draw, 20),
    takeover: chance(draw, 20),
    select: chance(draw, 15) ? 1 : 0,
    concurrency: 1 + draw(3),
  };
}

/** Seconds as a rule, now and then minutes or weeks. */
function drawAhead(draw: Draw): number {
  const sign = draw(2) === 0 ? 1 : -1;
  switch (draw(12)) {
    case 0:
      return sign * draw(40 * DAY_MS);
    case 1:
      return sign * draw(30 * MINUTE_MS);
    case 2:
    case 3:
    case 4:
      return 0;
    default:
      return sign * draw(4_000);
  }
}
