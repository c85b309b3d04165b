/** `run`: export in this process. */

import type { AppOverrides } from '../app.ts';
import { openApp } from '../app.ts';
import { loadConfig, pickJobs } from '../config/config.ts';
import { ConfigError } from '../errors.ts';
import type { DayResult } from '../export/export-jobs.ts';
import { defaultDates, exportJobs } from '../export/export-jobs.ts';
import { formatVesselDay, isDate, systemClock, VESSEL_ID } from '../model/index.ts';
import { formatCount, formatTable } from '../terminal/format.ts';
import { createProgressView } from '../terminal/progress-view.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_FAILED, EXIT_OK } from './context.ts';

export interface RunOptions {
  readonly from?: string;
  readonly to?: string;
  readonly vessel?: readonly string[];
  readonly force?: boolean;
  readonly allowShrink?: boolean;
  readonly takeover?: boolean;
  readonly json?: boolean;
}

/** Export the due days of some jobs; the exit code. `overrides` are for tests. */
export async function runCommand(
  context: CommandContext,
  jobNames: readonly string[],
  options: RunOptions,
  overrides: AppOverrides = {},
): Promise<number> {
  const range = checkRange(options, (overrides.clock ?? systemClock).nowMs());
  const config = loadConfig(context.env);
  const jobs = pickJobs(config, jobNames);
  const view = createProgressView(context.stderr, systemClock);
  const log = commandLog(context, config.settings.LOG_LEVEL, view.log);
  const app = await openApp(config, context.env, log, overrides);
  let failure: unknown;
  try {
    const request = {
      ...range,
      jobs,
      vessels: options.vessel ?? [],
      force: options.force ?? false,
      allowShrink: options.allowShrink ?? false,
      takeover: options.takeover ?? false,
      concurrency: config.settings.WORKER_CONCURRENCY,
    };
    await exportJobs(app.ports, request, view, context.signal);
  } catch (error) {
    failure = error;
  } finally {
    view.end();
    await app.close();
  }
  if (failure === undefined || view.results.length > 0) printResults(context, options, view.results);
  if (failure !== undefined) throw failure;
  return view.results.some(isBad) ? EXIT_FAILED : EXIT_OK;
}

function printResults(context: CommandContext, options: RunOptions, results: readonly DayResult[]): void {
  context.stdout.write(options.json === true ? jsonResults(results) : `${summarize(results)}\n`);
  if (options.json === true) return;
  const bad = results.filter(({ code }) => code !== undefined);
  if (bad.length === 0) return;
  const rows = bad.map(({ day, status, code }) => [`  ${formatVesselDay(day)}`, status, code ?? '']);
  context.stdout.write(`${formatTable(rows)}\n`);
}

/** Check dates and vessels of a command line. Throws ConfigError `usage` that lists every fault. */
export function checkRange(
  options: Pick<RunOptions, 'from' | 'to' | 'vessel'>,
  nowMs: number,
): { from: string; to: string } {
  const faults: string[] = [];
  const defaults = defaultDates(nowMs);
  const from = options.from ?? defaults.from;
  const to = options.to ?? defaults.to;
  for (const [name, date] of [
    ['--from', from],
    ['--to', to],
  ] as const) {
    if (!isDate(date)) faults.push(`${name}: got '${date}', expected a UTC date YYYY-MM-DD`);
  }
  if (faults.length === 0 && from >= to) {
    faults.push(
      `--from ${from} --to ${to}: the range is empty; --to is exclusive, so one day is --from D --to D+1`,
    );
  }
  for (const vessel of options.vessel ?? []) {
    if (!VESSEL_ID.test(vessel)) {
      faults.push(`--vessel: got '${vessel}', expected IMO and seven digits, such as IMO9321483`);
    }
  }
  if (faults.length > 0) throw new ConfigError('usage', faults.join('\n'));
  return { from, to };
}

const BAD = new Set(['failed', 'refused', 'running-elsewhere', 'interrupted', 'not-begun']);

/** Does this result make the exit code 1? */
export function isBad(result: DayResult): boolean {
  return BAD.has(result.status);
}

function jsonResults(results: readonly DayResult[]): string {
  return `${JSON.stringify({ vesselDays: results.map(({ day, ...rest }) => ({ ...day, ...rest })) }, null, 2)}\n`;
}

/** `6 vessel-days: 4 published (1,234,567 rows), 1 empty, 1 already done` */
export function summarize(results: readonly DayResult[]): string {
  const words: [string, string][] = [
    ['published', 'published'],
    ['empty', 'empty'],
    ['unchanged', 'unchanged'],
    ['done', 'already done'],
    ['not-due', 'not due'],
    ['failed', 'failed'],
    ['refused', 'refused'],
    ['running-elsewhere', 'running elsewhere'],
    ['interrupted', 'interrupted'],
    ['not-begun', 'not begun'],
  ];
  const parts = words.flatMap(([status, word]) => {
    const matching = results.filter((result) => result.status === status);
    if (matching.length === 0) return [];
    const rows = matching.reduce((sum, result) => sum + (result.rows ?? 0), 0);
    return [`${matching.length} ${word}${status === 'published' ? ` (${formatCount(rows)} rows)` : ''}`];
  });
  if (results.length === 0) return 'no vessel-days: the jobs find no vessel';
  if (results.every((result) => ['done', 'not-due', 'unchanged'].includes(result.status)))
    parts.push('nothing to do');
  return `${results.length} ${results.length === 1 ? 'vessel-day' : 'vessel-days'}: ${parts.join(', ')}`;
}
