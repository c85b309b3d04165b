/** `plan`: estimates an export of a range. Writes nothing. */
import { systemClock } from '../../core/model/index.ts';
import { estimateJob } from '../../export/estimate/estimate-job.ts';
import { createRequestStats } from '../../source/fetch/exchange.ts';
import { formatPlan } from '../terminal/plan-view.ts';
import { type Command, EXIT_OK, type JsonOption, type Names, openExport, openOutput } from './command.ts';
import { askedDates, datesOr, EXPORT_DAYS, formatDates, type RangeOptions } from './dates.ts';

type PlanOptions = RangeOptions & JsonOption;

export const planCommand: Command<[Names, PlanOptions]> = async (context, names, options, overrides = {}) => {
  const nowMs = (overrides.clock ?? systemClock).nowMs();
  const dates = datesOr(EXPORT_DAYS, askedDates(options, nowMs), nowMs);
  const output = openOutput(context.stdout, 'plan', options);
  await using opened = await openExport(context, names, { encoderThreads: 0, ...overrides });
  const { app, config, jobs } = opened;
  const {
    QUERY_MAX_CONCURRENCY: concurrencyLimit,
    WORKER_CONCURRENCY: workers,
    QUERY_MAX_REQUESTS_PER_MINUTE: perMinute,
  } = config.settings;
  const rateLimit = perMinute > 0 ? `, ${perMinute} requests a minute` : '';
  const words = `with ${concurrencyLimit} requests and ${workers} vessel-days at once${rateLimit}`;
  const blocks: string[] = [];
  const stats = createRequestStats();
  const limits = { concurrencyLimit, workers, perMinute };
  const request = { from: dates.from, to: dates.to, ...limits, vessels: options.vessel ?? [] };
  for (const job of jobs) {
    const plan = await estimateJob(app.ports, job, request, context.signal, stats);
    const { vessels: vesselCount, states, troubles, ...more } = plan;
    const { done: published, ...others } = states;
    output.add('jobs', { ...more, vesselCount, totals: { ...others, published } });
    for (const trouble of troubles) output.add('vessels', { job: job.name, ...trouble });
    blocks.push(formatPlan(plan, formatDates(dates), words));
  }
  const { requests } = stats;
  const summary = { concurrencyLimit, vesselDaysAtOnce: workers, requestsPerMinute: perMinute };
  const text = () => `${blocks.join('\n\n')}\n${requests} requests to plan\n`;
  output.end({ limits: summary, requests }, text);
  return EXIT_OK;
};
