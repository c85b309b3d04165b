/** `accept`: a vessel may have so few series as it has. */
import { ConfigError } from '../errors.ts';
import { acceptRemark } from '../lake/accept-remark.ts';
import type { Clock } from '../model/index.ts';
import { systemClock, VESSEL_ID } from '../model/index.ts';
import { countOf } from '../terminal/format.ts';
import { writeText } from '../terminal/screen.ts';
import type { CommandContext } from './context.ts';
import { EXIT_FAILED, EXIT_OK } from './context.ts';
import type { OpenedLake } from './open.ts';
import { openLake } from './open.ts';
import type { Item, OutputOptions } from './results.ts';
import { openOutput } from './results.ts';

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
  if (accepting.state === 'nothing-to-accept') {
    const message = 'nothing to accept: no day waits for series, and the last one published has no remark';
    return { job, vessel, state: 'nothing-to-accept', message };
  }
  const { state, series, comparedWith, waiting } = accepting;
  const what = `${series} series, where ${comparedWith.date} had ${comparedWith.series}`;
  if (state === 'accepted-before') return { job, vessel, series, state, message: `accepted before: ${what}` };
  const next = waiting === 0 ? '' : `; run publishes what waits (${countOf(waiting, 'vessel-day')})`;
  return { job, vessel, series, state, message: `accepted: ${what}${next}` };
}
