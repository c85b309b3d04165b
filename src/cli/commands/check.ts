/** `check`: tests everything that an export needs, and prints advice for each failure. */
import { type Job, systemClock } from '../../core/model/index.ts';
import { pickJobs } from '../../core/names.ts';
import { surveyConfig } from '../../runtime/config/config.ts';
import { checkAll } from '../check/check.ts';
import type { CheckResult } from '../check/result.ts';
import { formatChecks, formatCheckTotals } from '../terminal/check-view.ts';
import { type Command, EXIT_FAILED, EXIT_OK, type JsonOption, type Names, openOutput } from './command.ts';

export const checkCommand: Command<[Names, JsonOption]> = async (context, names, options, overrides = {}) => {
  const { clock = systemClock } = overrides;
  const { stdout, env, envFile } = context;
  const output = openOutput(stdout, 'check', options);
  const config = surveyConfig(env, envFile);
  // Jobs with faults have no name yet: their faults are always printed.
  const isNamed = ({ name }: Job) => names.length === 0 || names.includes(name);
  const jobs = config.faults.length === 0 ? pickJobs(config.jobs, names) : config.jobs.filter(isNamed);
  const results: CheckResult[] = [];
  const totals = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  for await (const result of checkAll({ config, jobs, env, clock, signal: context.signal })) {
    output.add('checks', result);
    results.push(result);
    totals[result.state]++;
  }
  output.end({ totals }, () => `${formatChecks(results, stdout)}\n\n${formatCheckTotals(totals)}\n`);
  return totals.failed === 0 ? EXIT_OK : EXIT_FAILED;
};
