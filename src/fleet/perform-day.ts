/** A vessel-day from the queue → its export, by the jobs this process knows. */
import type { VesselExportError } from '../core/errors.ts';
import { isRefusal, RefusedError } from '../core/errors.ts';
import type { Job } from '../core/model/index.ts';
import { formatVesselDay } from '../core/model/index.ts';
import { jobNamed } from '../core/names.ts';
import { isDue } from '../core/plan/due.ts';
import { settingsHash } from '../core/plan/settings-hash.ts';
import { checkDue } from '../export/due.ts';
import type { DayResult, OnExportEvent } from '../export/events.ts';
import type { SnapshotsBefore } from '../export/metadata-snapshot.ts';
import { snapshotsBefore } from '../export/metadata-snapshot.ts';
import type { ExportPorts } from '../export/ports.ts';
import { failedResult, performTask } from '../export/run/perform-task.ts';
import type { QueuedDay } from './queue/vessel-day-queue.ts';

/** `giveUp`: why the day is not to be attempted. */
export type PerformDay = (
  day: QueuedDay,
  signal: AbortSignal,
  giveUp?: VesselExportError,
  onEvent?: OnExportEvent,
) => Promise<DayResult>;

/**
 * Throws ConfigError `unknown-job` for a job that is not in JOBS_DIR here, and what the export throws, NotDueError too; but a day
 * that a look-back sent, and that would lose readings, has the result `refused`.
 */
export function createPerformDay(ports: ExportPorts, jobs: readonly Job[]): PerformDay {
  const snapshots = createSnapshotCache(ports);
  return async (queued, signal, giveUp, onEvent) => {
    const { job: name, vessel, date, kind: origin, compared } = queued;
    const { force = false, allowShrink = false, unlisted = false } = queued;
    const day = { job: name, vessel, date };
    const job = jobNamed(
      jobs,
      name,
      `here, which ${formatVesselDay(day)} is of (all schedulers and workers need the same job files)`,
    );
    // It may have waited: a snapshot of a day that is over can't be taken any more.
    if (!isDue(job, date, ports.clock.nowMs())) return { day, status: 'not-due' };
    checkDue(ports, job, date);
    const before = job.dataset === 'metadata' ? (await snapshots(job, date))(vessel) : {};
    const task = {
      job,
      day,
      settingsHash: settingsHash(job, ports.apiVersion),
      force,
      allowShrink,
      takeover: false,
      unlisted,
      ...(compared && { compared }),
      ...(giveUp && { giveUp }),
      ...(onEvent && { onEvent }),
      origin,
      ...before,
    };
    try {
      return await performTask(ports, task, signal);
    } catch (error) {
      // The published day stays, and the note keeps look-backs from trying again: nothing is left for the queue.
      if (compared !== undefined && error instanceof RefusedError && isRefusal(error))
        return failedResult(ports, day, error);
      throw error;
    }
  };
}

/** Snapshots of days that are over never change, so one look per job and date serves every vessel. */
function createSnapshotCache(ports: ExportPorts) {
  let last: { key: string; snapshots: Promise<SnapshotsBefore> } | undefined;
  return (job: Job, date: string): Promise<SnapshotsBefore> => {
    const key = `${job.name}/${date}`;
    if (last?.key !== key) {
      const snapshots = snapshotsBefore(ports, job);
      last = { key, snapshots };
      snapshots.catch(() => {
        last = undefined;
      });
    }
    return last.snapshots;
  };
}
