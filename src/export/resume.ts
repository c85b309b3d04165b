/** May an attempt go on where its predecessor stopped? */
import { createRequestStats } from '../fetch/exchange.ts';
import type { Checkpoint } from '../model/index.ts';
import { DayCounts, dayRange, formatVesselDay } from '../model/index.ts';
import type { Claim } from '../publish/claim.ts';
import type { UploadRef } from '../store/store.ts';
import { sameTotals } from '../verify/compare.ts';
import type { ExportPorts, ExportTask } from './ports.ts';
import { askTotals, resolveSeries } from './source.ts';

/** An adopted upload and what it holds. */
export interface ResumePoint {
  readonly checkpoint: Checkpoint;
  readonly upload: UploadRef;
}

/**
 * Adopt a predecessor's upload if the source still says the same of the time before its cursor: the same
 * series, the same counts. Otherwise undefined: the day starts clean, so that it is never a mixture of two
 * states of the source. Without statistics (`verify: off`) that cannot be known, so it starts clean too.
 */
export async function findResumePoint(
  ports: ExportPorts,
  task: ExportTask,
  claim: Claim,
  checkpoint: Checkpoint,
  signal: AbortSignal,
): Promise<ResumePoint | undefined> {
  const reason = await whyNot(ports, task, checkpoint, signal);
  const vesselDay = formatVesselDay(task.day);
  if (reason !== undefined) {
    ports.log.info({ vesselDay, reason }, 'the checkpoint cannot be used: starting clean');
    return undefined;
  }
  await claim.checkFence();
  const upload = await ports.store.adoptUpload(checkpoint.upload, checkpoint.parts, ports.nonce());
  if (upload === undefined) {
    ports.log.info(
      { vesselDay, reason: 'its upload is gone' },
      'the checkpoint cannot be used: starting clean',
    );
    return undefined;
  }
  const adopted = { ...checkpoint, upload };
  await claim.inherit({ checkpoint: adopted, sealed: null });
  ports.log.info({ vesselDay, parts: checkpoint.parts.length }, 'resuming');
  return { checkpoint: adopted, upload };
}

async function whyNot(
  ports: ExportPorts,
  task: ExportTask,
  checkpoint: Checkpoint,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (task.job.verify === 'off') return 'without statistics nobody knows whether the source has changed';
  const stats = createRequestStats();
  const context = { client: ports.client, job: task.job, day: task.day, log: ports.log, signal, stats };
  const series = await resolveSeries(context);
  const pinned = Object.entries(checkpoint.series);
  if (pinned.length !== series.idOf.size || pinned.some(([id, name]) => series.idOf.get(id) !== name)) {
    return 'the set of series has changed';
  }
  const { fromMicros } = dayRange(task.day.date);
  const totals = await askTotals(context, series, { fromMicros, toMicros: checkpoint.cursorMicros });
  const ours = DayCounts.fromJson(fromMicros, checkpoint.counts);
  return sameTotals(ours, totals) ? undefined : 'the source has changed before its cursor';
}
