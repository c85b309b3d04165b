/** `check`: does everything that an export needs work, and what to do about what does not. */
import { ConfigError } from '../../core/errors.ts';
import { type Clock, type Job, systemClock } from '../../core/model/index.ts';
import { surveyConfig } from '../../runtime/config/config.ts';
import { didYouMean } from '../../runtime/config/did-you-mean.ts';
import { checkAll } from '../check/check.ts';
import type { CheckResult } from '../check/result.ts';
import { formatChecks, formatCheckTotals } from '../terminal/check-view.ts';
import { type CommandContext, EXIT_FAILED, EXIT_OK, type JsonOption, openOutput } from './command.ts';

/** Print what was found; exit code 1 where anything has failed. `overrides` are for tests. */
export async function checkCommand(
  context: CommandContext,
  jobNames: readonly string[],
  options: JsonOption,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Promise<number> {
  const output = openOutput(context.stdout, 'check', options);
  const { env, envFile } = context;
  const config = surveyConfig(env, envFile);
  const jobs = jobsNamed(config.jobs, config.faults, jobNames);
  const results: CheckResult[] = [];
  for await (const result of checkAll({ config, jobs, env, clock, signal: context.signal })) {
    output.add('checks', result);
    results.push(result);
  }
  const totals = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  for (const { state } of results) totals[state]++;
  const text = () => `${formatChecks(results, context.stdout)}\n\n${formatCheckTotals(totals)}\n`;
  output.end({ totals }, text);
  return totals.failed === 0 ? EXIT_OK : EXIT_FAILED;
}

/** Of jobs that have faults the names are not known: those are told anyway. Throws ConfigError `unknown-job`. */
function jobsNamed(
  jobs: readonly Job[],
  faults: readonly string[],
  names: readonly string[],
): readonly Job[] {
  const known = jobs.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0 && faults.length === 0)
    throw new ConfigError(
      'unknown-job',
      `no job '${unknown.join("', '")}'; there are: ${known.join(', ')}${unknown.map((name) => didYouMean(name, known)).join('')}`,
    );
  return jobs.filter(({ name }) => names.length === 0 || names.includes(name));
}
