/** The source's counts of a day while it is being exported: asked before it is fetched, and compared after. */

import type { Clock, DayCounts } from '../core/model/index.ts';
import {
  CountsDisagreeError,
  compareCounts,
  describeDisagreements,
  precisionOf,
} from '../core/proof/compare-counts.ts';
import { countsDigest } from '../core/proof/day-totals.ts';
import type { ResolvedSeries, SourceContext } from '../source/context.ts';
import { seriesName } from '../source/context.ts';
import { askDayCounts } from '../source/counts.ts';

/** The source's counts, and when they were asked. */
export interface SourceCounts {
  readonly counts: DayCounts;
  readonly askedAt: string;
  /** Digest of the totals by day: the one that a look-back compares. */
  readonly totalsSha256: string;
}

/** What asking takes. */
interface CountingContext {
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  readonly clock: Clock;
}

/** Ask the source how many readings the day has. */
export async function askSource({ context, series, clock }: CountingContext): Promise<SourceCounts> {
  const askedAt = new Date(clock.nowMs()).toISOString();
  const counts = await askDayCounts(context, series);
  return { counts, askedAt, totalsSha256: countsDigest(counts) };
}

/**
 * I1: step 7. The counts that prove the day; undefined where nothing was asked. Throws CountsDisagreeError when
 * ours are not the source's, not even when it is asked again: readings may have arrived while we fetched.
 */
export async function verifyCounts(
  counting: CountingContext,
  ours: DayCounts,
  source: SourceCounts | undefined,
): Promise<SourceCounts | undefined> {
  const { context, series } = counting;
  const { job, day } = context;
  if (source === undefined || job.verify === 'off') return undefined;
  const options = { policy: job.verify, precision: precisionOf(job) };
  if (compareCounts(ours, source.counts, options).length === 0) return source;
  const again = await askSource(counting);
  const disagreements = compareCounts(ours, again.counts, options);
  if (disagreements.length === 0) return again;
  const nameOf = (id: string) => seriesName(series, id);
  throw new CountsDisagreeError(
    day,
    `the readings fetched are not the readings the source counts: ${describeDisagreements(disagreements, nameOf)}`,
  );
}
