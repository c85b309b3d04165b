/** May what is counted take the place of the published day? */
import type { DayCounts, Receipt } from '../model/index.ts';
import { publishedReadings, seriesTotals, totalsOf } from '../proof/day-totals.ts';
import { guardAgainstShrinking } from '../proof/shrink-guard.ts';
import type { DayAttempt } from './day-attempt.ts';
import { hasSameSelect } from './fewer-series.ts';
import type { SourceCounts } from './source-counts.ts';

export type ShrinkGuard = (counts: DayCounts, source: SourceCounts | undefined) => void;

/** Refuses counts that are less than the published day's, by series where its detail is at hand. */
export async function openShrinkGuard(
  { claim, task, series }: DayAttempt,
  published: Receipt | undefined,
): Promise<ShrinkGuard> {
  if (published === undefined || task.allowShrink) return () => {};
  const detail = await claim.readDetail(published);
  const guarded = {
    total: publishedReadings(published),
    bySeries: detail && seriesTotals(detail.ours),
    names: detail?.series,
  };
  return (counts, source) =>
    guardAgainstShrinking({
      day: task.day,
      counted: 'readings',
      published: guarded,
      candidate: { total: counts.total(), bySeries: totalsOf(counts) },
      idOf: series.idOf,
      sameSelect: hasSameSelect(task, published),
      totalsSha256: source?.totalsSha256,
    });
}
