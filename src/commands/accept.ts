/** `accept`: what is remarked of a vessel is right. */
import { ConfigError } from '../errors.ts';
import { acceptRemark, describeAccepting } from '../lake/accept-remark.ts';
import type { Clock } from '../model/index.ts';
import { systemClock, VESSEL_ID } from '../model/index.ts';
import { writeText } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';
import { EXIT_FAILED, EXIT_OK } from './context.ts';
import type { OpenedLake } from './open.ts';
import { openLake } from './open.ts';
import type { OutputOptions } from './output.ts';
import { openOutput } from './output.ts';
import type { Item } from './results.ts';

type AcceptOptions = Pick<OutputOptions, 'json'>;

type Accepted = Item<'accept', 'vessels'>;

/** Accept what is missing of some vessels of a job; the exit code. `overrides` are for tests. */
export async function acceptCommand(
  context: CommandContext,
  job: string,
  vessels: readonly string[],
  options: AcceptOptions,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Promise<number> {
  const wrong = vessels.find((vessel) => !VESSEL_ID.test(vessel));
  if (wrong !== undefined)
    throw new ConfigError('usage', `got '${wrong}', expected a vessel such as IMO9321483`);
  const output = openOutput(context.stdout, 'accept', options);
  const lake = await openLake(context, [job], false, {});
  const accepted: Accepted[] = [];
  try {
    for (const vessel of vessels) accepted.push(await accept(lake, clock, job, vessel));
  } finally {
    await lake.close();
  }
  for (const item of accepted) output.add('vessels', item);
  output.end({});
  if (output.isText)
    writeText(
      context.stdout,
      accepted.map(({ vessel, message }) => `${job}/${vessel}: ${message}\n`).join(''),
    );
  return accepted.some(({ state }) => state === 'nothing-to-accept') ? EXIT_FAILED : EXIT_OK;
}

async function accept(lake: OpenedLake, clock: Clock, job: string, vessel: string): Promise<Accepted> {
  const accepting = await acceptRemark({ store: lake.store, log: lake.log, clock }, job, vessel);
  const message = describeAccepting(accepting);
  if (accepting.state === 'nothing-to-accept') return { job, vessel, state: accepting.state, message };
  const { state, series } = accepting;
  return { job, vessel, ...(series !== undefined && { series }), state, message };
}
