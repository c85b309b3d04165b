/** `reconcile`: find the published days whose source has changed, and export exactly those again. */
import type { App, AppOverrides } from '../app.ts';
import { openApp } from '../app.ts';
import type { Config } from '../config/config.ts';
import { loadConfig, pickJobs } from '../config/config.ts';
import { ConfigError } from '../errors.ts';
import type { DayResult } from '../export/export-jobs.ts';
import { performTasks } from '../export/export-jobs.ts';
import type { ExportTask } from '../export/ports.ts';
import type { JobReconciliation } from '../export/reconcile-jobs.ts';
import { reconcileJob } from '../export/reconcile-jobs.ts';
import { noteRefusals, repairTasks } from '../export/repair.ts';
import { createRequestStats } from '../fetch/exchange.ts';
import type { QueuedRepair } from '../fleet/repairs.ts';
import type { Job, Log } from '../model/index.ts';
import { addDays, microsToDate, systemClock } from '../model/index.ts';
import { createProgressView } from '../terminal/progress-view.ts';
import { formatLeft, formatQueued, formatReconciliation } from '../terminal/reconcile-view.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_FAILED, EXIT_OK } from './context.ts';
import type { RunOptions } from './run.ts';
import { checkRange, isBad, summarize } from './run.ts';

export interface ReconcileOptions extends Omit<RunOptions, 'force'> {
  /** Days before today; in the place of `from` and `to`. */
  readonly days?: number;
  /** Export what an export mends, in this process. */
  readonly run?: boolean;
  /** Put the same vessel-days into the queue instead. */
  readonly enqueue?: boolean;
}

const DEFAULT_LOOKBACK_DAYS = 14;

/** Print what changed, export or queue it if asked to; the exit code. `overrides` are for tests. */
export async function reconcileCommand(
  context: CommandContext,
  jobNames: readonly string[],
  options: ReconcileOptions,
  overrides: AppOverrides = {},
): Promise<number> {
  const nowMs = (overrides.clock ?? systemClock).nowMs();
  checkMode(options);
  const rangeOf = checkLookback(options, nowMs);
  const config = loadConfig(context.env);
  const jobs = pickJobs(config, jobNames);
  const view = createProgressView(context.stderr, systemClock);
  const log = commandLog(context, config.settings.LOG_LEVEL, view.log);
  const opened = await openFor(options, config, context.env, log, overrides);
  const { app } = opened;
  try {
    const stats = createRequestStats();
    const concurrency = config.settings.QUERY_MAX_CONCURRENCY;
    const found: JobReconciliation[] = [];
    for (const job of jobs) {
      const request = { ...rangeOf(job), vessels: options.vessel ?? [], concurrency };
      found.push(await reconcileJob(app.ports, job, request, context.signal, stats));
    }
    const mends = options.run === true || options.enqueue === true;
    const tasks = mends ? await toRepair(app, jobs, found, options) : [];
    const queued = await opened.enqueue?.(tasks);
    if (options.run === true) await repair(app, tasks, view, context.signal);
    view.end();
    const requests = { reconcile: stats.requests, export: app.client.stats.requests - stats.requests };
    const report = { found, exported: options.run === true ? view.results : undefined, queued, requests };
    context.stdout.write(options.json === true ? jsonReport(report) : textReport(report));
    return isFine(report, options) ? EXIT_OK : EXIT_FAILED;
  } finally {
    view.end();
    await opened.close();
  }
}

/** Throws ConfigError `usage`. */
function checkMode({ run, enqueue, takeover }: ReconcileOptions): void {
  if (enqueue !== true) return;
  if (run === true) {
    throw new ConfigError(
      'usage',
      '--enqueue: given together with --run, expected one of them: --run exports in this process, --enqueue leaves it to the workers',
    );
  }
  if (takeover === true)
    throw new ConfigError('usage', '--takeover: given together with --enqueue, expected with --run only');
}

interface Opened {
  readonly app: App;
  readonly enqueue?: (tasks: readonly ExportTask[]) => Promise<QueuedRepair[]>;
  close(): Promise<void>;
}

/** The app; with `--enqueue` the queue too, whose libraries nobody else needs. */
async function openFor(
  { enqueue }: ReconcileOptions,
  config: Config,
  env: NodeJS.ProcessEnv,
  log: Log,
  overrides: AppOverrides,
): Promise<Opened> {
  if (enqueue !== true) {
    const app = await openApp(config, env, log, overrides);
    return { app, close: () => app.close() };
  }
  const { openFleet } = await import('../fleet/fleet.ts');
  const { queueRepairs } = await import('../fleet/repairs.ts');
  const { app, queue, close } = await openFleet(config, env, log, overrides);
  const ports = { queue, store: app.store };
  return { app, close, enqueue: (tasks) => queueRepairs(ports, tasks, { retryFailed: false }) };
}

/** What an export mends. Days that would lose readings are noted, so that they are not tried again. */
async function toRepair(
  app: App,
  jobs: readonly Job[],
  found: readonly JobReconciliation[],
  { allowShrink = false, takeover = false }: ReconcileOptions,
): Promise<ExportTask[]> {
  if (!allowShrink) for (const { findings } of found) await noteRefusals(app.ports, findings);
  return found.flatMap(({ job: name, findings }) => {
    const job = jobs.find((one) => one.name === name)!;
    return repairTasks(app.ports, job, findings, { allowShrink, takeover });
  });
}

async function repair(
  app: App,
  tasks: readonly ExportTask[],
  view: ReturnType<typeof createProgressView>,
  signal: AbortSignal,
): Promise<void> {
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

/** What the command did. */
interface Report {
  readonly found: readonly JobReconciliation[];
  /** With `--run`. */
  readonly exported: readonly DayResult[] | undefined;
  /** With `--enqueue`. */
  readonly queued: readonly QueuedRepair[] | undefined;
  readonly requests: { readonly reconcile: number; readonly export: number };
}

/**
 * New refusals, contradictions and vessels that could not be asked need somebody's eyes; so do failed exports, and
 * vessel-days that the queue did not take.
 */
function isFine({ found, exported, queued }: Report, { allowShrink }: ReconcileOptions): boolean {
  const states = new Set(found.flatMap(({ findings }) => findings.map(({ state }) => state)));
  const mends = exported !== undefined || queued !== undefined;
  const isRefused = mends && allowShrink !== true && states.has('would-shrink');
  const isUnknown = found.some(({ unasked }) => unasked.length > 0);
  if (isRefused || isUnknown || states.has('disagree') || states.has('unreadable')) return false;
  const isLeft = ({ status }: QueuedRepair) => status === 'in-failed-set' || status === 'no-room';
  return !exported?.some(isBad) && !queued?.some(isLeft);
}

function textReport({ found, exported, queued, requests }: Report): string {
  const lines = found.map(formatReconciliation);
  const asked = `${requests.reconcile} requests to compare`;
  if (exported !== undefined) {
    const done = exported.length === 0 ? 'nothing to export' : `exported ${summarize(exported)}`;
    lines.push(`${done}; ${asked}, ${requests.export} to export`);
  } else if (queued !== undefined) lines.push(`${formatQueued(queued)}; ${asked}`, ...formatLeft(queued));
  else {
    const isAny = found.some(({ findings }) => findings.length > 0);
    lines.push(
      `${asked}${isAny ? '; --run exports again what changed, --enqueue leaves it to the workers' : ''}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function jsonReport({ found, exported, queued, requests }: Report): string {
  const jobs = found.map(({ findings, ...job }) => ({
    ...job,
    findings: findings.map(({ day: { vessel, date }, ...finding }) => ({ vessel, date, ...finding })),
  }));
  const results = exported ?? queued;
  const vesselDays = results?.map(({ day, ...result }) => ({ ...day, ...result }));
  return `${JSON.stringify({ jobs, requests, ...(vesselDays === undefined ? {} : { vesselDays }) }, null, 2)}\n`;
}
