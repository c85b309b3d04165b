/**
 * What the source says of a vessel-day before it is fetched: its series, and then its counts. Asked as early as may be,
 * while the day is claimed: an answer takes longer than a request to the lake. A day that is done asks nothing; readings
 * are fetched only once the claim stands, and the never-shrink guard has compared these counts with the receipt that was
 * read under it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Receipt } from '../core/model/index.ts';
import { NO_LONGER } from '../core/model/index.ts';
import type { Claim } from '../lake/claims/claim.ts';
import type { Inheritance } from '../lake/claims/claims.ts';
import type { ResolvedSeries, SourceContext } from '../source/context.ts';
import { createSourceContext } from '../source/context.ts';
import { resolveSeries } from '../source/series.ts';
import { checkDue } from './due.ts';
import type { ExportPorts, ExportTask } from './ports.ts';
import type { SourceCounts } from './source-counts.ts';
import { askSource } from './source-counts.ts';

export interface AskedSource {
  readonly context: SourceContext;
  readonly startedAt: string;
  /** Throws what `resolveSeries` throws, and NotDueError. */
  readonly series: Promise<ResolvedSeries>;
  /** Undefined where the job asks for no counts. Throws what `series` and `askSource` throw. */
  readonly source: Promise<SourceCounts | undefined>;
  /** Ends what is still being asked. */
  stop(): void;
}

/** Ask for the series of a vessel-day, and then for its counts. */
export function askAboutDay(ports: ExportPorts, task: ExportTask, signal: AbortSignal): AskedSource {
  const { job, day } = task;
  const stopped = new AbortController();
  const startedAt = new Date(ports.clock.nowMs()).toISOString();
  const context = createSourceContext(ports, job, day, AbortSignal.any([signal, stopped.signal]));
  const series = resolveSeries(context).then((found) => {
    checkDue(ports, job, day.date);
    return found;
  });
  const source = series.then((found) =>
    job.verify === 'off' ? undefined : askSource({ context, series: found, clock: ports.clock }),
  );
  // Told to whoever waits for them, if anybody does.
  for (const asked of [series, source]) asked.catch(() => {});
  return { context, startedAt, series, source, stop: () => stopped.abort(NO_LONGER) };
}

/** The same, begun while the day is being claimed. */
export interface EarlyQuestion {
  /** Begin, with the receipt that there was then. */
  begin(before: Receipt | undefined): void;
  /**
   * What was asked, if it may count under the claim: nobody has published since, and nobody has left a checkpoint that
   * has to be compared first. Anything else is dropped.
   */
  under(claim: Claim, inheritance: Inheritance): AskedSource | undefined;
  stop(): void;
}

export function createEarlyQuestion(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
): EarlyQuestion {
  let begun: { readonly before: Receipt | undefined; readonly asked: AskedSource } | undefined;
  const stop = () => begun?.asked.stop();
  // Of the vessel-day, and not of its claim, whoever traces it.
  const outside = AsyncLocalStorage.snapshot();
  return {
    begin(before) {
      if (task.job.dataset !== 'metadata' && task.giveUp === undefined)
        begun ??= { before, asked: outside(() => askAboutDay(ports, task, signal)) };
    },
    under(claim, { receipt, predecessor, sealedBefore }) {
      if (begun === undefined) return undefined;
      const isUntouched = predecessor === undefined && sealedBefore === undefined;
      if (!isUntouched || receipt?.epoch !== begun.before?.epoch) {
        stop();
        return undefined;
      }
      claim.signal.addEventListener('abort', stop, { once: true });
      return begun.asked;
    },
    stop,
  };
}
