/** `reconcile`: find the published days whose source has changed, and export exactly those again. */
import type { App, AppOverrides } from '../../app.ts';
import { type JobReconciliation, reconcileJob } from '../../audit/reconcile/reconcile-jobs.ts';
import { noteRefusals, repairTasks } from '../../audit/reconcile/repair.ts';
import { usageError } from '../../core/errors.ts';
import { type Job, lookbackDaysOf, systemClock } from '../../core/model/index.ts';
import type { DayResult, ExportEvent } from '../../export/events.ts';
import type { ExportTask } from '../../export/ports.ts';
import { performTasks } from '../../export/run/run-jobs.ts';
import type { QueuedRepair } from '../../fleet/fill-queue.ts';
import { markRegularRun } from '../../lake/marks.ts';
import { createRequestStats } from '../../source/fetch/exchange.ts';
import { createProgressView } from '../terminal/progress-view.ts';
import { formatLeft, formatQueued, formatReconciliation } from '../terminal/reconcile-view.ts';
import type { Command, CommandContext, Item, Names, Output } from './command.ts';
import { configure, openExport, openOutput, openQueue, openToldExport, readConfig } from './command.ts';
import { EXIT_FAILED, EXIT_OK } from './context.ts';
import { askedDates, type Dates, datesOr, formatDates, isRegular } from './dates.ts';
import { isBad, type RunOptions, summarize, toDay } from './run.ts';

export interface ReconcileOptions extends Omit<RunOptions, 'force'> {
  readonly run?: boolean;
  /** Put the same vessel-days into the queue instead. */
  readonly enqueue?: boolean;
}

export const reconcileCommand: Command<[Names, ReconcileOptions]> = async (
  context,
  named,
  options,
  overrides = {},
) => {
  const nowMs = (overrides.clock ?? systemClock).nowMs();
  checkMode(options);
  const asked = askedDates(options, nowMs);
  const output = openOutput(context.stdout, 'reconcile', options);
  const view = createProgressView(context.stderr, systemClock);
  await using opened = await openFor(context, named, options, overrides, view.log);
  const { app, jobs, news, enqueue } = opened;
  const { settings } = app.config;
  const fixes = options.run === true || options.enqueue === true;
  const names = jobs.map(({ name }) => name);
  await (fixes ? app.ports.layout.check(names) : app.ports.layout.checkSource(names));
  const stats = createRequestStats();
  const found: Found[] = [];
  for (const job of jobs) {
    const dates = datesOr(lookbackDaysOf(job), asked, nowMs);
    const { from, to } = dates;
    const request = { from, to, vessels: options.vessel ?? [], concurrency: settings.QUERY_MAX_CONCURRENCY };
    const result = await reconcileJob(app.ports, job, request, context.signal, stats);
    found.push({ ...result, dates });
    tell(output, result);
  }
  const tasks = fixes ? await toRepair(app, jobs, found, options) : [];
  const queued = await enqueue?.(tasks);
  for (const one of queued ?? []) output.add('days', toQueuedDay(one));
  const onEvent = (event: ExportEvent) => {
    view.onEvent(event);
    news?.onEvent(event);
    if (event.kind === 'day-result') output.add('days', toDay(event.result));
  };
  if (options.run === true) {
    const atOnce = settings.WORKER_CONCURRENCY;
    await performTasks(app.ports, tasks, atOnce, onEvent, context.signal).finally(view.end);
  }
  const requests = { compare: stats.requests, export: app.client.stats.requests - stats.requests };
  const report = { found, exported: options.run === true ? view.results : undefined, queued, requests };
  const sumOf = (key: 'compared' | 'notCompared') => found.reduce((sum, one) => sum + one[key], 0);
  const [vesselDays, notCompared] = [sumOf('compared'), sumOf('notCompared')];
  const summary = { vesselDays, notCompared, requests: requests.compare, exportRequests: requests.export };
  output.end(summary, () => textReport(report, view.closingLine(settings.LAKE_URL)));
  return isFine(report, options) ? EXIT_OK : EXIT_FAILED;
};

function tell(output: Output<'reconcile'>, result: JobReconciliation): void {
  const { job, from, to, reason: message, vessels: vesselCount, compared: vesselDays, notCompared } = result;
  output.add('jobs', { job, from, to, vesselCount, vesselDays, notCompared, message });
  for (const { day, ...finding } of result.findings) output.add('findings', { ...day, ...finding });
  for (const one of result.unasked) output.add('unasked', { job, ...one });
}

const QUEUED_STATES = {
  enqueued: 'enqueued',
  'in-queue': 'queued',
  done: 'published',
  'in-failed-set': 'failed',
  'no-room': 'left',
} as const satisfies Record<QueuedRepair['status'], string>;

function toQueuedDay({ day, status, ...failure }: QueuedRepair): Item<'reconcile', 'days'> {
  return { ...day, state: QUEUED_STATES[status], exported: false, ...failure };
}

/** Throws ConfigError `usage`. */
function checkMode({ run, enqueue, takeover }: ReconcileOptions): void {
  if (enqueue !== true) return;
  const expected = '--run exports in this process, --enqueue leaves it to the workers';
  if (run === true)
    throw usageError(`--enqueue: given together with --run, expected one of them: ${expected}`);
  if (takeover === true)
    throw usageError('--takeover: given together with --enqueue, expected with --run only');
}

type Enqueue = (tasks: readonly ExportTask[]) => Promise<QueuedRepair[]>;

/** The app; with `--run` also the report to the fleet, and with `--enqueue` the queue. */
async function openFor(
  context: CommandContext,
  names: readonly string[],
  { enqueue: queues, run }: ReconcileOptions,
  overrides: AppOverrides,
  write: (line: string) => void,
) {
  const nobody = { news: undefined, enqueue: undefined as Enqueue | undefined };
  if (run === true) return { ...nobody, ...(await openToldExport(context, names, overrides, write)) };
  if (queues !== true) return { ...nobody, ...(await openExport(context, names, overrides, write)) };
  const { config, jobs } = configure(context, readConfig(context), names);
  const fleet = await openQueue(context, config, overrides, write);
  const { queueRepairs } = await import('../../fleet/fill-queue.ts');
  const ports = { queue: fleet.queue, store: fleet.app.store };
  const enqueue: Enqueue = (tasks) => queueRepairs(ports, tasks, { retryFailed: false });
  return { ...nobody, ...fleet, jobs, enqueue };
}

/** Tasks that an export fixes. Days that would lose readings get a note, so that they are not tried again. */
async function toRepair(
  app: App,
  jobs: readonly Job[],
  found: readonly JobReconciliation[],
  options: ReconcileOptions,
): Promise<ExportTask[]> {
  const { allowShrink = false, takeover = false } = options;
  if (!allowShrink) for (const one of found) await noteRefusals(app.ports, one);
  const tasks: ExportTask[] = [];
  for (const one of found) {
    const job = jobs.find(({ name }) => name === one.job)!;
    if (one.reason === null && isRegular(options)) await markRegularRun(app.store, job, one.from);
    tasks.push(...repairTasks(app.ports, job, one, { allowShrink, takeover }));
  }
  return tasks;
}

type Found = JobReconciliation & { readonly dates: Dates };

interface Report {
  readonly found: readonly Found[];
  readonly exported: readonly DayResult[] | undefined;
  readonly queued: readonly QueuedRepair[] | undefined;
  readonly requests: { readonly compare: number; readonly export: number };
}

/** False if somebody has to act: refusals, contradictions, days that could not be compared, failed exports, days without room in the queue. */
function isFine({ found, exported, queued }: Report, { allowShrink }: ReconcileOptions): boolean {
  const states = new Set(found.flatMap(({ findings }) => findings.map(({ state }) => state)));
  const fixes = exported !== undefined || queued !== undefined;
  const isRefused = fixes && allowShrink !== true && states.has('would-shrink');
  const isUnknown = found.some(({ unasked, notCompared }) => unasked.length > 0 || notCompared > 0);
  if (isRefused || isUnknown || states.has('disagree') || states.has('unreadable')) return false;
  const isLeft = ({ status }: QueuedRepair) => status === 'in-failed-set' || status === 'no-room';
  return !exported?.some(isBad) && !queued?.some(isLeft);
}

function textReport({ found, exported, queued, requests }: Report, closing: string): string {
  const lines = found.map((one) => formatReconciliation(one, formatDates(one.dates)));
  const asked = `${requests.compare} requests to compare`;
  if (exported !== undefined) {
    const done = exported.length === 0 ? 'nothing to export' : `exported ${summarize(exported)}`;
    lines.push(`${done}; ${asked}, ${requests.export} to export`);
    if (closing !== '') lines.push(closing);
  } else if (queued !== undefined) lines.push(`${formatQueued(queued)}; ${asked}`, ...formatLeft(queued));
  else {
    const isAny = found.some(({ findings }) => findings.length > 0);
    const next = '; --run exports again what changed, --enqueue leaves it to the workers';
    lines.push(`${asked}${isAny ? next : ''}`);
  }
  return `${lines.join('\n')}\n`;
}
