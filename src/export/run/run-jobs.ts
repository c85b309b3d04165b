/** Many vessel-days of some jobs, in this process: plan from the ledger, then perform what is left. */
import { runInline } from '../../core/concurrency.ts';
import { CancelledError } from '../../core/errors.ts';
import { formatVesselDay, type Job } from '../../core/model/index.ts';
import { isDue } from '../../core/plan/due.ts';
import { settingsHash } from '../../core/plan/settings-hash.ts';
import { removeFinishedClaims } from '../../lake/claims/claims.ts';
import { readPlannedDays } from '../../lake/ledger/planned-days.ts';
import { markRegularRun } from '../../lake/marks.ts';
import type { DayResult, ExportEvent, OnExportEvent } from '../events.ts';
import { findVessels } from '../job-vessels.ts';
import { snapshotsBefore } from '../metadata-snapshot.ts';
import type { ExportPorts, ExportTask } from '../ports.ts';
import { whyNotDue } from '../source-answers.ts';
import { failedResult, performTask } from './perform-task.ts';

interface ExportRequest {
  readonly jobs: readonly Job[];
  /** UTC dates, `to` exclusive. */
  readonly from: string;
  readonly to: string;
  /** In the place of the jobs' own vessels; empty: theirs. */
  readonly vessels: readonly string[];
  readonly force: boolean;
  readonly allowShrink: boolean;
  readonly takeover: boolean;
  /** It is about other days tomorrow: from its first one on the jobs' days are asked for, whatever becomes of it. */
  readonly isRegular?: boolean;
  /** Vessel-days at once. */
  readonly concurrency: number;
}

/**
 * Export every vessel-day of the request that is due and not done. Failures of vessel-days are results, not
 * errors; one that every other would meet too leaves the rest `not-begun`. Throws CancelledError when
 * interrupted, and what went wrong while planning.
 */
export async function exportJobs(
  ports: ExportPorts,
  request: ExportRequest,
  onEvent: OnExportEvent,
  signal: AbortSignal,
): Promise<void> {
  // A process that is set up for another lake asks the service nothing.
  await ports.layout.check(request.jobs.map(({ name }) => name));
  const tasks: ExportTask[] = [];
  for (const job of request.jobs) {
    for (const task of await openTasks(ports, job, request, onEvent, signal)) tasks.push(task);
    if (request.isRegular) await markRegularRun(ports.store, job, request.from);
  }
  await performTasks(ports, tasks, request.concurrency, onEvent, signal);
}

/** Export these vessel-days, `concurrency` at once. Failures and errors as those of `exportJobs`. */
export async function performTasks(
  ports: ExportPorts,
  tasks: readonly ExportTask[],
  concurrency: number,
  onEvent: OnExportEvent,
  signal: AbortSignal,
): Promise<void> {
  const onResult = (result: DayResult) => onEvent({ kind: 'day-result', result });
  onEvent({ kind: 'planned', days: tasks.map(({ day }) => day) });
  const waiting = new Set(tasks);
  try {
    await runInline(tasks, {
      concurrency,
      signal,
      perform: (task, scope, onWaiting) => {
        waiting.delete(task);
        const told = (event: ExportEvent) => {
          if (event.kind === 'day-step' && event.step === 'completed') onWaiting();
          onEvent(event);
        };
        return performTask(ports, { ...task, onEvent: told }, scope);
      },
      onSettled: (task, settled) =>
        onResult('outcome' in settled ? settled.outcome : failedResult(ports, task.day, settled.error)),
    });
  } catch (error) {
    for (const { day } of waiting) onResult({ day, status: 'not-begun' });
    if (error instanceof CancelledError) throw error;
  }
}

const UNLISTED = { unlisted: true };

/** The tasks of a job that are to be performed; the results of the other vessel-days are told. */
async function openTasks(
  ports: ExportPorts,
  job: Job,
  request: ExportRequest,
  onEvent: OnExportEvent,
  signal: AbortSignal,
): Promise<ExportTask[]> {
  const { from, to, force, allowShrink, takeover } = request;
  const { vessels, unlisted, troubles } = await findVessels(ports, job, request, signal);
  for (const trouble of troubles) onEvent({ kind: 'vessel-trouble', job: job.name, trouble });
  const onResult = (result: DayResult) => onEvent({ kind: 'day-result', result });
  const range = { vessels, from, to };
  const { days, damaged } = await readPlannedDays(ports, job, range, {
    members: ['rows'],
    writeIndex: true,
  });
  const unreadable = new Set(damaged.map(({ day }) => formatVesselDay(day)));
  await removeFinishedClaims(ports.store, job.name);
  const snapshots = job.dataset === 'metadata' ? await snapshotsBefore(ports, job) : undefined;
  const how = { settingsHash: settingsHash(job, ports.apiVersion), force, allowShrink, takeover };
  return days.flatMap(({ day, state, receipt }): ExportTask[] => {
    // What cannot be read fails its own vessel-day, which says so.
    if (state === 'not-due' && !unreadable.has(formatVesselDay(day))) {
      const isDueHere = isDue(job, day.date, ports.clock.nowMs());
      const reason = isDueHere ? whyNotDue(ports, job, day.date) : undefined;
      onResult(reason ? failedResult(ports, day, reason) : { day, status: 'not-due' });
    } else if (state === 'done' && !force) onResult({ day, status: 'done', rows: receipt?.rows ?? 0 });
    else {
      const facts = { ...snapshots?.(day.vessel), ...(unlisted.has(day.vessel) && UNLISTED) };
      return [{ job, day, ...how, ...facts }];
    }
    return [];
  });
}
