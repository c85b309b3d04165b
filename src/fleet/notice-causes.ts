/** The causes that people are told of, from what the scheduler knows. Pure. */
import type { OpenRemark } from '../lake/remarks.ts';
import { describeRemarks, howToAccept } from '../lake/remarks.ts';
import type { Job, VesselDay } from '../model/index.ts';
import { formatVesselDay } from '../model/index.ts';
import type { Cause } from '../notify/causes.ts';
import { lastFiringMs } from '../plan/firings.ts';
import type { Hold } from '../queue/hold.ts';

const DAY_MS = 86_400_000;
/** A night that has just begun late in the day is given an hour. */
const GRACE_MS = 3_600_000;
/** A scheduler that leads looks at each job every few seconds; the first look at years takes minutes. */
const NOT_PLANNED_MS = 900_000;
const NAMED = 5;

export function holdCause({ code, message, host }: Hold): Cause {
  return {
    kind: 'hold',
    members: [code],
    text: `the queue is on hold, and nothing is exported: ${code} at ${host}: ${message}`,
  };
}

/** Null while it is planned. */
export function notPlannedCause(job: string, lookedMs: number, nowMs: number): Cause | null {
  if (nowMs - lookedMs < NOT_PLANNED_MS) return null;
  const since = new Date(lookedMs).toISOString().slice(0, 16);
  const text = `${job}: it has not been planned since ${since}Z; /ready of the scheduler says why`;
  return { kind: 'not-planned', job, members: [job], text };
}

/**
 * Null where everything is in the lake that has to be: what was over `byMs` before now, and has been planned for an hour.
 * `except`: vessel-days that are told by themselves.
 */
export function nightCause(
  job: Job,
  open: Iterable<VesselDay>,
  byMs: number,
  nowMs: number,
  except: (id: string) => boolean,
): Cause | null {
  if (job.schedule === undefined) return null;
  const plannedMs = lastFiringMs(job.schedule, nowMs - GRACE_MS);
  const dates = new Set<string>();
  let count = 0;
  for (const day of open) {
    const endMs = Date.parse(`${day.date}T00:00:00Z`) + DAY_MS;
    if (nowMs < endMs + byMs || plannedMs < endMs + job.schedule.settleMs) break;
    if (except(formatVesselDay(day))) continue;
    dates.add(day.date);
    count++;
  }
  if (count === 0) return null;
  const members = [...dates];
  const range =
    members.length === 1 ? members[0] : `${members.length} days, ${members[0]} to ${members.at(-1)},`;
  const text = `${job.name}: ${vesselDays(count)} of ${range} are not in the lake yet; 'vessel-export status' has the reasons`;
  return { kind: 'night', job: job.name, members, text };
}

export function troubleCause(
  kind: 'failed' | 'refused',
  job: string,
  days: ReadonlyMap<string, string>,
): Cause | null {
  if (days.size === 0) return null;
  const what = kind === 'failed' ? 'failed for good' : 'would lose readings, and the published days stay';
  const named = listed([...days].map(([id, code]) => `${id.slice(job.length + 1)} (${code})`));
  return { kind, job, members: [...days.keys()], text: `${job}: ${vesselDays(days.size)} ${what}: ${named}` };
}

export function seriesCause(job: string, open: readonly OpenRemark[]): Cause | null {
  if (open.length === 0) return null;
  const named = listed(
    open.map(
      ({ day, warnings }) => `${day.vessel}: ${describeRemarks(warnings)} (right? ${howToAccept(day)})`,
    ),
  );
  // The same vessel on the next day is nothing new; other series that it loses are.
  const members = open.flatMap(({ day, warnings }) =>
    warnings.map(({ since }) => `${day.vessel} since ${since}`),
  );
  return { kind: 'fewer-series', job, members, text: `${job}: series are missing or left out: ${named}` };
}

/** `day`: that of the look-back. */
export function lateDataCause(job: string, changed: number, most: number, day: string): Cause | null {
  if (changed <= most) return null;
  const text = `${job}: readings came late for ${vesselDays(changed)}, as the look-back of ${day} found; they are exported again`;
  return { kind: 'late-data', job, members: [day], text };
}

function vesselDays(count: number): string {
  return count === 1 ? '1 vessel-day' : `${count.toLocaleString('en')} vessel-days`;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMED).join('; ');
  return names.length > NAMED ? `${shown}; and ${names.length - NAMED} more` : shown;
}
