/** Many vessel-days of some jobs, in this process: plan from the ledger, then perform what is left. */
import { runInline } from '../../core/concurrency.ts';
import { CancelledError } from '../../core/errors.ts';
import type { Job, VesselDay } from '../../core/model/index.ts';
import { formatVesselDay } from '../../core/model/index.ts';
import { isDue } from '../../core/plan/due.ts';
import { settingsHash } from '../../core/plan/settings-hash.ts';
import { removeFinishedClaims } from '../../lake/claims/claims.ts';
import { readPlannedDays } from '../../lake/ledger/planned-days.ts';
import { markRegularRun } from '../../lake/marks.ts';
import { whyNotDue } from '../due.ts';
import type { VesselTrouble } from '../job-vessels.ts';
import { findVessels } from '../job-vessels.ts';
import { snapshotsBefore } from '../metadata-snapshot.ts';
import type { ExportPorts, ExportTask, Progress } from '../ports.ts';
import type { DayResult } from './perform-task.ts';
import { failedResult, performTask } from './perform-task.ts';
import type { DayNews } from './tell-day.ts';
import { performTold } from './tell-day.ts';

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

/** Told what happens, as it happens. */
export interface ExportObserver {
  /** The vessel-days that will be worked on. */
  onPlanned(toDo: readonly VesselDay[]): void;
  /** Who else is to be told of a vessel-day that begins. */
  begin?(day: VesselDay): DayNews;
  onProgress(day: VesselDay, progress: Progress): void;
  onResult(result: DayResult): void;
  /** A vessel that discovery did not settle. */
  onVessel?(job: string, trouble: VesselTrouble): void;
}

/**
 * Export every vessel-day of the request that is due and not done. Failures of vessel-days are results, not
 * errors; one that every other would meet too leaves the rest `not-begun`. Throws CancelledError when
 * interrupted, and what went wrong while planning.
 */
export async function exportJobs(
  ports: ExportPorts,
  request: ExportRequest,
  observer: ExportObserver,
  signal: AbortSignal,
): Promise<void> {
  // A process that is set up for another lake asks the service nothing.
  await ports.layout.check(request.jobs.map(({ name }) => name));
  const tasks: ExportTask[] = [];
  for (const job of request.jobs) {
    for (const task of await openTasks(ports, job, request, observer, signal)) tasks.push(task);
    if (request.isRegular) await markRegularRun(ports.store, job, request.from);
  }
  await performTasks(ports, tasks, request.concurrency, observer, signal);
}

/** Export these vessel-days, `concurrency` at once. Failures and errors as those of `exportJobs`. */
export async function performTasks(
  ports: ExportPorts,
  tasks: readonly ExportTask[],
  concurrency: number,
  observer: ExportObserver,
  signal: AbortSignal,
): Promise<void> {
  observer.onPlanned(tasks.map(({ day }) => day));
  const waiting = new Set(tasks);
  try {
    await runInline(tasks, {
      concurrency,
      signal,
      perform: (task, scope, onWaiting) => {
        waiting.delete(task);
        const begun = { ...task, onWaiting };
        const news = observer.begin?.(task.day);
        if (news === undefined) return performTask(ports, begun, scope);
        return performTold(ports, begun, scope, news).finally(news.end);
      },
      onSettled: (task, settled) =>
        observer.onResult(
          'outcome' in settled ? settled.outcome : failedResult(ports, task.day, settled.error),
        ),
    });
  } catch (error) {
    for (const { day } of waiting) observer.onResult({ day, status: 'not-begun' });
    if (error instanceof CancelledError) throw error;
  }
}

const UNLISTED = { unlisted: true };

/** The tasks of a job that are to be performed; of the other vessel-days the observer is told. */
async function openTasks(
  ports: ExportPorts,
  job: Job,
  request: ExportRequest,
  observer: ExportObserver,
  signal: AbortSignal,
): Promise<ExportTask[]> {
  const { from, to, force, allowShrink, takeover } = request;
  const { vessels, unlisted, troubles } = await findVessels(ports, job, request, signal);
  for (const trouble of troubles) observer.onVessel?.(job.name, trouble);
  const range = { vessels, from, to };
  const { days, damaged } = await readPlannedDays(ports, job, range, {
    members: ['settingsHash', 'proof', 'rows'],
    project: ({ settingsHash, proof, rows }) => ({ settingsHash, proof, rows }),
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
      observer.onResult(reason ? failedResult(ports, day, reason) : { day, status: 'not-due' });
    } else if (state === 'done' && !force)
      observer.onResult({ day, status: 'done', rows: receipt?.rows ?? 0 });
    else {
      const onProgress = (progress: Progress) => observer.onProgress(day, progress);
      const facts = { ...snapshots?.(day.vessel), ...(unlisted.has(day.vessel) && UNLISTED) };
      return [{ job, day, ...how, onProgress, ...facts }];
    }
    return [];
  });
}
