/** `accept`: accepts a vessel's warning, a job's reduced `select`, or, with `--source`, another source of a job. */
import { usageError } from '../../core/errors.ts';
import { systemClock, VESSEL_ID } from '../../core/model/index.ts';
import { acceptSelect, acceptWarning, describeAccepting } from '../../lake/accept.ts';
import { acceptSource } from '../../lake/lake-file.ts';
import { openStore } from '../../store/open-store.ts';
import type { Command, CommandContext, Item, JsonOption, Names } from './command.ts';
import { configure, expectOwnLake, openLake, openOutput, readConfig } from './command.ts';
import { EXIT_FAILED, EXIT_OK } from './context.ts';

type AcceptOptions = JsonOption & { readonly source?: boolean };

/** Accepts warnings of some vessels, or, without vessels, the loss of series that `select` no longer contains. */
export const acceptCommand: Command<[string, Names, AcceptOptions]> = async (
  context,
  jobName,
  vessels,
  options,
  { clock = systemClock } = {},
) => {
  if (options.source === true) return acceptJobSource(context, jobName, vessels, options);
  const wrong = vessels.find((vessel) => !VESSEL_ID.test(vessel));
  if (wrong !== undefined) throw usageError(`got '${wrong}', expected a vessel such as IMO9321483`);
  const output = openOutput(context.stdout, 'accept', options);
  await using lake = await openLake(context, [jobName]);
  const { store, log, config, jobs } = lake;
  await expectOwnLake(store, config.settings, jobName);
  const ports = { store, log, clock, apiVersion: config.settings.QUERY_API_VERSION };
  const accepted: (Item<'accept', 'vessels'> | Item<'accept', 'jobs'>)[] = [];
  if (vessels.length === 0) {
    const item = { job: jobName, ...(await acceptSelect(ports, jobs[0]!)) };
    output.add('jobs', item);
    accepted.push(item);
  }
  for (const vessel of vessels) {
    const accepting = await acceptWarning(ports, jobName, vessel);
    const { state, series } = { series: undefined, ...accepting };
    const message = describeAccepting(accepting);
    const item = { job: jobName, vessel, ...(series !== undefined && { series }), state, message };
    output.add('vessels', item);
    accepted.push(item);
  }
  const describe = (item: (typeof accepted)[number]) =>
    `${item.job}${'vessel' in item ? `/${item.vessel}` : ''}: ${item.message}\n`;
  output.end({}, () => accepted.map(describe).join(''));
  return accepted.some(({ state }) => state === 'nothing-to-accept') ? EXIT_FAILED : EXIT_OK;
};

/** Records QUERY_BASE_URL as the source of the job. The service is not requested. */
async function acceptJobSource(
  context: CommandContext,
  job: string,
  vessels: readonly string[],
  options: JsonOption,
): Promise<number> {
  if (vessels.length > 0) throw usageError('--source: given together with a vessel, expected the job alone');
  const output = openOutput(context.stdout, 'accept', options);
  const { QUERY_BASE_URL: source, LAKE_URL } = configure(context, readConfig(context), [job]).config.settings;
  const store = await openStore(LAKE_URL, context.env);
  const { state, before } = await acceptSource(store, { url: source }, job).finally(() => store.close());
  const message = {
    accepted: `accepted: ${source}${before === undefined ? '' : `, where it was ${before}`}`,
    'accepted-before': `accepted before: ${source}`,
    'nothing-to-accept':
      'nothing to accept: the lake has no source of this job yet, and its next export records it',
  }[state];
  output.add('sources', { job, source, state, message, ...(before !== undefined && { before }) });
  output.end({}, () => `${job}: ${message}\n`);
  return state === 'nothing-to-accept' ? EXIT_FAILED : EXIT_OK;
}
