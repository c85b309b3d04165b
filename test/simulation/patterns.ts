/** Schedules that meet by chance too seldom: who is stopped where, and what comes while he is away. The rest stays as drawn. */
import type { Act, History, Profile } from './history.ts';
import { chance, type Draw, pick } from './random.ts';
import { drawServiceFaults, type ServiceFaults } from './service.ts';
import type { SourceChange } from './source.ts';
import { drawStop, type Step, type Stop } from './steps.ts';
import type { StoreFaults } from './store.ts';

export const FIRST_DATE = '2026-01-03';
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What a pattern makes of what was drawn. */
export interface Schedule {
  readonly acts: readonly Act[];
  readonly days: number;
  readonly service: ServiceFaults;
  readonly store: StoreFaults;
  readonly changes: readonly SourceChange[];
  readonly log: History['log'];
}

/** `none`: all as it was drawn. */
export const PATTERNS = {
  none: (schedule: Schedule) => schedule,

  /** The first is stopped at a step; others come while it is away, or as it comes back. */
  overtaken(schedule: Schedule, draw: Draw): Schedule {
    const [first, ...others] = schedule.acts as [Act, ...Act[]];
    const stop = draw(3) === 0 ? drawLateStop(draw) : drawStop(draw);
    const atMs = draw(3_000);
    const awayMs = stop.forMs ?? 20 * MINUTE_MS;
    const later = others.map((act, at): Act => {
      const whenMs = draw(3) === 0 ? awayMs - draw(20_000) : draw(awayMs);
      const isNext = at === 0;
      return {
        ...act,
        ...(isNext && { kind: 'run', force: draw(2) === 0, takeover: act.takeover || awayMs < 90_000 }),
        ...(isNext && chance(draw, 40) && { stop: draw(2) === 0 ? drawLateStop(draw) : drawStop(draw) }),
        atMs: Math.max(0, whenMs),
      };
    });
    // Some two are alone: nobody sets right what they leave.
    const many = draw(3) === 0 ? 1 : later.length;
    return { ...schedule, acts: [stopped(first, atMs, stop), ...later.slice(0, many)] };
  },

  /**
   * One sleeps while it claims, and another publishes; what the source then loses the sleeper is not to lose. In some
   * the day was published before, with less.
   */
  outrun(schedule: Schedule, draw: Draw): Schedule {
    const [first, second, ...others] = schedule.acts as [Act, Act, ...Act[]];
    const isAgain = draw(3) > 0;
    const [fromMs, forMs] = [isAgain ? 120_000 : 0, pick(draw, [120_000, HOUR_MS] as const)];
    const step = pick(draw, ['looks for others', 'looks for others', 'writes into a claim'] as const);
    const nth = step === 'looks for others' ? 2 : 1 + draw(2);
    const honest = { kind: 'run', force: isAgain, allowShrink: false, aheadMs: 0 } as const;
    const publisher: Act = { ...bare(first), ...honest, atMs: fromMs + draw(500) };
    const stop = { step, nth, isSent: false, forMs };
    const sleeper: Act = { ...bare(second), ...honest, atMs: fromMs + draw(1_000), takeover: true, stop };
    const before = isAgain ? [{ ...publisher, force: false, atMs: 0 }] : [];
    const later = others.map((act) => ({ ...act, atMs: act.atMs + 2 * HOUR_MS }));
    const change = (atMs: number, kind: SourceChange['kind']): SourceChange => {
      return { atMs, kind, series: draw(6), date: FIRST_DATE, at: draw(100_000) };
    };
    const goes = change(fromMs + 30_000 + draw(forMs - 30_000), draw(3) > 0 ? 'goes' : 'leaves');
    const changes = isAgain ? [change(60_000, 'comes'), goes] : [goes];
    return { ...schedule, acts: [...before, publisher, sleeper, ...later], changes };
  },

  /** The first sleeps for half a minute before it commits; meanwhile the log goes on, and is cleaned. */
  'left behind'(schedule: Schedule, draw: Draw): Schedule {
    const [first, ...others] = schedule.acts as [Act, ...Act[]];
    const stop: Stop = { step: 'commits', nth: 1 + draw(5), isSent: false, forMs: 30_000 };
    const later = others.map(
      (act): Act => ({ ...bare(act), kind: 'run', atMs: draw(25_000), force: true, takeover: false }),
    );
    return {
      ...schedule,
      acts: [stopped({ ...first, aheadMs: 0 }, draw(3_000), stop), ...later],
      ...{ days: 2 + draw(2), log: { entriesMs: 0, checkpointVersions: 2 } },
    };
  },

  /** The service answers little: attempts end without a trace, and epochs come again, as requests do. */
  failing(schedule: Schedule, draw: Draw): Schedule {
    const service = { ...drawServiceFaults(draw), refused: 20 + draw(60) };
    const acts = schedule.acts.flatMap((act, at) => {
      const one: Act = { ...act, kind: 'run', atMs: at * draw(3 * MINUTE_MS) };
      return [one, { ...one, name: `${one.name}-again`, atMs: one.atMs + draw(5 * MINUTE_MS) }];
    });
    const doubled = draw(2) === 0 ? 20 + draw(60) : schedule.store.doubled;
    return { ...schedule, acts, service, store: { ...schedule.store, doubled } };
  },

  /** Whoever exports first dies on the way, and the next to look at what it has left is a conversion. */
  'converted after a death'(schedule: Schedule, draw: Draw): Schedule {
    const [first, ...others] = schedule.acts as [Act, ...Act[]];
    const { forMs: _, ...stop } = drawStop(draw);
    const later = others.map((act) => ({ ...act, atMs: act.atMs + 20 * MINUTE_MS }));
    return {
      ...schedule,
      acts: [stopped(first, draw(3_000), stop), conversion(15 * MINUTE_MS), ...later],
    };
  },

  /** A conversion begins while exports go on from day to day, one of them asleep for a while. */
  'converted meanwhile'(schedule: Schedule, draw: Draw): Schedule {
    const [first, ...others] = schedule.acts as [Act, ...Act[]];
    const stop = drawStop(draw, false);
    const exporter: Act = { ...bare(first), atMs: draw(3_000), ...(draw(2) === 0 && { stop }) };
    const convertMs = draw(3) === 0 ? draw(60_000) : draw(12_000);
    const days = 2 + draw(3);
    if (draw(2) === 0) return { ...schedule, acts: [exporter, conversion(convertMs), ...others], days };
    // Another takes over from a conversion that sleeps, and exports go on in what it has made.
    const asleep: Stop = { step: 'commits', nth: 1 + draw(2), isSent: false, forMs: HOUR_MS };
    const next = conversion(convertMs + 2 * MINUTE_MS + draw(10 * MINUTE_MS));
    const exporters = others.map(
      (act): Act => ({
        ...bare(act),
        kind: 'run',
        force: true,
        aheadMs: 0,
        atMs: 20 * MINUTE_MS + draw(HOUR_MS),
      }),
    );
    return {
      ...schedule,
      acts: [exporter, { ...conversion(convertMs), stop: asleep }, next, ...exporters],
      days,
    };
  },

  /** Somebody dies or sleeps for more than a day; then an export goes on, and somebody cleans up, or falls asleep over it. */
  'a day later'(schedule: Schedule, draw: Draw): Schedule {
    const [first, second, ...others] = schedule.acts as [Act, Act, ...Act[]];
    const stop = drawLateStop(draw);
    const wokenMs = 25 * HOUR_MS + draw(HOUR_MS);
    const asleep = { ...stop, ...(stop.forMs !== undefined && { forMs: wokenMs }) };
    const aboutMs = draw(2) === 0 ? wokenMs - draw(MINUTE_MS) : 25 * HOUR_MS + draw(2 * MINUTE_MS);
    const nextMs = draw(2) === 0 ? aboutMs + 2 * HOUR_MS : aboutMs - draw(10_000);
    const next: Act = {
      ...bare(second),
      ...{ kind: 'run', atMs: nextMs, force: draw(3) === 0, aheadMs: 0 },
      ...(draw(2) === 0 && { stop: drawLateStop(draw, false) }),
    };
    const step = pick(draw, ['looks for others', 'removes claims', 'commits'] as const);
    const gcStop = { step, nth: 1 + draw(2), isSent: false, forMs: pick(draw, [30_000, 120_000] as const) };
    const gc: Act = {
      ...bare(second),
      ...{ kind: 'gc', atMs: aboutMs + draw(20_000), aheadMs: 0 },
      ...(draw(2) === 0 && { stop: gcStop }),
    };
    const later = others.map((act) => ({
      ...act,
      atMs: act.atMs + (draw(2) === 0 ? HOUR_MS : DAY_MS + HOUR_MS),
    }));
    return { ...schedule, acts: [stopped(first, draw(3_000), asleep), next, gc, ...later.slice(0, 2)] };
  },
} as const;
type Pattern = keyof typeof PATTERNS;

const CONVERTING: readonly Pattern[] = ['converted after a death', 'converted meanwhile'];

export function drawPattern(draw: Draw, profile: Profile, layout: string): Pattern {
  if (draw(3) === 0) return 'none';
  if (profile === 'plain') return pick(draw, ['overtaken', 'overtaken', 'outrun', 'failing']);
  if (profile === 'delta') return pick(draw, ['overtaken', 'outrun', 'left behind', 'failing']);
  const ofLayout = layout === 'plain' ? CONVERTING : (['a day later', 'left behind'] as const);
  return pick(draw, ['overtaken', 'a day later', ...ofLayout]);
}

const LATE_STEPS = ['completes', 'commits', 'writes the detail'] as const;

/** Mostly where a file is there, and nobody's yet. */
function drawLateStop(draw: Draw, mayDie = true): Stop {
  const stop = drawStop(draw, mayDie);
  const step: Step = draw(2) === 0 ? stop.step : pick(draw, LATE_STEPS);
  return { ...stop, step };
}

/** Without a fate of its own. */
function bare({ killAfter: _, pauseAfter: __, step: ___, ...act }: Act): Act {
  return act;
}

function stopped(act: Act, atMs: number, stop: Stop): Act {
  return { ...bare(act), kind: 'run', atMs, stop };
}

function conversion(atMs: number): Act {
  return {
    ...{ name: 'convert-early', kind: 'convert', atMs, aheadMs: 0, select: 0 },
    ...{ force: false, allowShrink: false, takeover: false, concurrency: 1 },
  };
}
