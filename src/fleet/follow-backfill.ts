/** Follows a backfill until it is covered: fills the queue and shows the progress. */
import { CancelledError, messageOf, RateLimitedError, RetriableError } from '../core/errors.ts';
import type { Job } from '../core/model/index.ts';
import { type Backfill, readBackfill } from '../lake/backfills.ts';
import { type BackfillDriver, driverOf, endCovered, stepDefined } from './backfills.ts';
import type { BackfillProgress } from './events.ts';
import type { PlanningPorts } from './nightly.ts';

export interface BackfillView {
  show(id: string, progress: BackfillProgress): void;
  print(text: string): void;
  /** Remove the progress line. */
  end(): void;
}

interface FollowOptions {
  readonly planning: PlanningPorts;
  readonly backfill: Backfill;
  readonly job: Job;
  readonly view: BackfillView;
  readonly intervalMs: number;
  readonly signal: AbortSignal;
}

type FollowEnd =
  | { readonly state: 'covered'; readonly progress: BackfillProgress }
  | { readonly state: 'stopped'; readonly reason: string };

/** Throws CancelledError when interrupted: the backfill stays defined, and the scheduler continues it. */
export async function followBackfill(options: FollowOptions): Promise<FollowEnd> {
  const { planning, backfill, job, view, intervalMs, signal } = options;
  const { clock, store } = planning.ports;
  let driver: BackfillDriver | undefined;
  let said = '';
  const sayOnce = (text: string) => {
    if (text !== said) view.print(text);
    said = text;
  };

  /** How it ended; undefined while it continues. */
  async function look(isFirst: boolean): Promise<FollowEnd | undefined> {
    // Its definition goes when it is covered, and others may cover, pause or cancel it too.
    const defined = isFirst ? backfill : await readBackfill(store, backfill.id);
    if (defined?.paused) return { state: 'stopped', reason: 'it was paused' };
    driver = driverOf(planning, defined ?? driver?.backfill ?? backfill, job, driver);
    const progress = await stepDefined(planning, driver, signal);
    if (progress.finished) {
      await endCovered(planning, backfill);
      return { state: 'covered', progress };
    }
    if (defined === undefined) return { state: 'stopped', reason: 'it was cancelled' };
    view.show(backfill.id, progress);
    if ((await planning.queue.workers()) === 0)
      sayOnce("no worker is connected: start one with 'vessel-export worker'");
    return undefined;
  }

  try {
    for (let isFirst = true; ; isFirst = false) {
      signal.throwIfAborted();
      try {
        const end = await look(isFirst);
        if (end !== undefined) return end;
      } catch (error) {
        if (!(error instanceof RetriableError || error instanceof RateLimitedError)) throw error;
        sayOnce(`cannot read its progress now, trying again: ${messageOf(error)}`);
      }
      await clock.sleep(intervalMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    view.print("the scheduler continues the backfill; 'vessel-export backfill cancel' ends it");
    throw new CancelledError('interrupted');
  } finally {
    view.end();
  }
}
