/** `run`: export in this process. */
import { countOf, formatCount, formatVesselDay, systemClock } from '../../core/model/index.ts';
import type { DayResult, ExportEvent, VesselTrouble } from '../../export/events.ts';
import { exportJobs } from '../../export/run/run-jobs.ts';
import { formatTable } from '../terminal/format.ts';
import { formatVesselTroubles } from '../terminal/plan-view.ts';
import { createProgressView } from '../terminal/progress-view.ts';
import type { Command, Item, Names, OutputOptions } from './command.ts';
import { EXIT_FAILED, EXIT_OK, openOutput, openToldExport } from './command.ts';
import { askedDates, datesOr, EXPORT_DAYS, formatDates, isRegular, type RangeOptions } from './dates.ts';
import { RUN_STATES, type Summary } from './results.ts';

export interface RunOptions extends RangeOptions, OutputOptions {
  readonly force?: boolean;
  readonly allowShrink?: boolean;
  readonly takeover?: boolean;
}

export const runCommand: Command<[Names, RunOptions]> = async (context, names, options, overrides = {}) => {
  const nowMs = (overrides.clock ?? systemClock).nowMs();
  const dates = datesOr(EXPORT_DAYS, askedDates(options, nowMs), nowMs);
  const output = openOutput(context.stdout, 'run', options);
  const view = createProgressView(context.stderr, systemClock);
  await using opened = await openToldExport(context, names, overrides, view.log);
  const { app, config, jobs, news } = opened;
  const { LAKE_URL, WORKER_CONCURRENCY: concurrency } = config.settings;
  const { from, to } = dates;
  const { vessel: vessels = [], force = false, allowShrink = false, takeover = false } = options;
  const how = { force, allowShrink, takeover, concurrency, isRegular: isRegular(options) };
  const troubles: VesselTrouble[] = [];
  const onEvent = (event: ExportEvent) => {
    view.onEvent(event);
    news?.onEvent(event);
    if (event.kind === 'day-result') output.add('days', toDay(event.result));
    if (event.kind !== 'vessel-trouble') return;
    troubles.push(event.trouble);
    output.add('vessels', { job: event.job, ...event.trouble });
  };
  const end = () => {
    const lines = [dates.meaning === undefined ? '' : formatDates(dates), describeResults(view.results)];
    lines.push(formatVesselTroubles(troubles), view.closingLine(LAKE_URL));
    const text = () => `${lines.filter((line) => line !== '').join('\n')}\n`;
    output.end({ from, to, ...summaryOf(view.results) }, text);
  };
  const exporting = exportJobs(app.ports, { from, to, jobs, vessels, ...how }, onEvent, context.signal);
  await exporting.finally(view.end).catch((error) => {
    if (view.results.length > 0) end();
    throw error;
  });
  end();
  const isUnnamed = troubles.some(({ code }) => code === 'malformed-imo');
  return isUnnamed || view.results.some(isBad) ? EXIT_FAILED : EXIT_OK;
};

/** A result for `--json`: `done` becomes `published`, if it was published before. */
export function toDay({ day, status, ...more }: DayResult): Item<'run', 'days'> {
  const exported = status === 'published' || status === 'empty';
  const known = status === 'running-elsewhere' ? 'running' : status;
  const state = known === 'done' ? (more.rows === 0 ? 'empty' : 'published') : known;
  return { ...day, state, exported, ...more };
}

function summaryOf(results: readonly DayResult[]): Omit<Summary<'run'>, 'from' | 'to'> {
  const totals = Object.fromEntries(RUN_STATES.map((state) => [state, 0])) as Summary<'run'>['totals'];
  for (const result of results) totals[toDay(result).state]++;
  return { vesselDays: results.length, rows: rowsOf(results), totals };
}

function rowsOf(results: readonly DayResult[]): number {
  return results.reduce((sum, { rows = 0 }) => sum + rows, 0);
}

function describeResults(results: readonly DayResult[]): string {
  const bad = results.filter(({ code }) => code !== undefined);
  const rows = bad.map(({ day, status, code }) => [`  ${formatVesselDay(day)}`, status, code ?? '']);
  return [summarize(results), formatTable(rows)].filter((text) => text !== '').join('\n');
}

const BAD = ['failed', 'refused', 'waiting', 'running-elsewhere', 'interrupted', 'not-begun'];

export function isBad({ status }: DayResult): boolean {
  return BAD.includes(status);
}

/** `6 vessel-days: 4 published (1,234,567 rows), 1 empty, 1 already done` */
export function summarize(results: readonly DayResult[]): string {
  const parts = ['published', 'empty', 'unchanged', 'done', 'not-due', ...BAD].flatMap((status) => {
    const matching = results.filter((result) => result.status === status);
    const word = status === 'done' ? 'already done' : status.replaceAll('-', ' ');
    const rows = status === 'published' ? ` (${formatCount(rowsOf(matching))} rows)` : '';
    return matching.length === 0 ? [] : [`${matching.length} ${word}${rows}`];
  });
  if (results.every(({ status }) => ['done', 'not-due', 'unchanged'].includes(status)))
    parts.push('nothing to do');
  return `${countOf(results.length, 'vessel-day')}: ${parts.join(', ')}`;
}
