/** The progress of many vessel-days: a bar on a terminal, lines elsewhere. */
import { type Clock, formatCount } from '../../core/model/index.ts';
import type { DayResult, ExportEvent } from '../../export/events.ts';
import type { BackfillProgress } from '../../fleet/events.ts';
import type { BackfillView } from '../../fleet/follow-backfill.ts';
import { formatBytes, formatSeconds, formatShort } from './format.ts';
import { createBar, describeBar, paint, type Screen } from './screen.ts';
import { type Outlook, TimeLeft } from './time-left.ts';

export type ProgressView = ReturnType<typeof createProgressView>;

/** A view on `screen` (stderr: stdout is for the result). */
export function createProgressView(screen: Screen, clock: Clock) {
  const bar = createBar(screen, clock);
  const startedMs = clock.monotonicMs();
  const timeLeft = new TimeLeft();
  const results: DayResult[] = [];
  const shown = new Set<string>();
  let toDo = 0;
  let finished = 0;

  const draw = (force: boolean) => {
    if (toDo === 0) return;
    bar.draw((columns) => {
      const outlook = timeLeft.look(clock.monotonicMs());
      return describeBar(screen, outlook.share, describeProgress(outlook, toDo, finished), columns);
    }, force);
  };

  function onEvent(event: ExportEvent): void {
    if (event.kind === 'planned') {
      timeLeft.plan(event.days);
      toDo = event.days.length;
      finished = 0;
      draw(true);
    } else if (event.kind === 'day-rows') {
      timeLeft.progress(event.day, event);
      draw(false);
    } else if (event.kind === 'day-result') onResult(event.result);
  }

  function onResult(result: DayResult): void {
    results.push(result);
    if (['done', 'not-begun'].includes(result.status)) return;
    // It was planned with this state; if there is a message, an attempt was made, or refused.
    if (result.status === 'not-due' && result.message === undefined) return;
    timeLeft.finish(result.day, result.rows);
    finished++;
    // A reason that stops every vessel-day is printed once.
    if (result.message !== undefined && !shown.has(result.message)) {
      shown.add(result.message);
      bar.print(`${paint(screen, 'red', `${result.status}:`)} ${result.message}`);
    }
    draw(true);
  }

  return {
    results: results as readonly DayResult[],
    log: bar.print,
    onEvent,
    end(): void {
      bar.end();
      toDo = 0;
    },
    /** What was written since the view was opened, and where; '' if nothing was. */
    closingLine: (lakeUrl: string) =>
      closingLine(results, (clock.monotonicMs() - startedMs) / 1_000, lakeUrl),
  };
}

/** `3/6 vessel-days`, `1.23 M of about 1.90 M rows`, `350,000 rows/s`, `2 s left`; '' for unknown values. */
export function describeProgress(outlook: Outlook, toDo: number, finished: number): string[] {
  const { rows, expectedRows, counted, rowsPerSecond, secondsLeft, isLeast } = outlook;
  const of = expectedRows === undefined ? '' : ` of ${counted ? '' : 'about '}${formatShort(expectedRows)}`;
  return [
    `${formatCount(finished)}/${formatCount(toDo)} vessel-days`,
    `${formatShort(rows)}${of} rows`,
    rowsPerSecond > 0 ? `${formatShort(rowsPerSecond)} rows/s` : '',
    secondsLeft === undefined
      ? ''
      : `${isLeast ? 'over ' : ''}${formatSeconds(Math.max(1, secondsLeft))} left`,
  ];
}

/** `wrote 1,234,567 rows (8.64 MB) in 42 s to file:///data/lake` */
function closingLine(results: readonly DayResult[], seconds: number, lakeUrl: string): string {
  const published = results.filter(({ status }) => status === 'published');
  if (published.length === 0) return '';
  const sum = (of: 'rows' | 'sizeBytes') => published.reduce((all, result) => all + (result[of] ?? 0), 0);
  return `wrote ${formatCount(sum('rows'))} rows (${formatBytes(sum('sizeBytes'))}) in ${formatSeconds(seconds)} to ${lakeUrl}`;
}

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
  const parts = [
    `${id}: ${formatCount(done)} of ${formatCount(due)} vessel-days`,
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    `${formatCount(queued)} in queue`,
    ...(seconds === undefined ? [] : [`${formatSeconds(seconds)} left`]),
  ];
  return parts.join(', ');
}
