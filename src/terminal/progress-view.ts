/** The progress of many vessel-days: a bar on a terminal, a line per vessel-day elsewhere. */
import type { DayResult, ExportObserver } from '../export/export-jobs.ts';
import type { Progress } from '../export/ports.ts';
import type { Clock } from '../model/index.ts';
import { formatVesselDay } from '../model/index.ts';
import { formatCount, formatSeconds } from './format.ts';

/** The part of a stream that is written to. */
export interface Screen {
  write(text: string): void;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface ProgressView extends ExportObserver {
  /** Results so far, in order of completion. */
  readonly results: readonly DayResult[];
  /** Write a line of log without breaking the bar. */
  log(line: string): void;
  /** Remove the bar. */
  end(): void;
}

const REDRAW_MS = 100;
const BAR_CELLS = 24;

/** A view on `screen` (stderr: stdout is for the result). */
export function createProgressView(screen: Screen, clock: Clock): ProgressView {
  const drawn = screen.isTTY === true;
  const startedMs = clock.monotonicMs();
  const days = new Map<string, Progress>();
  const results: DayResult[] = [];
  const shown = new Set<string>();
  let toDo = 0;
  let finished = 0;
  let lastDrawMs = Number.NEGATIVE_INFINITY;

  const clear = () => drawn && screen.write('\r\u001b[2K');
  const draw = (force: boolean) => {
    const nowMs = clock.monotonicMs();
    if (!drawn || toDo === 0 || (!force && nowMs - lastDrawMs < REDRAW_MS)) return;
    lastDrawMs = nowMs;
    const line = describeProgress([...days.values()], toDo, finished, (nowMs - startedMs) / 1_000);
    screen.write(`\r\u001b[2K${line.slice(0, (screen.columns ?? 80) - 1)}`);
  };
  const print = (line: string) => {
    clear();
    screen.write(line.endsWith('\n') ? line : `${line}\n`);
    draw(true);
  };

  return {
    results,
    log: print,
    onPlanned(count) {
      toDo = count;
      draw(true);
    },
    onProgress(day, progress) {
      days.set(formatVesselDay(day), progress);
      draw(false);
    },
    onResult(result) {
      results.push(result);
      if (['done', 'not-due', 'not-begun'].includes(result.status)) return;
      finished++;
      // What stops every vessel-day alike is said once.
      if (result.message === undefined || shown.has(result.message)) return draw(true);
      shown.add(result.message);
      print(`${result.status}: ${result.message}`);
    },
    end() {
      clear();
      toDo = 0;
    },
  };
}

/** `██████░░░░  3/6 vessel-days  1,234,567 of 1,900,000 rows  350,000 rows/s  2 s left` */
export function describeProgress(
  days: readonly Progress[],
  toDo: number,
  finished: number,
  elapsedSeconds: number,
): string {
  const rows = days.reduce((sum, day) => sum + day.rows, 0);
  const counted = days.filter((day) => day.rowsKnown !== undefined);
  const known = counted.reduce((sum, day) => sum + (day.rowsKnown ?? 0), 0);
  // Days that were not counted yet are taken to be like those that were.
  const expected =
    counted.length === 0 ? undefined : (known / counted.length) * Math.max(toDo, counted.length);
  const share = expected === undefined || expected === 0 ? finished / toDo : Math.min(1, rows / expected);
  const cells = Math.round(share * BAR_CELLS);
  const rate = elapsedSeconds > 0 ? rows / elapsedSeconds : 0;
  const left = expected !== undefined && rate > 0 ? Math.max(0, expected - rows) / rate : undefined;
  return [
    '█'.repeat(cells) + '░'.repeat(BAR_CELLS - cells),
    `${finished}/${toDo} vessel-days`,
    known > 0
      ? `${formatCount(rows)} of ${formatCount(Math.max(known, rows))} rows`
      : `${formatCount(rows)} rows`,
    `${formatCount(Math.round(rate))} rows/s`,
    left === undefined ? '' : `${formatSeconds(left)} left`,
  ]
    .filter((part) => part !== '')
    .join('  ');
}
