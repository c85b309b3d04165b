/** `plan`: what an export of a range will take, before it is begun. Writes nothing. */
import type { AppOverrides } from '../app.ts';
import { openApp } from '../app.ts';
import { loadConfig, pickJobs } from '../config/config.ts';
import type { JobPlan } from '../export/plan-job.ts';
import { planJob } from '../export/plan-job.ts';
import { createRequestStats } from '../fetch/exchange.ts';
import { systemClock } from '../model/index.ts';
import { formatPlan } from '../terminal/plan-view.ts';
import type { CommandContext } from './context.ts';
import { commandLog, EXIT_OK } from './context.ts';
import type { RunOptions } from './run.ts';
import { checkRange } from './run.ts';

export type PlanOptions = Pick<RunOptions, 'from' | 'to' | 'vessel' | 'json'>;

/** Print what a run would take; the exit code. `overrides` are for tests. */
export async function planCommand(
  context: CommandContext,
  jobNames: readonly string[],
  options: PlanOptions,
  overrides: AppOverrides = {},
): Promise<number> {
  const range = checkRange(options, (overrides.clock ?? systemClock).nowMs());
  const config = loadConfig(context.env);
  const jobs = pickJobs(config, jobNames);
  const { settings } = config;
  const limits = {
    cap: settings.QUERY_MAX_CONCURRENCY,
    workers: settings.WORKER_CONCURRENCY,
    perMinute: settings.QUERY_MAX_REQUESTS_PER_MINUTE,
  };
  const app = await openApp(config, context.env, commandLog(context, settings.LOG_LEVEL), {
    encoderThreads: 0,
    ...overrides,
  });
  try {
    const stats = createRequestStats();
    const plans: JobPlan[] = [];
    for (const job of jobs) {
      const request = { ...range, ...limits, vessels: options.vessel ?? [] };
      plans.push(await planJob(app.ports, job, request, context.signal, stats));
    }
    if (options.json === true) {
      const result = { jobs: plans, limits, requestsToPlan: stats.requests };
      context.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
      return EXIT_OK;
    }
    const pace = limits.perMinute > 0 ? `, ${limits.perMinute} requests a minute` : '';
    const words = `with ${limits.cap} requests and ${limits.workers} vessel-days at once${pace}`;
    const lines = plans.map((plan) => formatPlan(plan, words));
    context.stdout.write(`${lines.join('\n\n')}\n${stats.requests} requests to plan\n`);
    return EXIT_OK;
  } finally {
    await app.close();
  }
}
