/** `accept JOB --source`: the job is copied from QUERY_BASE_URL from now on. */
import { ConfigError } from '../../core/errors.ts';
import { acceptSource } from '../../lake/lake-source.ts';
import { openStore } from '../../store/open-store.ts';
import { writeText } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';
import { EXIT_FAILED, EXIT_OK } from './context.ts';
import { configure, readConfig } from './open.ts';
import type { OutputOptions } from './output.ts';
import { openOutput } from './output.ts';

/** Write down where a job is copied from; the exit code. The service is not asked. */
export async function acceptSourceCommand(
  context: CommandContext,
  job: string,
  vessels: readonly string[],
  options: Pick<OutputOptions, 'json'>,
): Promise<number> {
  if (vessels.length > 0)
    throw new ConfigError('usage', '--source: given together with a vessel, expected the job alone');
  const output = openOutput(context.stdout, 'accept', options);
  const { settings } = configure(context, readConfig(context), [job]).config;
  const { QUERY_BASE_URL: source, LAKE_URL } = settings;
  const store = await openStore(LAKE_URL, context.env);
  const { state, before } = await acceptSource(store, { url: source }, job).finally(() => store.close());
  const message = {
    accepted: `accepted: ${source}${before === undefined ? '' : `, where it was ${before}`}`,
    'accepted-before': `accepted before: ${source}`,
    'nothing-to-accept':
      'nothing to accept: the lake knows no source of it, and its next export says which it is',
  }[state];
  output.add('sources', { job, source, state, message, ...(before !== undefined && { before }) });
  output.end({});
  if (output.isText) writeText(context.stdout, `${job}: ${message}\n`);
  return state === 'nothing-to-accept' ? EXIT_FAILED : EXIT_OK;
}
