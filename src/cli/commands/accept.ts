/** `accept`: a vessel's warning is right, a job's `select` means less, or, with `--source`, a job has another source. */
import { usageError } from '../../core/errors.ts';
import { type Clock, systemClock, VESSEL_ID } from '../../core/model/index.ts';
import { acceptSelect, acceptWarning, describeAccepting } from '../../lake/accept.ts';
import { acceptSource } from '../../lake/lake-file.ts';
import { openStore } from '../../store/open-store.ts';
import type { CommandContext, Item, JsonOption } from './command.ts';
import {
  configure,
  EXIT_FAILED,
  EXIT_OK,
  expectOwnLake,
  openLake,
  openOutput,
  readConfig,
} from './command.ts';

interface AcceptOptions extends JsonOption {
  readonly source?: boolean;
}

/**
 * Accept what is warned of some vessels of a job, or, without vessels, that series go which its `select` does not mean
 * any more; the exit code. `overrides` are for tests.
 */
export async function acceptCommand(
  context: CommandContext,
  jobName: string,
  vessels: readonly string[],
  options: AcceptOptions,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Promise<number> {
  if (options.source === true) return acceptJobSource(context, jobName, vessels, options);
  const wrong = vessels.find((vessel) => !VESSEL_ID.test(vessel));
  if (wrong !== undefined) throw usageError(`got '${wrong}', expected a vessel such as IMO9321483`);
  const output = openOutput(context.stdout, 'accept', options);
  const { store, log, config, close } = await openLake(context, [jobName]);
  const job = config.jobs.find(({ name }) => name === jobName)!;
  const accepted: (Item<'accept', 'vessels'> | Item<'accept', 'jobs'>)[] = [];
  try {
    await expectOwnLake(store, config.settings, jobName);
    if (vessels.length === 0) {
      const ports = { store, log, clock, apiVersion: config.settings.QUERY_API_VERSION };
      accepted.push({ job: jobName, ...(await acceptSelect(ports, job)) });
    }
    for (const vessel of vessels)
      accepted.push({ job: jobName, vessel, ...(await accept({ store, log, clock }, jobName, vessel)) });
  } finally {
    await close();
  }
  for (const item of accepted)
    if ('vessel' in item) output.add('vessels', item);
    else output.add('jobs', item);
  const describe = (item: (typeof accepted)[number]) =>
    `${item.job}${'vessel' in item ? `/${item.vessel}` : ''}: ${item.message}\n`;
  output.end({}, () => accepted.map(describe).join(''));
  return accepted.some(({ state }) => state === 'nothing-to-accept') ? EXIT_FAILED : EXIT_OK;
}

async function accept(ports: Parameters<typeof acceptWarning>[0], job: string, vessel: string) {
  const accepting = await acceptWarning(ports, job, vessel);
  const message = describeAccepting(accepting);
  if (accepting.state === 'nothing-to-accept') return { state: accepting.state, message };
  const { state, series } = accepting;
  return { ...(series !== undefined && { series }), state, message };
}

/** The job is copied from QUERY_BASE_URL from now on. The service is not asked. */
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
      'nothing to accept: the lake knows no source of it, and its next export says which it is',
  }[state];
  output.add('sources', { job, source, state, message, ...(before !== undefined && { before }) });
  output.end({}, () => `${job}: ${message}\n`);
  return state === 'nothing-to-accept' ? EXIT_FAILED : EXIT_OK;
}
