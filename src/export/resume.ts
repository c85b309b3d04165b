/** Decides whether an attempt may continue where its predecessor stopped. */
import { DataError, HttpStatusError, stopsAll } from '../core/errors.ts';
import type { Checkpoint, OpenCheckpoint } from '../core/model/index.ts';
import { DayCounts, dayRange, FORMAT_VERSION, formatVesselDay } from '../core/model/index.ts';
import { precisionOf } from '../core/proof/compare-counts.ts';
import { compareSeries, type SourceSeries } from '../core/proof/compare-values.ts';
import { SeriesValues } from '../core/proof/series-values.ts';
import { openCheckpoint } from '../lake/claims/claim-file.ts';
import type { ResolvedSeries, SourceContext } from '../source/context.ts';
import { createSourceContext, seriesName } from '../source/context.ts';
import { askValues } from '../source/day-values.ts';
import { resolveSeries } from '../source/series.ts';
import type { UploadRef } from '../store/store.ts';
import type { ClaimedDay, ExportPorts, ExportTask } from './ports.ts';

export interface ResumePoint {
  readonly checkpoint: OpenCheckpoint;
  readonly upload: UploadRef;
}

/**
 * Adopt a predecessor's upload if the source has not changed for the time before its cursor: the same series, counts, times
 * and values. Otherwise undefined: the day starts clean, so that it is never a mixture of two states of the source. Without
 * statistics (`verify: off`) that cannot be known, so it starts clean too.
 */
export async function findResumePoint(
  { ports, task, claim }: Omit<ClaimedDay, 'previous'>,
  checkpoint: Checkpoint,
  signal: AbortSignal,
): Promise<ResumePoint | undefined> {
  const vesselDay = formatVesselDay(task.day);
  const startClean = (reason: string) => {
    ports.log.info({ vesselDay, reason }, 'the checkpoint cannot be used: starting clean');
    return undefined;
  };
  const outdated = await whyOutdated(ports, task, checkpoint, signal);
  if (outdated !== undefined) return startClean(outdated);
  await claim.checkFence();
  const upload = await ports.store.adopt(checkpoint.upload, checkpoint.parts, ports.nonce());
  if (upload === undefined) return startClean('its upload is gone, or the store cannot fence it');
  const adopted = { ...openCheckpoint(checkpoint), upload };
  await claim.inherit({ checkpoint: adopted, sealed: null });
  ports.log.info({ vesselDay, parts: checkpoint.parts.length }, 'resuming');
  return { checkpoint: adopted, upload };
}

/** Why a checkpoint may differ from what the source has now; undefined if it does not. */
async function whyOutdated(
  ports: ExportPorts,
  task: ExportTask,
  checkpoint: Checkpoint,
  signal: AbortSignal,
): Promise<string | undefined> {
  if ((checkpoint.formatVersion ?? 1) !== FORMAT_VERSION)
    return 'its row groups are of another format version';
  if (task.job.verify === 'off') return 'without statistics it is unknown whether the source has changed';
  const context = createSourceContext(ports, task.job, task.day, signal);
  const series = await resolveSeries(context);
  const pinned = Object.entries(checkpoint.series);
  if (pinned.length !== series.idOf.size || pinned.some(([id, name]) => series.idOf.get(id) !== name)) {
    return 'the set of series has changed';
  }
  return whatChanged(context, series, checkpoint);
}

/** Differences of the source for the time before the cursor: counts, times and values. */
async function whatChanged(
  context: SourceContext,
  series: ResolvedSeries,
  checkpoint: Checkpoint,
): Promise<string | undefined> {
  const { fromMicros } = dayRange(context.day.date);
  const ours = DayCounts.fromJson(fromMicros, checkpoint.counts);
  const { bySeries } = SeriesValues.fromJson(checkpoint.values ?? {});
  const numeric = [...bySeries].flatMap(([id, { jsons }]) => (jsons === 0 ? [id] : []));
  const range = { fromMicros, toMicros: checkpoint.cursorMicros };
  let now: ReadonlyMap<string, SourceSeries>;
  try {
    now = await askValues(context, series, { numeric, range });
  } catch (error) {
    const isNoAnswer = error instanceof DataError || (error instanceof HttpStatusError && !stopsAll(error));
    if (!isNoAnswer) throw error;
    return `the source does not say what it has before its cursor: ${error.message}`;
  }
  const nameOf = (id: string) => seriesName(series, id);
  for (const id of new Set([...ours.ids(), ...now.keys()])) {
    const [before, counted] = [ours.seriesTotal(id), now.get(id)?.count ?? 0];
    if (before !== counted)
      return `the source has changed before its cursor: series ${nameOf(id)}: ${before} readings then, ${counted} now`;
    if (before === 0) continue;
    const rows = bySeries.get(id);
    if (rows === undefined) return `nothing is known of the values of series ${nameOf(id)} before its cursor`;
    const { differences, missing } = compareSeries(
      ours.seriesSpan(id)!,
      rows,
      now.get(id)!,
      precisionOf(context.job),
    );
    const [difference] = differences;
    if (difference !== undefined)
      return `the source has changed before its cursor: ${difference.aggregation} of series ${nameOf(id)}: ${difference.lake} then, ${difference.source} now`;
    if (missing.length > 0) return `the source gave no ${missing.join(', ')} of series ${nameOf(id)}`;
  }
  return undefined;
}
