/** How far a backfill is that somebody follows. */

import { formatCount } from '../../core/model/count-text.ts';
import type { Clock } from '../../core/model/index.ts';
import type { BackfillProgress } from '../../fleet/events.ts';
import type { BackfillView } from '../../fleet/follow-backfill.ts';
import { formatSeconds } from './format.ts';
import { createBar, type Screen } from './screen.ts';

/** A line that is redrawn on a terminal; elsewhere one line whenever a tenth more is done. */
export function createBackfillView(screen: Screen, clock: Clock): BackfillView {
  const bar = createBar(screen, clock);
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
      if (screen.isTTY === true) bar.draw((columns) => text.slice(0, columns), true);
      else if (tenths !== shownTenths) bar.print(text);
      shownTenths = tenths;
    },
    print: bar.print,
    end: bar.end,
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
