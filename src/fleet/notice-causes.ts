/**
 * The causes of notices: a row each, with what begins and ends it (as docs/monitoring.md says it), where the runbook has what
 * to do, and how it is found in the facts. No other module knows which causes there are.
 */
import { formatVesselDay, type Job, type VesselDay } from '../core/model/index.ts';
import { lastFiringMs } from '../core/plan/firings.ts';
import type { VesselTrouble } from '../export/events.ts';
import { describeWarnings, howToAccept } from '../lake/warnings.ts';
import type { DayTroubles, FleetFacts, JobFacts } from './notice-facts.ts';
import type { Cause } from './notify/cause-changes.ts';
import { describeHold } from './queue/hold.ts';

/** Whether a cause exists now. */
type Found = Pick<Cause, 'members' | 'text'> | 'none' | 'unknown';

export interface CauseRow<Facts> {
  readonly begins: string;
  readonly over: string;
  /** A section of docs/monitoring-runbook.md. */
  readonly runbook: string;
  /** The text that reports its end. */
  readonly end: string;
  /** How long it has to last before it is reported. */
  readonly settlesMs?: number;
  readonly find: (facts: Facts) => Found;
}

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
/** A night that was planned late in the day has an hour before it counts as late. */
const GRACE_MS = 60 * MINUTE_MS;
/** A scheduler that leads checks each job every few seconds; the first plan of years takes minutes. */
const NOT_PLANNED_MS = 15 * MINUTE_MS;
/** They are at least five minutes apart. */
const LOOK_BACK_FAILS = 3;
const NAMED = 5;

export const FLEET_CAUSES: Readonly<Record<string, CauseRow<FleetFacts>>> = {
  hold: {
    begins: 'the queue is [on hold](glossary.md#hold)',
    over: 'it continues',
    runbook: 'VesselExportOnHold',
    end: 'the queue continues',
    find({ hold }) {
      if (typeof hold === 'string') return hold;
      return found(hold.code, `the queue is on hold, and nothing is exported: ${describeHold(hold)}`);
    },
  },
  backfill: {
    begins:
      'a [backfill](glossary.md#backfill) could not continue for 15 minutes, for another reason than a hold or an unreachable lake',
    over: 'all of them continue, are paused or cancelled',
    runbook: 'VesselExportBackfillStuck',
    end: 'all backfills continue',
    settlesMs: 15 * MINUTE_MS,
    find({ hold, isUnplanned, heard: { 'stuck-backfills': backfills } }) {
      // A hold, or a lake for which nothing can be planned, is the reason.
      if (backfills === undefined || hold !== 'none' || isUnplanned) return 'unknown';
      return foundEach(
        [...backfills.stuck],
        'backfills cannot continue',
        ([id]) => id,
        ([id, reason]) => `${id}: ${reason}`,
      );
    },
  },
  'no-worker': {
    begins: 'no worker has been connected for 15 minutes, and vessel-days wait in the queue',
    over: 'a worker is connected, or nothing waits',
    runbook: 'VesselExportNobodyWorks',
    end: 'a worker is connected again, or nothing waits for one',
    settlesMs: 15 * MINUTE_MS,
    find({ hold, heard: { queue } }) {
      // During a hold the hold is the reason.
      if (queue === undefined || hold !== 'none') return 'unknown';
      if (queue.waiting === 0 || queue.workers > 0) return 'none';
      const text = `${vesselDays(queue.waiting)} wait in the queue, and no worker is connected: start 'vessel-export worker'`;
      return found('workers', text);
    },
  },
};

export const JOB_CAUSES: Readonly<Record<string, CauseRow<JobFacts>>> = {
  'not-planned': {
    begins: 'a job with a schedule has not been planned for 15 minutes, for whatever reason',
    over: 'it is planned',
    runbook: 'VesselExportNotPlanned',
    end: 'it is planned again',
    find({ job, nowMs, plannedAgoMs, plannableMs }) {
      if (job.schedule === undefined || plannedAgoMs < NOT_PLANNED_MS) return 'none';
      // It is over when the job was planned, and not because another process leads or the queue continues.
      const idleMs = Math.min(plannedAgoMs, plannableMs);
      if (idleMs < NOT_PLANNED_MS) return 'unknown';
      const since = new Date(nowMs - idleMs).toISOString().slice(0, 16);
      return found(job.name, `it has not been planned since ${since}Z; /ready of the scheduler says why`);
    },
  },
  failed: {
    begins: 'a vessel-day failed for good; each further one is reported once',
    over: 'all of them are published, by any process',
    runbook: 'VesselExportDaysFailed',
    end: 'no vessel-day is failed any more',
    find: ({ job, troubles }) => troubled(job, troubles?.failed, 'failed for good'),
  },
  refused: {
    begins: 'a vessel-day [would shrink](glossary.md#shrink), as a night or a look-back found',
    over: 'it is published, or a look-back finds that it loses nothing',
    runbook: 'VesselExportDaysRefused',
    end: 'no vessel-day is refused any more',
    find: ({ job, troubles }) =>
      troubled(job, troubles?.refused, 'would lose readings, and the published days stay'),
  },
  'fewer-series': {
    begins:
      "a vessel's day is published with [fewer series than before](receipts.md#fewer-series-than-before), or without series that are [another vessel's](receipts.md#series-of-another-vessel)",
    over: 'the series are back, or the warning is accepted',
    runbook: 'VesselExportSeriesMissing',
    end: 'no vessel has fewer series without acceptance any more',
    find({ heard: { warned }, plannedAgoMs }) {
      // The receipts, which contain the warnings, are read when the job is planned.
      if (warned === undefined || plannedAgoMs === Infinity) return 'unknown';
      return foundEach(
        warned.open,
        'series are missing or left out',
        // The same vessel on the next day is not new; if it loses other series, that is.
        ({ day, warnings }) => warnings.map(({ since }) => `${day.vessel} since ${since}`),
        ({ day, warnings }) => `${day.vessel}: ${describeWarnings(warnings)} (right? ${howToAccept(day)})`,
      );
    },
  },
  discovery: {
    begins:
      '[discovery](jobs-and-settings.md#discovery) left out a vessel that was exported in the last days, or returned a malformed IMO number; each further vessel is reported once',
    over: 'it returns them, or they count as having left',
    runbook: 'VesselExportVesselsUnsettled',
    end: 'discovery returns every vessel, or those that it left out count as having left',
    find({ heard: { discovered } }) {
      if (discovered === undefined) return 'unknown';
      const say = ({ vessel, message }: VesselTrouble) => `${vessel}: ${message}`;
      return foundEach(discovered.troubles, 'discovery differs from before', vesselOf, say);
    },
  },
  snapshots: {
    begins:
      'the UTC day of the last firing of a metadata schedule has passed without the snapshot of a vessel',
    over: 'they are taken again',
    runbook: 'VesselExportSnapshotsStopped',
    end: 'snapshots are taken again',
    find({ job, heard: { snapshots }, hold, nowMs, troubles }) {
      if (job.dataset !== 'metadata' || job.schedule === undefined) return 'none';
      // During a hold the hold is the reason; a vessel whose day has failed is reported as failed.
      if (snapshots === undefined || troubles === undefined || hold !== 'none') return 'unknown';
      const dates = [nowMs, nowMs - DAY_MS].map((ms) => new Date(ms).toISOString().slice(0, 10));
      const isTold = (id: string) => troubles.failed.has(id) || troubles.refused.has(id);
      const late = snapshots.late.filter(
        ({ vessel }) => !dates.some((date) => isTold(formatVesselDay({ job: job.name, vessel, date }))),
      );
      const say = ({ vessel, last }: (typeof late)[number]) => `${vessel} since ${last ?? 'it is planned'}`;
      return foundEach(late, 'no snapshots of metadata are taken', vesselOf, say);
    },
  },
  'look-back': {
    begins: `${LOOK_BACK_FAILS} consecutive look-backs of a job failed, for another reason than a hold`,
    over: 'one succeeds',
    runbook: 'VesselExportLookBackFails',
    end: 'a look-back has succeeded again',
    find({ job, hold, heard: { 'looked-back': lookBack, 'look-back-failed': fails } }) {
      if (job.reconcile === undefined) return 'none';
      if (fails === undefined) return lookBack === undefined ? 'unknown' : 'none';
      if (hold !== 'none' || fails.times < LOOK_BACK_FAILS) return 'unknown';
      return found(job.name, `look-backs fail, so that late data are not found: ${fails.reason}`);
    },
  },
  'not-compared': {
    begins:
      'a look-back could not compare published days: the source gave no counts or contradictory ones, or a receipt cannot be read',
    over: 'the next one can',
    runbook: 'VesselExportNotCompared',
    end: 'the last look-back could compare everything',
    find({ job, heard: { 'looked-back': lookBack } }) {
      if (job.reconcile === undefined) return 'none';
      if (lookBack === undefined) return 'unknown';
      const { uncompared, to } = lookBack;
      const text = `the look-back of ${to} could not find out whether published days have changed`;
      return foundEach(
        uncompared,
        text,
        ({ what }) => what,
        ({ what, reason }) => `${what}: ${reason}`,
      );
    },
  },
  'late-data': {
    begins: 'a look-back found more than `NOTIFY_LATE_DAYS` changed vessel-days',
    over: 'the next one does not',
    runbook: 'VesselExportLateData',
    end: 'the last look-back found no more late data than usual',
    find({ job, heard: { 'looked-back': lookBack }, lateDays }) {
      if (job.reconcile === undefined) return 'none';
      if (lookBack === undefined) return 'unknown';
      const { found: counts, to } = lookBack;
      const { changed = 0 } = counts;
      const text = `the look-back of ${to} found late readings for ${vesselDays(changed)}; they are exported again`;
      return changed <= lateDays ? 'none' : found(to, text);
    },
  },
  night: {
    begins:
      'at `NOTIFY_NIGHT_BY` (12:00 UTC) an earlier day is not complete; each further day is reported once',
    over: 'all of them are complete',
    runbook: 'VesselExportNightNotWhole',
    end: 'all nights are complete',
    // The failed set is read once a minute: a missing day may be in it by now, and is then reported as failed.
    settlesMs: 2 * MINUTE_MS,
    find(facts) {
      const { hold, troubles, heard } = facts;
      // A hold, or a lack of workers, is the reason.
      if (troubles === undefined || heard.missing === undefined || hold !== 'none') return 'unknown';
      if (heard.queue?.workers === 0 && heard.queue.waiting > 0) return 'unknown';
      return lateNights(facts, heard.missing.unpublished(), troubles);
    },
  },
};

function troubled({ name }: Job, days: ReadonlyMap<string, string> | undefined, what: string): Found {
  if (days === undefined) return 'unknown';
  const say = ([id, code]: readonly [string, string]) => `${id.slice(name.length + 1)} (${code})`;
  return foundEach([...days], `${vesselDays(days.size)} ${what}`, ([id]) => id, say);
}

const found = (member: string, text: string): Found => ({ members: [member], text });
const vesselOf = ({ vessel }: { readonly vessel: string }) => vessel;

/** A cause of several things: the members of each, and a text that describes the first few. */
function foundEach<T>(
  items: readonly T[],
  text: string,
  membersOf: (item: T) => string | string[],
  describe: (item: T) => string,
): Found {
  if (items.length === 0) return 'none';
  const shown = items.slice(0, NAMED).map(describe).join('; ');
  const more = items.length > NAMED ? `; and ${items.length - NAMED} more` : '';
  return { members: items.flatMap(membersOf), text: `${text}: ${shown}${more}` };
}

/** `none` if every day that was over by NOTIFY_NIGHT_BY, and was planned at least an hour ago, is in the lake. */
function lateNights(
  { job, nowMs, nightByMs }: JobFacts,
  open: Iterable<VesselDay>,
  { failed, refused }: DayTroubles,
): Found {
  if (job.schedule === undefined) return 'none';
  const plannedMs = lastFiringMs(job.schedule, nowMs - GRACE_MS);
  const dates = new Set<string>();
  let count = 0;
  for (const day of open) {
    const endMs = Date.parse(`${day.date}T00:00:00Z`) + DAY_MS;
    if (nowMs < endMs + nightByMs || plannedMs < endMs + job.schedule.settleMs) break;
    const id = formatVesselDay(day);
    if (failed.has(id) || refused.has(id)) continue;
    dates.add(day.date);
    count++;
  }
  if (count === 0) return 'none';
  const members = [...dates];
  const range =
    members.length === 1 ? members[0] : `${members.length} days, ${members[0]} to ${members.at(-1)},`;
  const text = `${vesselDays(count)} of ${range} are not in the lake yet; 'vessel-export status' has the reasons`;
  return { members, text };
}

function vesselDays(count: number): string {
  return count === 1 ? '1 vessel-day' : `${count.toLocaleString('en')} vessel-days`;
}
