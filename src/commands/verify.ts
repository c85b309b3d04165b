/** `verify`: receipts against objects, with `--deep` also against the service. Read-only, always. */
import type { AppOverrides } from '../app.ts';
import { openApp } from '../app.ts';
import { verifyLake } from '../audit/verify-lake.ts';
import type { LakeConfig } from '../config/config.ts';
import { loadConfig, loadLakeConfig, pickJobs } from '../config/config.ts';
import type { QueryClient } from '../fetch/client.ts';
import type { Log } from '../model/index.ts';
import { systemClock } from '../model/index.ts';
import { openStore } from '../store/open-store.ts';
import type { ObjectStore } from '../store/store.ts';
import type { VerifyView } from '../terminal/verify-view.ts';
import { createVerifyView, formatVerified } from '../terminal/verify-view.ts';
import { FINDINGS } from '../verify/findings.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_FAILED, EXIT_OK } from './context.ts';
import type { RunOptions } from './run.ts';
import { checkRange } from './run.ts';

export interface VerifyOptions extends Pick<RunOptions, 'from' | 'to' | 'vessel' | 'json'> {
  readonly deep?: boolean;
}

/** What tests put in the place of the real thing. */
export interface VerifyOverrides extends Pick<AppOverrides, 'clientLimits'> {
  readonly wrapStore?: (store: ObjectStore) => ObjectStore;
}

/** Vessel-days at once with `--deep`: as many objects of S3 lie in the temp folder. */
const MAX_DEEP_AT_ONCE = 4;
/** Without it the store's latency is what takes time, and each vessel-day holds a range of 4 MiB. */
const LEAST_AT_ONCE = 8;

/** Verify some days of some jobs; the exit code: 0 without a finding. `overrides` are for tests. */
export async function verifyCommand(
  context: CommandContext,
  jobNames: readonly string[],
  options: VerifyOptions,
  overrides: VerifyOverrides = {},
): Promise<number> {
  const range = checkRange(options, systemClock.nowMs());
  const deep = options.deep === true;
  const view = createVerifyView(context.stderr, systemClock);
  const opened = deep ? await openWithService(context, view, overrides) : await openLakeOnly(context, view);
  let failure: unknown;
  try {
    const jobs = pickJobs(opened.config, jobNames);
    const { WORKER_CONCURRENCY, TEMP_DIR } = opened.config.settings;
    const request = {
      ...range,
      jobs,
      vessels: options.vessel ?? [],
      concurrency: deep
        ? Math.min(WORKER_CONCURRENCY, MAX_DEEP_AT_ONCE)
        : Math.max(WORKER_CONCURRENCY, LEAST_AT_ONCE),
      ...(opened.client && { deep: { client: opened.client, tempDir: TEMP_DIR } }),
    };
    const store = overrides.wrapStore?.(opened.store) ?? opened.store;
    await verifyLake({ store, log: opened.log }, request, view, context.signal);
  } catch (error) {
    failure = error;
  } finally {
    view.end();
    await opened.close();
  }
  if (failure === undefined || view.totals.vesselDays > 0)
    context.stdout.write(options.json === true ? jsonVerified(view) : formatVerified(view, deep));
  if (failure !== undefined) throw failure;
  return view.findings.length === 0 ? EXIT_OK : EXIT_FAILED;
}

interface Opened {
  readonly config: LakeConfig;
  readonly log: Log;
  readonly store: ObjectStore;
  readonly client?: QueryClient;
  close(): Promise<void>;
}

/** The receipts need no credentials to be held against the objects. */
async function openLakeOnly(context: CommandContext, view: VerifyView): Promise<Opened> {
  const config = loadLakeConfig(context.env);
  const log = commandLog(context, config.settings.LOG_LEVEL, view.log);
  const store = await openStore(config.settings.LAKE_URL, context.env);
  return { config, log, store, close: () => store.close() };
}

async function openWithService(
  context: CommandContext,
  view: VerifyView,
  { clientLimits }: VerifyOverrides,
): Promise<Opened> {
  const config = loadConfig(context.env);
  const log = commandLog(context, config.settings.LOG_LEVEL, view.log);
  const overrides = { encoderThreads: 0, ...(clientLimits && { clientLimits }) } as const;
  const { store, client, close } = await openApp(config, context.env, log, overrides);
  return { config, log, store, client, close };
}

function jsonVerified({ totals, findings, remarks }: VerifyView): string {
  const result = {
    ...totals,
    findings: findings.map(({ name, day, where, found, expected }) => {
      const { means, next } = FINDINGS[name];
      return { name, ...day, where, found, expected, means, next };
    }),
    remarks: remarks.map(({ name, day, text }) => ({ name, ...day, text })),
  };
  return `${JSON.stringify(result, null, 2)}\n`;
}
