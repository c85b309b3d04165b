/**
 * The source's answers about a vessel-day: its clock, the day's series, and its counts, requested before the readings are
 * fetched and compared after. Series and counts are prefetched while the day is being claimed, because an answer takes longer
 * than a request to the lake. Readings are fetched only once the claim stands, and the never-shrink guard has compared these
 * counts with the receipt that was read under it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { NotDueError } from '../core/errors.ts';
import { type DayCounts, type Job, NO_LONGER, type Receipt } from '../core/model/index.ts';
import { isDueByService, untilDueMs } from '../core/plan/due.ts';
import {
  CountsDisagreeError,
  compareCounts,
  describeDisagreements,
  precisionOf,
} from '../core/proof/compare-counts.ts';
import { countsDigest } from '../core/proof/day-totals.ts';
import type { Claim } from '../lake/claims/claim.ts';
import type { Inheritance } from '../lake/claims/claims.ts';
import { createSourceContext, seriesName } from '../source/context.ts';
import { askDayCounts } from '../source/counts.ts';
import { resolveSeries } from '../source/series.ts';
import type { AskedDay, ExportPorts, ExportTask } from './ports.ts';

export interface SourceCounts {
  readonly counts: DayCounts;
  readonly askedAt: string;
  /** Digest of the totals by day, which a look-back compares. */
  readonly totalsSha256: string;
}

export type SourceAnswers = ReturnType<typeof askSource>;

/** Request the series of a vessel-day, then its counts; undefined if the job needs none. */
export function askSource(ports: ExportPorts, task: ExportTask, signal: AbortSignal) {
  const { job, day } = task;
  const stopped = new AbortController();
  const startedAt = new Date(ports.clock.nowMs()).toISOString();
  const context = createSourceContext(ports, job, day, AbortSignal.any([signal, stopped.signal]));
  const series = resolveSeries(context).then((found) => {
    checkDue(ports, job, day.date);
    return found;
  });
  const counts = series.then((found) =>
    job.verify === 'off' ? undefined : askCounts({ ports, context, series: found }),
  );
  // The error is thrown where the answers are awaited, if they are.
  for (const answer of [series, counts]) answer.catch(() => {});
  return {
    ...{ context, startedAt, series, counts },
    stop: () => stopped.abort(NO_LONGER),
  };
}

export type Prefetch = ReturnType<typeof createPrefetch>;

/** The same, begun while the day is being claimed. */
export function createPrefetch(ports: ExportPorts, task: ExportTask, signal: AbortSignal) {
  let begun: { readonly before: Receipt | undefined; readonly answers: SourceAnswers } | undefined;
  const stop = () => begun?.answers.stop();
  // The spans belong to the vessel-day, and not to its claim.
  const outside = AsyncLocalStorage.snapshot();
  return {
    /** Begin, with the receipt of that moment. */
    begin(before: Receipt | undefined): void {
      if (task.job.dataset !== 'metadata' && task.giveUp === undefined)
        begun ??= { before, answers: outside(() => askSource(ports, task, signal)) };
    },
    /** The answers, if no attempt has published since and no predecessor has left anything; otherwise they are dropped. */
    under(claim: Claim, { receipt, predecessor, sealedBefore }: Inheritance): SourceAnswers | undefined {
      if (begun === undefined) return undefined;
      const isUntouched = predecessor === undefined && sealedBefore === undefined;
      if (!isUntouched || receipt?.epoch !== begun.before?.epoch) {
        stop();
        return undefined;
      }
      claim.signal.addEventListener('abort', stop, { once: true });
      return begun.answers;
    },
    stop,
  };
}

type Counting = Pick<AskedDay, 'ports' | 'context' | 'series'>;

async function askCounts({ ports, context, series }: Counting): Promise<SourceCounts> {
  const askedAt = new Date(ports.clock.nowMs()).toISOString();
  const counts = await askDayCounts(context, series);
  return { counts, askedAt, totalsSha256: countsDigest(counts) };
}

/**
 * I1: step 7. The counts that prove the day; undefined if none were requested. Throws CountsDisagreeError if ours differ from
 * the source's, even after a second request: readings may have arrived while we fetched.
 */
export async function verifyCounts(
  counting: Counting,
  ours: DayCounts,
  source: SourceCounts | undefined,
): Promise<SourceCounts | undefined> {
  const { context, series } = counting;
  const { job, day } = context;
  if (source === undefined || job.verify === 'off') return undefined;
  const options = { policy: job.verify, precision: precisionOf(job) };
  if (compareCounts(ours, source.counts, options).length === 0) return source;
  const again = await askCounts(counting);
  const disagreements = compareCounts(ours, again.counts, options);
  if (disagreements.length === 0) return again;
  const differences = describeDisagreements(disagreements, (id) => seriesName(series, id));
  throw new CountsDisagreeError(
    day,
    `the readings fetched are not the readings the source counts: ${differences}`,
  );
}

/** Why a vessel-day is not due by the service's clock; undefined if it is, or if that clock is unknown. */
export function whyNotDue(
  { client, clock }: Pick<ExportPorts, 'client' | 'clock'>,
  job: Job,
  date: string,
): NotDueError | undefined {
  const serverMs = client.serverNowMs();
  if (serverMs === undefined || isDueByService(job, date, serverMs)) return undefined;
  const minutes = Math.round((serverMs - clock.nowMs()) / 60_000);
  const apart = `${Math.abs(minutes)} minutes ${minutes < 0 ? 'behind' : 'ahead of'} this machine's`;
  const text = `${date} is not due by the clock of the query service, which is ${apart}; correct this machine's clock, or inform the operator of the service`;
  return new NotDueError(text, untilDueMs(job, date, serverMs));
}

/** Throws NotDueError if the day is not over by the service's clock. */
export function checkDue(ports: ExportPorts, job: Job, date: string): void {
  const reason = whyNotDue(ports, job, date);
  if (reason !== undefined) throw reason;
}
