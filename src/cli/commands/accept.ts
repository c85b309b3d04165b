/** `accept`: what is remarked of a vessel is right, or that a job's `select` means less. */
import { ConfigError } from '../../core/errors.ts';
import type { Clock } from '../../core/model/index.ts';
import { systemClock, VESSEL_ID } from '../../core/model/index.ts';
import { acceptRemark, describeAccepting } from '../../lake/accept-remark.ts';
import { acceptSelect } from '../../lake/accept-select.ts';
import { writeText } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';
import { EXIT_FAILED, EXIT_OK } from './context.ts';
import { expectOwnLake, openLake } from './open.ts';
import type { OutputOptions } from './output.ts';
import { openOutput } from './output.ts';
import type { Item } from './results.ts';

type AcceptOptions = Pick<OutputOptions, 'json'>;

/**
 * Accept what is remarked of some vessels of a job, or, without vessels, that series go which its `select` does not mean
 * any more; the exit code. `overrides` are for tests.
 */
export async function acceptCommand(
  context: CommandContext,
  jobName: string,
  vessels: readonly string[],
  options: AcceptOptions,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Promise<number> {
  const wrong = vessels.find((vessel) => !VESSEL_ID.test(vessel));
  if (wrong !== undefined)
    throw new ConfigError('usage', `got '${wrong}', expected a vessel such as IMO9321483`);
  const output = openOutput(context.stdout, 'accept', options);
  const lake = await openLake(context, [jobName], false, {});
  const { store, log } = lake;
  const job = lake.jobs[0]!;
  const accepted: (Item<'accept', 'vessels'> | Item<'accept', 'jobs'>)[] = [];
  try {
    await expectOwnLake(store, lake.config.settings, job.name);
    if (vessels.length === 0) {
      const apiVersion = lake.config.settings.QUERY_API_VERSION;
      accepted.push({ job: job.name, ...(await acceptSelect({ store, log, clock, apiVersion }, job)) });
    }
    for (const vessel of vessels)
      accepted.push({ job: job.name, vessel, ...(await accept({ store, log, clock }, job.name, vessel)) });
  } finally {
    await lake.close();
  }
  for (const item of accepted)
    if ('vessel' in item) output.add('vessels', item);
    else output.add('jobs', item);
  output.end({});
  const nameOf = (item: (typeof accepted)[number]) =>
    'vessel' in item ? `${item.job}/${item.vessel}` : item.job;
  if (output.isText)
    writeText(context.stdout, accepted.map((item) => `${nameOf(item)}: ${item.message}\n`).join(''));
  return accepted.some(({ state }) => state === 'nothing-to-accept') ? EXIT_FAILED : EXIT_OK;
}

async function accept(ports: Parameters<typeof acceptRemark>[0], job: string, vessel: string) {
  const accepting = await acceptRemark(ports, job, vessel);
  const message = describeAccepting(accepting);
  if (accepting.state === 'nothing-to-accept') return { state: accepting.state, message };
  const { state, series } = accepting;
  return { ...(series !== undefined && { series }), state, message };
}
