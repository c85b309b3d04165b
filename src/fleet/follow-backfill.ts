/** Stay with a backfill until it is covered: tops the queue up and shows how far it is. */
import { CancelledError, messageOf, RateLimitedError, RetriableError } from '../errors.ts';
import type { Clock } from '../model/index.ts';
import { formatCount, formatSeconds } from '../terminal/format.ts';
import type { Screen } from '../terminal/progress-view.ts';
import type { BackfillDriver, BackfillProgress } from './backfill-driver.ts';
import type { Backfill } from './backfills.ts';
import { endBackfill, readBackfill } from './backfills.ts';
import type { PlanningPorts } from './nightly.ts';

export interface FollowOptions {
  readonly planning: PlanningPorts;
  readonly backfill: Backfill;
  readonly driver: BackfillDriver;
  readonly screen: Screen;
  readonly intervalMs: number;
  readonly signal: AbortSignal;
}

export type FollowEnd =
  | { readonly state: 'covered'; readonly progress: BackfillProgress }
  | { readonly state: 'stopped'; readonly reason: string };

/** Throws CancelledError when interrupted: the backfill stays defined, and the scheduler goes on with it. */
export async function followBackfill(options: FollowOptions): Promise<FollowEnd> {
  const { planning, backfill, driver, screen, intervalMs, signal } = options;
  const { clock, store } = planning.ports;
  const line = createProgressLine(screen, clock);
  let said = '';
  const sayOnce = (text: string) => {
    if (text !== said) line.print(text);
    said = text;
  };

  /** Where it stands; undefined while it goes on. */
  async function look(isFirst: boolean): Promise<FollowEnd | undefined> {
    // Its definition goes when it is covered, and others may cover, pause or cancel it too.
    const defined = isFirst ? backfill : await readBackfill(store, backfill.id);
    if (defined?.paused) return { state: 'stopped', reason: 'it was paused' };
    const progress = await driver.step(signal);
    if (progress.finished) {
      await endBackfill(store, backfill);
      return { state: 'covered', progress };
    }
    if (defined === undefined) return { state: 'stopped', reason: 'it was cancelled' };
    line.show(backfill.id, progress);
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
        if (!mayPass(error)) throw error;
        sayOnce(`cannot look now, trying again: ${messageOf(error)}`);
      }
      await clock.sleep(intervalMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    line.print("the backfill goes on with the scheduler; 'vessel-export backfill cancel' ends it");
    throw new CancelledError('interrupted');
  } finally {
    line.end();
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof RetriableError || error instanceof RateLimitedError;
}

interface ProgressLine {
  show(id: string, progress: BackfillProgress): void;
  print(text: string): void;
  end(): void;
}

/** A line that is redrawn on a terminal; elsewhere one line whenever a tenth more is done. */
function createProgressLine(screen: Screen, clock: Clock): ProgressLine {
  const drawn = screen.isTTY === true;
  const clear = () => drawn && screen.write('\r\u001b[2K');
  let begin: { atMs: number; ended: number } | undefined;
  let shownTenths = -1;
  return {
    show(id, progress) {
      const ended = progress.done + progress.failed;
      begin ??= { atMs: clock.monotonicMs(), ended };
      const text = describeBackfill(id, progress, {
        ended: ended - begin.ended,
        seconds: (clock.monotonicMs() - begin.atMs) / 1_000,
      });
      const tenths = Math.floor((10 * ended) / Math.max(1, progress.due));
      if (drawn) screen.write(`\r\u001b[2K${text.slice(0, (screen.columns ?? 80) - 1)}`);
      else if (tenths !== shownTenths) screen.write(`${text}\n`);
      shownTenths = tenths;
    },
    print(text) {
      clear();
      screen.write(`${text}\n`);
    },
    end: clear,
  };
}

/** `measurements-…: 120 of 400 vessel-days, 2 failed, 40 in queue, 3 min 20 s left` */
export function describeBackfill(
  id: string,
  progress: BackfillProgress,
  since: { readonly ended: number; readonly seconds: number },
): string {
  const { due, done, failed, queued } = progress;
  const rest = due - done - failed;
  const seconds = since.ended > 0 ? (rest / since.ended) * since.seconds : undefined;
  return [
    `${id}: ${formatCount(done)} of ${formatCount(due)} vessel-days`,
    failed > 0 ? `${formatCount(failed)} failed` : '',
    `${formatCount(queued)} in queue`,
    seconds === undefined ? '' : `${formatSeconds(seconds)} left`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}
