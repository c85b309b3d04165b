/** `config`: effective settings, secrets masked, and where each came from. */
import { showSettings } from '../config/config.ts';
import type { Job } from '../model/index.ts';
import { formatTable } from '../terminal/format.ts';
import type { CommandContext } from './context.ts';
import { EXIT_OK, EXIT_USAGE } from './context.ts';

/** Print settings and jobs; exit code 2 when any of them is wrong. */
export function configCommand(context: CommandContext, options: { readonly json?: boolean }): number {
  const { settings, jobs, faults } = showSettings(context.env);
  if (options.json === true) {
    context.stdout.write(`${JSON.stringify({ settings, jobs, faults }, null, 2)}\n`);
  } else {
    const rows = settings.map(({ name, value, origin, meaning }) => [name, value ?? '-', origin, meaning]);
    context.stdout.write(`${formatTable([['setting', 'value', 'from', 'meaning'], ...rows])}\n\n`);
    context.stdout.write(`${formatTable([['job', 'dataset', 'vessels', 'select'], ...jobs.map(jobRow)])}\n`);
    for (const fault of faults) context.stderr.write(`fault: ${fault}\n`);
  }
  return faults.length === 0 ? EXIT_OK : EXIT_USAGE;
}

function jobRow(job: Job): string[] {
  const vessels = 'discover' in job.vessels ? `discover ${job.vessels.discover}` : job.vessels.join(', ');
  return [job.name, job.dataset, vessels, job.select.join(', ')];
}
