/** `reconcile`: find the published days whose source has changed, and export exactly those again. */
import type { App, AppOverrides } from '../app.ts';
import { openApp } from '../app.ts';
import { loadConfig, pickJobs } from '../config/config.ts';
import { ConfigError } from '../errors.ts';
import type { DayResult } from '../export/export-jobs.ts';
import { performTasks } from '../export/export-jobs.ts';
import type { JobReconciliation } from '../export/reconcile-jobs.ts';
import { reconcileJob } from '../export/reconcile-jobs.ts';
import { noteRefusals, repairTasks } from '../export/repair.ts';
import { createRequestStats } from '../fetch/exchange.ts';
import type { Job } from '../model/index.ts';
import { addDays, microsToDate, systemClock } from '../model/index.ts';
import { createProgressView } from '../terminal/progress-view.ts';
import { formatReconciliation } from '../terminal/reconcile-view.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_FAILED, EXIT_OK } from './context.ts';
import type { RunOptions } from './run.ts';
import { checkRange, isBad, summarize } from './run.ts';

export interface ReconcileOptions extends Omit<RunOptions, 'force'> {
  /** Days before today; in the place of `from` and `to`. */
  readonly days?: number;
  /** Export what an export mends, in this process. A queue can take the same tasks (`repairTasks`). */
  readonly run?: boolean;
}

const DEFAULT_LOOKBACK_DAYS = 14;

/** Print what changed, export it again if asked to; the exit code. `overrides` are for tests. */
export async function reconcileCommand(
  context: CommandContext,
  jobNames: readonly string[],
  options: ReconcileOptions,
  overrides: AppOverrides = {},
): Promise<number> {
  const nowMs = (overrides.clock ?? systemClock).nowMs();
  const rangeOf = checkLookback(options, nowMs);
  const config = loadConfig(context.env);
  const jobs = pickJobs(config, jobNames);
  const view = createProgressView(context.stderr, systemClock);
  const app = await openApp(
    config,
    context.env,
    commandLog(context, config.settings.LOG_LEVEL, view.log),
    overrides,
  );
  try {
    const stats = createRequestStats();
    const concurrency = config.settings.QUERY_MAX_CONCURRENCY;
    const found: JobReconciliation[] = [];
    for (const job of jobs) {
      const request = { ...rangeOf(job), vessels: options.vessel ?? [], concurrency };
      found.push(await reconcileJob(app.ports, job, request, context.signal, stats));
    }
    if (options.run === true) await repair(app, jobs, found, options, view, context.signal);
    view.end();
    const requests = { reconcile: stats.requests, export: app.client.stats.requests - stats.requests };
    const print = options.json === true ? jsonReport : textReport;
    context.stdout.write(print(found, options, view.results, requests));
    return isFine(found, view.results, options) ? EXIT_OK : EXIT_FAILED;
  } finally {
    view.end();
    await app.close();
  }
}

async function repair(
  app: App,
  jobs: readonly Job[],
  found: readonly JobReconciliation[],
  options: ReconcileOptions,
  view: ReturnType<typeof createProgressView>,
  signal: AbortSignal,
): Promise<void> {
  const { allowShrink = false, takeover = false } = options;
  const tasks = found.flatMap(({ job: name, findings }) => {
    const job = jobs.find((one) => one.name === name)!;
    return repairTasks(app.ports, job, findings, { allowShrink, takeover });
  });
  if (!allowShrink) for (const { findings } of found) await noteRefusals(app.ports, findings);
  const observed = tasks.map((task) => ({
    ...task,
    onProgress: (progress: Parameters<typeof view.onProgress>[1]) => view.onProgress(task.day, progress),
  }));
  await performTasks(app.ports, observed, app.config.settings.WORKER_CONCURRENCY, view, signal);
}

/** The range of each job's look-back. Throws ConfigError `usage` that lists every fault. */
function checkLookback(options: ReconcileOptions, nowMs: number): (job: Job) => { from: string; to: string } {
  const today = microsToDate(nowMs * 1_000);
  const { days } = options;
  if (days !== undefined && (options.from !== undefined || options.to !== undefined))
    throw new ConfigError('usage', '--days: given together with --from or --to, expected one of them');
  if (days === 0) throw new ConfigError('usage', '--days: got 0, expected at least 1');
  const rangeOf = (lookbackDays: number) => {
    const to = options.to ?? today;
    return checkRange({ ...options, from: options.from ?? addDays(to, -lookbackDays), to }, nowMs);
  };
  // A wrong date is said before anything is opened.
  rangeOf(days ?? DEFAULT_LOOKBACK_DAYS);
  return (job) => rangeOf(days ?? job.reconcile?.lookbackDays ?? DEFAULT_LOOKBACK_DAYS);
}

/** New refusals, contradictions and vessels that could not be asked need somebody's eyes; so do failed exports. */
function isFine(
  found: readonly JobReconciliation[],
  results: readonly DayResult[],
  { run, allowShrink }: ReconcileOptions,
): boolean {
  const states = new Set(found.flatMap(({ findings }) => findings.map(({ state }) => state)));
  const isRefused = run === true && allowShrink !== true && states.has('would-shrink');
  const isUnknown = found.some(({ unasked }) => unasked.length > 0);
  return (
    !isRefused && !isUnknown && !states.has('disagree') && !states.has('unreadable') && !results.some(isBad)
  );
}

interface Requests {
  readonly reconcile: number;
  readonly export: number;
}

function textReport(
  found: readonly JobReconciliation[],
  { run }: ReconcileOptions,
  results: readonly DayResult[],
  requests: Requests,
): string {
  const lines = found.map(formatReconciliation);
  const asked = `${requests.reconcile} requests to compare`;
  const days = found.flatMap(({ findings }) => findings);
  if (run !== true) {
    const hint = days.length > 0 ? '; --run exports again what changed' : '';
    return `${[...lines, `${asked}${hint}`].join('\n')}\n`;
  }
  const exported = results.length === 0 ? 'nothing to export' : `exported ${summarize(results)}`;
  return `${[...lines, `${exported}; ${asked}, ${requests.export} to export`].join('\n')}\n`;
}

function jsonReport(
  found: readonly JobReconciliation[],
  { run }: ReconcileOptions,
  results: readonly DayResult[],
  requests: Requests,
): string {
  const jobs = found.map(({ findings, ...job }) => ({
    ...job,
    findings: findings.map(({ day: { vessel, date }, ...finding }) => ({ vessel, date, ...finding })),
  }));
  const exported = results.map(({ day, ...result }) => ({ ...day, ...result }));
  return `${JSON.stringify({ jobs, requests, ...(run === true ? { vesselDays: exported } : {}) }, null, 2)}\n`;
}
