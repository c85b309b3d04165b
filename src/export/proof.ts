/** What must hold before a day may replace another: its counts are the source's, and no series loses readings. */
import { RefusedError } from '../errors.ts';
import type { Clock, DayCounts, Job, Receipt } from '../model/index.ts';
import { formatVesselDay, MICROS_PER_HOUR } from '../model/index.ts';
import type { Detail } from '../publish/ledger.ts';
import { compareCounts, describeDisagreements, describeShrinkage, findShrinkage } from '../verify/compare.ts';
import { seriesTotals, totalsDigest } from '../verify/day-totals.ts';
import { CountsDisagreeError } from './clean-start.ts';
import { askDayCounts } from './source.ts';
import type { ResolvedSeries, SourceContext } from './source-context.ts';

/** The source's counts, and when they were asked. */
export interface SourceCounts {
  readonly counts: DayCounts;
  readonly askedAt: string;
}

/** What is known of a vessel-day while it is being exported. */
export interface ProofContext {
  readonly context: SourceContext;
  readonly series: ResolvedSeries;
  readonly clock: Clock;
}

/** A published day and the counts it was published with; undefined where those are lost. */
export interface PublishedDay {
  readonly receipt: Receipt;
  readonly detail: Detail | undefined;
}

/** Ask the source how many readings the day has. */
export async function askSource({ context, series, clock }: ProofContext): Promise<SourceCounts> {
  const askedAt = new Date(clock.nowMs()).toISOString();
  return { counts: await askDayCounts(context, series), askedAt };
}

/**
 * The never-shrink guard: a published day is not replaced by one that lost readings of a series. `source`: what
 * the source counted; undefined where it was not asked. Throws RefusedError `would-shrink`.
 */
export function guardAgainstShrinking(
  { context, series }: ProofContext,
  published: PublishedDay,
  candidate: DayCounts,
  source: SourceCounts | undefined,
): void {
  const { receipt, detail } = published;
  const lost =
    detail === undefined
      ? describeLostTotal(receipt, candidate)
      : describeShrinkage(findShrinkage(detail.ours, candidate, series.idOf), nameIn(series));
  if (lost === '') return;
  throw new RefusedError(
    'would-shrink',
    `${formatVesselDay(context.day)}: refused to replace the published day by one with fewer readings: ${lost}. The published day stays; if the source is right, run again with --allow-shrink`,
    source && digestOf(source),
  );
}

/** Digest of the totals by day: the one that a look-back compares. */
export function digestOf({ counts }: SourceCounts): string {
  return totalsDigest(seriesTotals(counts.toJson()));
}

/** Where the detail of the published day is lost or damaged, its total still guards it. */
function describeLostTotal(published: Receipt, candidate: DayCounts): string {
  const before = published.source?.rows ?? published.rows;
  const now = candidate.total();
  return now < before ? `${before} published, ${now} now (its detail object is missing or damaged)` : '';
}

function nameIn(series: ResolvedSeries): (timeSeriesId: string) => string {
  return (id) => series.idOf.get(id) ?? id;
}

/**
 * I1: step 7. The counts that prove the day; undefined where nothing was asked. Throws CountsDisagreeError when
 * ours are not the source's, not even when it is asked again: readings may have arrived while we fetched.
 */
export async function verifyCounts(
  proof: ProofContext,
  ours: DayCounts,
  source: SourceCounts | undefined,
): Promise<SourceCounts | undefined> {
  const { job, day } = proof.context;
  if (source === undefined || job.verify === 'off') return undefined;
  const options = { policy: job.verify, grain: grainOf(job) };
  if (compareCounts(ours, source.counts, options).length === 0) return source;
  const again = await askSource(proof);
  const found = compareCounts(ours, again.counts, options);
  if (found.length === 0) return again;
  throw new CountsDisagreeError(day, describeDisagreements(found, nameIn(proof.series)));
}

/** Hours can be compared where every row of ours lies in the same hour as the source's reading. */
export function grainOf(job: Job): 'hour' | 'day' {
  if (job.dataset === 'statistics') {
    return MICROS_PER_HOUR % (job.windowMicros ?? MICROS_PER_HOUR) === 0 ? 'hour' : 'day';
  }
  return job.transport === 'parquet' ? 'day' : 'hour';
}
