/** `run`: export in this process. */
import type { AppOverrides } from '../../app.ts';
import { formatCount, formatVesselDay, systemClock } from '../../core/model/index.ts';
import type { DayResult, ExportEvent, VesselTrouble } from '../../export/events.ts';
import { exportJobs } from '../../export/run/run-jobs.ts';
import type { FleetNews } from '../../fleet/fleet-news.ts';
import { tellingRequests, tellOfRun } from '../../fleet/telling-requests.ts';
import { formatTable } from '../terminal/format.ts';
import { formatVesselTroubles } from '../terminal/plan-view.ts';
import { createProgressView } from '../terminal/progress-view.ts';
import type { CommandContext, Item, OutputOptions } from './command.ts';
import { EXIT_FAILED, EXIT_OK, openExport, openOutput } from './command.ts';
import { askedDates, datesOr, EXPORT_DAYS, formatDates, isRegular, type RangeOptions } from './dates.ts';
import { RUN_STATES, type Summary } from './results.ts';

export interface RunOptions extends RangeOptions, OutputOptions {
  readonly force?: boolean;
  readonly allowShrink?: boolean;
  readonly takeover?: boolean;
}

/** Export the due days of some jobs; the exit code. `overrides` are for tests. */
export async function runCommand(
  context: CommandContext,
  jobNames: readonly string[],
  options: RunOptions,
  overrides: AppOverrides = {},
): Promise<number> {
  const nowMs = (overrides.clock ?? systemClock).nowMs();
  const dates = datesOr(EXPORT_DAYS, askedDates(options, nowMs), nowMs);
  const output = openOutput(context.stdout, 'run', options);
  const view = createProgressView(context.stderr, systemClock);
  let news: FleetNews | undefined;
  const telling = tellingRequests(overrides, () => news);
  const opened = await openExport(context, jobNames, telling, view.log);
  const { app, config, jobs, log } = opened;
  const told = await tellOfRun(app, log);
  news = told?.news;
  const { from, to } = dates;
  const troubles: VesselTrouble[] = [];
  let failure: unknown;
  try {
    const { vessel: vessels = [], force = false, allowShrink = false, takeover = false } = options;
    const how = { force, allowShrink, takeover, concurrency: config.settings.WORKER_CONCURRENCY };
    const request = { from, to, jobs, vessels, ...how, isRegular: isRegular(options) };
    const onEvent = (event: ExportEvent) => {
      view.onEvent(event);
      news?.onEvent(event);
      if (event.kind === 'day-result') output.add('days', toDay(event.result));
      if (event.kind !== 'vessel-trouble') return;
      troubles.push(event.trouble);
      output.add('vessels', { job: event.job, ...event.trouble });
    };
    await exportJobs(app.ports, request, onEvent, context.signal);
  } catch (error) {
    failure = error;
  } finally {
    view.end();
    await told?.leave();
    await app.close();
  }
  if (failure === undefined || view.results.length > 0) {
    const lines = [dates.meaning === undefined ? '' : formatDates(dates), describeResults(view.results)];
    lines.push(formatVesselTroubles(troubles), view.closingLine(config.settings.LAKE_URL));
    const text = () => `${lines.filter((line) => line !== '').join('\n')}\n`;
    output.end({ from, to, ...summaryOf(view.results) }, text);
  }
  if (failure !== undefined) throw failure;
  const isUnnamed = troubles.some(({ code }) => code === 'malformed-imo');
  return isUnnamed || view.results.some(isBad) ? EXIT_FAILED : EXIT_OK;
}

/** A result as machines are told it: `done` is what was published before. */
export function toDay({ day, status, ...more }: DayResult): Item<'run', 'days'> {
  const exported = status === 'published' || status === 'empty';
  const known = status === 'running-elsewhere' ? 'running' : status;
  const state = known === 'done' ? (more.rows === 0 ? 'empty' : 'published') : known;
  return { ...day, state, exported, ...more };
}

function summaryOf(results: readonly DayResult[]): Omit<Summary<'run'>, 'from' | 'to'> {
  const totals = Object.fromEntries(RUN_STATES.map((state) => [state, 0])) as Summary<'run'>['totals'];
  let rows = 0;
  for (const day of results.map(toDay)) {
    totals[day.state]++;
    rows += day.rows ?? 0;
  }
  return { vesselDays: results.length, rows, totals };
}

/** The summary, and what did not go well. */
function describeResults(results: readonly DayResult[]): string {
  const bad = results.filter(({ code }) => code !== undefined);
  const rows = bad.map(({ day, status, code }) => [`  ${formatVesselDay(day)}`, status, code ?? '']);
  return [summarize(results), formatTable(rows)].filter((text) => text !== '').join('\n');
}

const BAD = new Set(['failed', 'refused', 'waiting', 'running-elsewhere', 'interrupted', 'not-begun']);

/** Does this result make the exit code 1? */
export function isBad(result: DayResult): boolean {
  return BAD.has(result.status);
}

/** `6 vessel-days: 4 published (1,234,567 rows), 1 empty, 1 already done` */
export function summarize(results: readonly DayResult[]): string {
  const statuses = ['published', 'empty', 'unchanged', 'done', 'not-due', ...BAD];
  const parts = statuses.flatMap((status) => {
    const matching = results.filter((result) => result.status === status);
    if (matching.length === 0) return [];
    const rows = matching.reduce((sum, result) => sum + (result.rows ?? 0), 0);
    const word = status === 'done' ? 'already done' : status.replaceAll('-', ' ');
    return [`${matching.length} ${word}${status === 'published' ? ` (${formatCount(rows)} rows)` : ''}`];
  });
  if (results.every((result) => ['done', 'not-due', 'unchanged'].includes(result.status)))
    parts.push('nothing to do');
  const days = results.length === 1 ? 'vessel-day' : 'vessel-days';
  return `${results.length} ${days}: ${parts.join(', ')}`;
}
