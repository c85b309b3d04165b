/**
 * What a program imports: the commands `run`, `verify` and `status` as functions, one entry of their answer per
 * vessel-day. They print nothing, end no process and read no environment but the one they are given; each opens
 * what it needs and has closed it when its promise settles.
 */
import { openApp } from './app.ts';
import type { Coverage } from './audit/status/cells.ts';
import { readJobStatus } from './audit/status/job-status.ts';
import type { VerifiedDay } from './audit/verify/verify-lake.ts';
import { verifyLake } from './audit/verify/verify-lake.ts';
import { forEachAtOnce } from './core/concurrency.ts';
import { CancelledError, ConfigError } from './core/errors.ts';
import type { Receipt } from './core/model/index.ts';
import { isDate, silentLog, systemClock, VESSEL_ID } from './core/model/index.ts';
import { readTraceContext } from './core/model/tracing.ts';
import { thisProcess } from './core/process/process-id.ts';
import type { DayResult, ExportEvent, VesselTrouble } from './export/events.ts';
import { exportJobs } from './export/run/run-jobs.ts';
import { unlessDamaged } from './lake/json.ts';
import { readReceipt } from './lake/ledger/ledger.ts';
import type { JobDefinitions, LakeConfig } from './runtime/config/config.ts';
import { loadConfig, loadLakeConfig, pickJobs } from './runtime/config/config.ts';
import type { Environment } from './runtime/config/environment.ts';
import { createLog } from './runtime/log.ts';
import { openStore } from './store/open-store.ts';
import type { ObjectStore } from './store/store.ts';

export type { Coverage, CoverageState } from './audit/status/cells.ts';
export type { Finding, FindingName, VerifyWarning } from './audit/verify/findings.ts';
export { FINDINGS } from './audit/verify/findings.ts';
export type { VerifiedDay } from './audit/verify/verify-lake.ts';
export { CancelledError, ConfigError, FatalError, RetriableError, VesselExportError } from './core/errors.ts';
export type { Job, Note, Proof, Receipt, VesselDay } from './core/model/index.ts';
export type { Environment } from './core/process/secret-file.ts';
export type { DayResult, VesselTrouble } from './export/events.ts';
export type { JobDefinitions } from './runtime/config/config.ts';
export type { JobDefinition } from './runtime/config/jobs.ts';
export type { Settings } from './runtime/config/variables.ts';

/** Which vessel-days, and with which settings. */
export interface VesselDayOptions {
  /** Settings by name, as text: the process's environment, or your own object. AWS settings are read from it too. */
  readonly env: Environment;
  /** Names of jobs in JOBS_DIR (left out: all), or jobs by name, each as its file would define it. */
  readonly jobs?: readonly string[] | JobDefinitions;
  /** First UTC date, `YYYY-MM-DD`. */
  readonly from: string;
  /** UTC date after the range, `YYYY-MM-DD`. */
  readonly to: string;
  /** `IMO` and seven digits each; left out: the jobs' own. */
  readonly vessels?: readonly string[];
  /** Once aborted, the promise is rejected with CancelledError; another call continues the work. */
  readonly signal?: AbortSignal;
  /** Receives log lines from LOG_LEVEL on, one line of JSON each. Left out: nothing is logged. */
  readonly onLog?: (line: string) => void;
}

/** Further options of `run`. */
export interface ExportOptions extends VesselDayOptions {
  /** Export days again that are done. */
  readonly force?: boolean;
  /** Publish a day although series lose readings. */
  readonly allowShrink?: boolean;
  /** Take vessel-days from a process that seems to be alive. */
  readonly takeover?: boolean;
  /** Called with each vessel-day as it ends. */
  readonly onResult?: (result: DayResult) => void;
  /** Called with each vessel that a job's discovery left out, or returned with a malformed IMO number. */
  readonly onVessel?: (job: string, trouble: VesselTrouble) => void;
}

/** The outcome of a vessel-day, and its receipt if it is published: status `published`, `empty` or `done`. */
export interface ExportedDay extends DayResult {
  readonly receipt?: Receipt;
}

/** Further options of `verify`. */
export interface VerifyOptions extends VesselDayOptions {
  /** Read every row, and compare with the service's statistics. */
  readonly deep?: boolean;
}

/**
 * Export every vessel-day that is due and not done, WORKER_CONCURRENCY at once; in the order in which they ended.
 * A vessel-day that fails or is refused is a result with `code` and `message`, not an error. Throws ConfigError that
 * names every fault of options and settings, CancelledError, and a VesselExportError where planning fails: the
 * service or the lake cannot be reached, a credential is refused.
 */
export async function exportVesselDays(options: ExportOptions): Promise<ExportedDay[]> {
  using stop = stopOn(options.signal);
  const { app, jobs } = await openWithService(options);
  const { from, to, vessels = [], force = false, allowShrink = false, takeover = false } = options;
  const results: DayResult[] = [];
  const onEvent = (event: ExportEvent) => {
    if (event.kind === 'vessel-trouble') options.onVessel?.(event.job, event.trouble);
    if (event.kind !== 'day-result') return;
    results.push(event.result);
    options.onResult?.(event.result);
  };
  try {
    const concurrency = app.config.settings.WORKER_CONCURRENCY;
    const request = { jobs, from, to, vessels, force, allowShrink, takeover, concurrency };
    await exportJobs(app.ports, request, onEvent, stop.signal);
    return await withReceipts(app.store, results);
  } finally {
    await app.close();
  }
}

/**
 * Check every vessel-day that the lake has anything of against its receipt, WORKER_CONCURRENCY at once; writes
 * nothing. A difference is a finding of its day, whose `findings` are empty where there is none; an entry that is
 * not `checked` tells of something beside the days, such as a stray file. Without `deep` the service is not asked
 * and its settings are not needed; with it, one object of S3 per day at once lies in TEMP_DIR. Throws ConfigError,
 * CancelledError, and what concerns every vessel-day: a store out of reach, a full disk.
 */
export async function verifyVesselDays(options: VerifyOptions): Promise<VerifiedDay[]> {
  using stop = stopOn(options.signal);
  const opened = options.deep === true ? await openWithService(options) : await openLake(options);
  const { from, to, vessels = [] } = options;
  const { WORKER_CONCURRENCY: concurrency, TEMP_DIR: tempDir } = opened.settings;
  const verified: VerifiedDay[] = [];
  const observer = {
    onPlanned() {},
    onBytes() {},
    onDay(day: VerifiedDay) {
      verified.push(day);
    },
  };
  try {
    const deep = opened.client && { deep: { client: opened.client, tempDir } };
    const request = { jobs: opened.jobs, from, to, vessels, concurrency, ...deep };
    await verifyLake(opened, request, observer, stop.signal);
    return verified;
  } finally {
    await opened.close();
  }
}

/**
 * What the lake holds of each vessel-day, by job, date and vessel; the service is not asked, and its settings are
 * not needed. Of a job that discovers its vessels: those that the lake knows on these dates. Throws ConfigError,
 * and what the store throws; a file that cannot be read is a `failed` vessel-day.
 */
export async function statusOfVesselDays(options: VesselDayOptions): Promise<Coverage[]> {
  using stop = stopOn(options.signal);
  const { settings, jobs, store, log, close } = await openLake(options);
  const ports = {
    store,
    log,
    clock: systemClock,
    self: thisProcess(),
    apiVersion: settings.QUERY_API_VERSION,
  };
  const { from, to } = options;
  try {
    let cells: Coverage[] = [];
    for (const job of jobs) {
      stop.signal.throwIfAborted();
      const vessels = options.vessels ?? ('discover' in job.vessels ? undefined : job.vessels);
      const status = await readJobStatus(ports, job, { from, to, vessels });
      cells = cells.concat([...status.cells]);
    }
    return cells;
  } finally {
    await close();
  }
}

/** Stops with CancelledError, which the rest of us understands, whatever reason a program gives. */
function stopOn(signal: AbortSignal | undefined): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  const onAbort = () => stop.abort(new CancelledError('aborted', { cause: signal?.reason }));
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return { signal: stop.signal, [Symbol.dispose]: () => signal?.removeEventListener('abort', onAbort) };
}

function prepare<C extends LakeConfig>(
  options: VesselDayOptions,
  load: (env: Environment, definitions?: JobDefinitions) => C,
) {
  checkOptions(options);
  const { env, jobs = [], onLog } = options;
  const config = isList(jobs) ? load(env) : load(env, jobs);
  const settings: C['settings'] = config.settings;
  const traceId = readTraceContext(env)?.traceId;
  const log = onLog
    ? createLog({ level: settings.LOG_LEVEL, readable: false, write: onLog, traceId })
    : silentLog;
  return { config, settings, jobs: pickJobs(config, isList(jobs) ? jobs : []), log };
}

async function openLake(options: VesselDayOptions) {
  const prepared = prepare(options, loadLakeConfig);
  const store = await openStore(prepared.settings.LAKE_URL, options.env, prepared.log);
  return { ...prepared, store, client: undefined, close: () => store.close() };
}

async function openWithService(options: VesselDayOptions) {
  const prepared = prepare(options, loadConfig);
  const app = await openApp(prepared.config, options.env, prepared.log, { isUntraced: true });
  return { ...prepared, app, store: app.store, client: app.client, close: () => app.close() };
}

const isList = (jobs: readonly string[] | JobDefinitions): jobs is readonly string[] => Array.isArray(jobs);

/** Throws ConfigError `usage` that lists every fault of dates, vessels and jobs. */
function checkOptions({ from, to, vessels, jobs }: VesselDayOptions): void {
  const faults = Object.entries({ from, to }).flatMap(([name, date]) =>
    isDate(String(date)) ? [] : [`${name}: got '${date}', expected a UTC date YYYY-MM-DD`],
  );
  if (faults.length === 0 && from >= to)
    faults.push(`from ${from}, to ${to}: the range is empty; 'to' is the date to stop before`);
  for (const vessel of vessels ?? []) {
    if (!VESSEL_ID.test(vessel))
      faults.push(`vessels: got '${vessel}', expected IMO and seven digits, such as IMO9321483`);
  }
  for (const [name, list] of Object.entries({ vessels, jobs })) {
    if (list !== undefined && Object.keys(list).length === 0)
      faults.push(`${name}: got none, expected at least one; leave '${name}' out to mean all`);
  }
  if (faults.length > 0) throw new ConfigError('usage', faults.join('\n'));
}

const RECEIPTS_AT_ONCE = 32;

async function withReceipts(store: ObjectStore, results: readonly DayResult[]): Promise<ExportedDay[]> {
  const receipts = new Map<DayResult, Receipt>();
  const published = results.filter(({ status }) => ['published', 'empty', 'done'].includes(status));
  await forEachAtOnce(published, RECEIPTS_AT_ONCE, async (result) => {
    const receipt = await unlessDamaged(readReceipt(store, result.day));
    if (receipt !== undefined) receipts.set(result, receipt);
  });
  return results.map((result) => {
    const receipt = receipts.get(result);
    return receipt === undefined ? result : { ...result, receipt };
  });
}
