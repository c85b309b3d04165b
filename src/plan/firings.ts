/** When a schedule fires. Pure. */
import { CronExpressionParser } from 'cron-parser';
import type { Schedule } from '../model/index.ts';

/** The last moment at or before `nowMs` at which a schedule fired, in milliseconds since the epoch. */
export function lastFiringMs(schedule: Schedule, nowMs: number): number {
  const options = { tz: schedule.timezone, currentDate: new Date(nowMs + 1) };
  return CronExpressionParser.parse(schedule.cron, options).prev().getTime();
}

/** What is wrong with a cron expression; undefined when nothing is. */
export function cronFault(cron: string): string | undefined {
  try {
    CronExpressionParser.parse(cron);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
