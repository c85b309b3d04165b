/**
 * When a schedule fires. Pure.
 *
 * A cron expression is matched against the wall clock of its zone. A matching time that a change of clocks skips fires when the clocks change, one that comes
 * twice fires the first time: a night is one firing, whatever a zone does. One that matches in every hour follows the real time instead. cron-parser only
 * matches, in UTC: in zones that jump at midnight it finds nothing for most of that day.
 */
import { createRequire } from 'node:module';
import type { CronExpression } from 'cron-parser';
import { messageOf } from '../errors.ts';
import type { Schedule } from '../model/index.ts';

const HOUR_MS = 3_600_000;
/** No change of clocks is longer than a day, and no wall clock is further from UTC than 15 hours. */
const LONGEST_CHANGE_MS = 26 * HOUR_MS;
const FURTHEST_MS = 15 * HOUR_MS;

/** The last moment at or before `nowMs` at which a schedule fired, in milliseconds since the epoch. */
export function lastFiringMs({ cron, timezone }: Schedule, nowMs: number): number {
  const isEveryHour = parse(cron).fields.hour.values.length === 24;
  if (isEveryHour) return lastInRealTime(cron, timezone, nowMs);
  return momentOf(timezone, lastMatch(cron, latestWallMs(timezone, nowMs)));
}

function lastInRealTime(cron: string, timezone: string, nowMs: number): number {
  const offset = offsetMs(timezone, nowMs);
  const firingMs = lastMatch(cron, nowMs + offset) - offset;
  if (offsetMs(timezone, firingMs) === offset) return firingMs;
  // Nothing has fired since the clocks changed.
  return lastInRealTime(cron, timezone, changeMs(timezone, firingMs, nowMs) - 1);
}

/** The expression's last match at or before a wall clock's time. Wall clocks' times are written as if in UTC. */
function lastMatch(cron: string, wallMs: number): number {
  const expression = parse(cron);
  expression.reset(new Date(wallMs + 1));
  return expression.prev().getTime();
}

/** Loaded when a schedule is looked at: most commands look at none. */
function cronParser(): typeof import('cron-parser').CronExpressionParser {
  return createRequire(import.meta.url)('cron-parser').CronExpressionParser;
}

const expressions = new Map<string, CronExpression>();

function parse(cron: string): CronExpression {
  // With the seed, an H in the expression is the same number each time.
  const parsed = expressions.get(cron) ?? cronParser().parse(cron, { tz: 'UTC', hashSeed: cron });
  expressions.set(cron, parsed);
  return parsed;
}

/** The latest time that the zone's wall clock has shown until now: after it was set back, the time before that. */
function latestWallMs(timezone: string, nowMs: number): number {
  const beforeMs = nowMs - LONGEST_CHANGE_MS;
  const [before, now] = [offsetMs(timezone, beforeMs), offsetMs(timezone, nowMs)];
  if (before <= now) return nowMs + now;
  return Math.max(nowMs + now, changeMs(timezone, beforeMs, nowMs) - 1 + before);
}

/** When the zone's wall clock first shows a time, or passes it over. */
function momentOf(timezone: string, wallMs: number): number {
  const [fromMs, toMs] = [wallMs - FURTHEST_MS, wallMs + FURTHEST_MS];
  for (const offset of [offsetMs(timezone, fromMs), offsetMs(timezone, toMs)])
    if (offsetMs(timezone, wallMs - offset) === offset) return wallMs - offset;
  return changeMs(timezone, fromMs, toMs);
}

/** The moment between two from which on the zone has the offset that it has at the second. */
function changeMs(timezone: string, fromMs: number, toMs: number): number {
  const offset = offsetMs(timezone, toMs);
  let [before, after] = [fromMs, toMs];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetMs(timezone, middle) === offset) after = middle;
    else before = middle;
  }
  return after;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** What a zone's wall clock is ahead of UTC. */
function offsetMs(timezone: string, atMs: number): number {
  const format =
    formats.get(timezone) ??
    new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: timezone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
  formats.set(timezone, format);
  const part = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const wallMs = Date.UTC(part.year!, part.month! - 1, part.day!, part.hour!, part.minute!, part.second!);
  return wallMs - Math.floor(atMs / 1_000) * 1_000;
}

export function cronFault(cron: string): string | undefined {
  try {
    lastMatch(cron, 0);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
