/** Schedules that meet by chance too seldom: who is stopped where, and what comes while he is away. The rest stays as drawn. */
import type { Act, Profile } from './history.ts';
import { chance, type Draw, pick } from './random.ts';
import { drawServiceFaults, type ServiceFaults } from './service.ts';
import { drawStop, type Stop } from './steps.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What a pattern makes of what was drawn. */
export interface Schedule {
  readonly acts: readonly Act[];
  readonly days: number;
  readonly service: ServiceFaults;
}

/** `none`: all as it was drawn. */
export const PATTERNS = {
  none: (schedule: Schedule) => schedule,

  /** The first is stopped at a step; others come while it is away, or as it comes back. */
  overtaken(schedule: Schedule, draw: Draw): Schedule {
    const [first, ...others] = schedule.acts as [Act, ...Act[]];
    const stop = drawStop(draw);
    const atMs = draw(3_000);
    const awayMs = stop.forMs ?? 20 * MINUTE_MS;
    const later = others.map((act, at): Act => {
      const whenMs = draw(3) === 0 ? awayMs - draw(20_000) : draw(awayMs);
      const isNext = at === 0;
      return {
        ...act,
        ...(isNext && { kind: 'run', force: draw(2) === 0, takeover: act.takeover || awayMs < 90_000 }),
        ...(isNext && chance(draw, 40) && { stop: drawStop(draw) }),
        atMs: Math.max(0, whenMs),
      };
    });
    return { ...schedule, acts: [stopped(first, atMs, stop), ...later] };
  },

  /** The service answers little: attempts end without a trace, and epochs come again. */
  failing(schedule: Schedule, draw: Draw): Schedule {
    const service = { ...drawServiceFaults(draw), refused: 20 + draw(60) };
    const acts = schedule.acts.flatMap((act, at) => {
      const one: Act = { ...act, kind: 'run', atMs: at * draw(3 * MINUTE_MS) };
      return [one, { ...one, name: `${one.name}-again`, atMs: one.atMs + draw(5 * MINUTE_MS) }];
    });
    return { ...schedule, acts, service };
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
    return { ...schedule, acts: [exporter, conversion(convertMs), ...others], days: 2 + draw(3) };
  },

  /** Somebody dies or sleeps for more than a day; then an export goes on, and somebody cleans up. */
  'a day later'(schedule: Schedule, draw: Draw): Schedule {
    const [first, second, ...others] = schedule.acts as [Act, Act, ...Act[]];
    const stop = drawStop(draw);
    const wokenMs = 25 * HOUR_MS + draw(HOUR_MS);
    const asleep = { ...stop, ...(stop.forMs !== undefined && { forMs: wokenMs }) };
    const aboutMs = draw(2) === 0 ? wokenMs - draw(MINUTE_MS) : 25 * HOUR_MS + draw(2 * MINUTE_MS);
    const next: Act = {
      ...bare(second),
      ...{ kind: 'run', atMs: Math.max(0, aboutMs - draw(10_000)), force: draw(3) === 0 },
      ...(draw(2) === 0 && { stop: drawStop(draw, false) }),
    };
    const gc: Act = {
      ...bare(second),
      name: 'gc-late',
      kind: 'gc',
      atMs: aboutMs + draw(20_000),
      aheadMs: 0,
    };
    const later = others.map((act) => ({
      ...act,
      atMs: act.atMs + (draw(2) === 0 ? HOUR_MS : DAY_MS + HOUR_MS),
    }));
    return { ...schedule, acts: [stopped(first, draw(3_000), asleep), next, gc, ...later] };
  },
} as const;
type Pattern = keyof typeof PATTERNS;

const CONVERTING: readonly Pattern[] = ['converted after a death', 'converted meanwhile'];

export function drawPattern(draw: Draw, profile: Profile, layout: string): Pattern {
  if (draw(3) === 0) return 'none';
  if (profile !== 'upkeep') return pick(draw, ['overtaken', 'overtaken', 'failing']);
  const ofLayout = layout === 'plain' ? CONVERTING : (['a day later'] as const);
  return pick(draw, ['overtaken', 'a day later', ...ofLayout]);
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
