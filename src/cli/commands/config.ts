/** `config`: effective settings, secrets masked, and where each came from. */
import type { Job } from '../../core/model/index.ts';
import { showSettings } from '../../runtime/config/config.ts';
import { formatTable } from '../terminal/format.ts';
import { paint, roomOn, writeLines, writeText } from '../terminal/screen.ts';
import { type CommandContext, EXIT_OK, type JsonOption, openOutput } from './command.ts';
import { EXIT_USAGE } from './context.ts';

export function configCommand(context: CommandContext, options: JsonOption): number {
  const { settings, jobs, faults, warnings } = showSettings(context.env, context.envFile);
  const { stdout, stderr } = context;
  const output = openOutput(stdout, 'config', options);
  for (const setting of settings) output.add('settings', setting);
  for (const { name: job, ...more } of jobs) output.add('jobs', { job, ...more });
  for (const fault of faults) output.add('faults', fault);
  for (const warning of warnings) output.add('warnings', warning);
  output.end({});
  if (output.isText) {
    const rows = settings.map(({ name, value, valid, origin, meaning }) => {
      const shown = valid ? (value ?? '-') : paint(stdout, 'red', `not valid: ${value ?? '-'}`);
      return [name, shown, origin, meaning];
    });
    const tables = [
      [['setting', 'value', 'from', 'meaning'], ...rows],
      [['job', 'dataset', 'vessels', 'select'], ...jobs.map(jobRow)],
    ].map((table) => formatTable(table, roomOn(stdout)));
    writeLines(stdout, `${tables.join('\n\n')}\n`);
    for (const fault of faults) writeText(stderr, `${paint(stderr, 'red', 'fault:')} ${fault}\n`);
    for (const text of warnings) writeText(stderr, `${paint(stderr, 'yellow', 'warning:')} ${text}\n`);
  }
  return faults.length === 0 ? EXIT_OK : EXIT_USAGE;
}

function jobRow(job: Job): string[] {
  const vessels = 'discover' in job.vessels ? `discover ${job.vessels.discover}` : job.vessels.join(', ');
  const shown = (one: string) => (job.optional?.includes(one) ? `${one} (optional)` : one);
  return [job.name, job.dataset, vessels, job.select.map(shown).join(', ')];
}
