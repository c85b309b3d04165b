/** `status`: what the lake holds of each vessel-day, by the lake alone. */
import type { AppOverrides } from '../app.ts';
import { openApp } from '../app.ts';
import type { LakeConfig } from '../config/config.ts';
import { loadConfig, loadLakeConfig, pickJobs } from '../config/config.ts';
import { findVessels } from '../export/export-jobs.ts';
import type { JobStatus, StatusPorts } from '../export/job-status.ts';
import { readJobStatus } from '../export/job-status.ts';
import type { QueryClient } from '../fetch/client.ts';
import type { Job } from '../model/index.ts';
import { addDays, microsToDate, systemClock } from '../model/index.ts';
import { summarizeCoverage } from '../plan/coverage.ts';
import { thisProcess } from '../publish/process-id.ts';
import { openStore } from '../store/open-store.ts';
import { formatStatus } from '../terminal/coverage.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_OK } from './context.ts';
import type { RunOptions } from './run.ts';
import { checkRange } from './run.ts';

export interface StatusOptions extends Pick<RunOptions, 'from' | 'to' | 'vessel' | 'json'> {
  /** Ask the service which vessels there are, for jobs that discover them. */
  readonly discover?: boolean;
}

const DEFAULT_DAYS = 30;
/** Columns where stdout is no terminal. */
const DEFAULT_COLUMNS = 120;

/** Print coverage; the exit code. `overrides` are for tests. */
export async function statusCommand(
  context: CommandContext,
  jobNames: readonly string[],
  options: StatusOptions,
  overrides: AppOverrides = {},
): Promise<number> {
  const nowMs = (overrides.clock ?? systemClock).nowMs();
  const today = microsToDate(nowMs * 1_000);
  const defaults = { from: addDays(options.to ?? today, -DEFAULT_DAYS), to: addDays(today, 1) };
  const range = checkRange({ ...defaults, ...options }, nowMs);
  const opened = await openFor(context, options, overrides);
  try {
    const shown: ShownJob[] = [];
    for (const job of pickJobs(opened.config, jobNames)) {
      const vessels = await vesselsToShow(opened, job, options, context.signal);
      const status = await readJobStatus(opened.ports, job, { ...range, ...vessels });
      shown.push({ job, ...vessels, status });
    }
    context.stdout.write(options.json === true ? jsonStatus(shown, range) : textStatus(context, shown));
    return EXIT_OK;
  } finally {
    await opened.close();
  }
}

interface Opened {
  readonly config: LakeConfig;
  readonly ports: StatusPorts & { readonly client?: QueryClient };
  close(): Promise<void>;
}

/** The lake alone, which needs no credentials; with `--discover` the service too. */
async function openFor(
  context: CommandContext,
  { discover }: StatusOptions,
  overrides: AppOverrides,
): Promise<Opened> {
  if (discover === true) {
    const config = loadConfig(context.env);
    const log = commandLog(context, config.settings.LOG_LEVEL);
    return await openApp(config, context.env, log, { encoderThreads: 0, ...overrides });
  }
  const config = loadLakeConfig(context.env);
  const { LAKE_URL, LOG_LEVEL, QUERY_API_VERSION: apiVersion } = config.settings;
  const store = await openStore(LAKE_URL, context.env);
  const clock = overrides.clock ?? systemClock;
  const ports = { store, clock, self: thisProcess(), log: commandLog(context, LOG_LEVEL), apiVersion };
  return { config, ports, close: () => store.close() };
}

interface ShownJob {
  readonly job: Job;
  readonly vesselsFrom: 'command' | 'job' | 'service' | 'lake';
  readonly status: JobStatus;
}

async function vesselsToShow(
  { ports: { client } }: Opened,
  job: Job,
  options: StatusOptions,
  signal: AbortSignal,
): Promise<{ vessels: readonly string[] | undefined; vesselsFrom: ShownJob['vesselsFrom'] }> {
  if (options.vessel !== undefined) return { vessels: options.vessel, vesselsFrom: 'command' };
  if (!('discover' in job.vessels)) return { vessels: job.vessels, vesselsFrom: 'job' };
  if (client === undefined) return { vessels: undefined, vesselsFrom: 'lake' };
  return { vessels: await findVessels({ client }, job, signal), vesselsFrom: 'service' };
}

const REMARKS: Readonly<Record<ShownJob['vesselsFrom'], string>> = {
  command: '',
  job: '',
  service: 'vessels: as the service lists them now',
  lake: 'vessels: those that the lake knows on these dates; the service was not asked for others (--discover asks)',
};

function textStatus(context: CommandContext, shown: readonly ShownJob[]): string {
  const columns = context.stdout.columns ?? DEFAULT_COLUMNS;
  const blocks = shown.map(({ job, vesselsFrom, status: { cells } }) =>
    formatStatus(
      { job: job.name, cells, summary: summarizeCoverage(cells), remark: REMARKS[vesselsFrom] },
      columns,
    ),
  );
  return `${blocks.join('\n\n')}\n`;
}

function jsonStatus(shown: readonly ShownJob[], range: { from: string; to: string }): string {
  const jobs = shown.map(({ job, vesselsFrom, status }) => ({
    job: job.name,
    dataset: job.dataset,
    ...range,
    vesselsFrom,
    vessels: status.vessels,
    ...summarizeCoverage(status.cells),
    receipts: { fetched: status.fetched, fromIndex: status.fromIndex },
    cells: status.cells.map(({ day: { vessel, date }, ...cell }) => ({ vessel, date, ...cell })),
  }));
  return `${JSON.stringify({ jobs }, null, 2)}\n`;
}
