/** Checks job files against the service: whether every expression selects something, and how many series. */
import { forEachAtOnce } from '../../core/concurrency.ts';
import { shortName } from '../../core/errors.ts';
import { checkDigitHint, countOf, type Job, vesselOf } from '../../core/model/index.ts';
import { didYouMean } from '../../core/names.ts';
import type { QueryClient } from '../../source/fetch/client.ts';
import { createRequestStats } from '../../source/fetch/exchange.ts';
import { askMetadata, discoverVessels } from '../../source/metadata.ts';
import { canBeOfAll, expressionFor } from '../../source/series.ts';
import { type CheckResult, failed, faultOf, resultsOf, warning } from './result.ts';

/** For more vessels than this, each expression is one request for all of them, if it can be written so. */
const ASKED_BY_NAME = 20;

type Asking = Readonly<{ client: QueryClient; concurrency: number; signal: AbortSignal }>;

/** A result for each expression of a job's `select`, or one if its vessels cannot be found. */
export async function* checkJob(asking: Asking, job: Job): AsyncGenerator<CheckResult> {
  const resultOf = resultsOf('jobs');
  const { signal } = asking;
  try {
    const vessels = await vesselsOf(asking, job);
    for (const expression of job.select) {
      signal.throwIfAborted();
      const found = await checkExpression(asking, job, expression, vessels).catch(faultOf);
      signal.throwIfAborted();
      yield resultOf(job.name, found);
    }
  } catch (thrown) {
    signal.throwIfAborted();
    yield resultOf(job.name, faultOf(thrown));
  }
}

async function vesselsOf({ client, signal }: Asking, { vessels }: Job): Promise<readonly string[]> {
  if (!('discover' in vessels)) return vessels;
  return (await discoverVessels({ client }, vessels.discover, signal, createRequestStats())).vessels;
}

async function checkExpression(asking: Asking, job: Job, written: string, vessels: readonly string[]) {
  const { series, without, asked } = await countSeries(asking, written, vessels);
  const of = countOf(asked, 'vessel');
  const among = asked < vessels.length ? `${of}, the first of ${vessels.length}` : of;
  const selects = `${shortName(written)} selects`;
  if (without.length === 0) return `${selects} ${series} series of ${among}`;
  const isOptional = job.optional?.includes(written) === true;
  if (isOptional && series > 0)
    return `${selects} ${series} series of ${among}, and none of ${without.length} of them`;
  if (isOptional) return warning('nothing-selected', `${selects} nothing of ${among}; it is optional`);
  const more = without.length === 1 ? '' : ` and ${without.length - 1} more`;
  const hint = await suggest(asking, expressionFor(written, without[0]!));
  const where = job.path ?? `job '${job.name}'`;
  return failed(
    'nothing-selected',
    `${selects} nothing of ${without[0]}${more}${hint}${checkDigitHint(without[0]!)}; 'vessel-export series' lists what there is: correct 'select' in ${where}, or let it say 'optional: true' where some vessels have no such series`,
  );
}

/** Series, the vessels for which nothing is selected, and the number of vessels that were checked. */
async function countSeries(asking: Asking, written: string, vessels: readonly string[]) {
  const isOfAll = !written.includes('{vessel}');
  if (isOfAll || (vessels.length > ASKED_BY_NAME && canBeOfAll(written))) {
    const counts = await countByVessel(asking, expressionFor(written, '*'));
    const ofNobody = counts.get('') ?? 0;
    // Series without a vessel belong to every vessel that selects them.
    const without = ofNobody > 0 ? [] : vessels.filter((vessel) => !counts.has(vessel));
    const series = vessels.reduce((sum, vessel) => sum + (counts.get(vessel) ?? 0), ofNobody);
    return { series, without, asked: vessels.length };
  }
  const some = vessels.slice(0, ASKED_BY_NAME);
  const without: string[] = [];
  let series = 0;
  await forEachAtOnce(some, asking.concurrency, async (vessel) => {
    const counts = await countByVessel(asking, expressionFor(written, vessel));
    const count = (counts.get(vessel) ?? 0) + (counts.get('') ?? 0);
    series += count;
    if (count === 0) without.push(vessel);
  });
  return { series, without: without.sort(), asked: some.length };
}

/** Series that an expression matches, by vessel; '' for those without one. */
async function countByVessel({ client, signal }: Asking, expression: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const count = (element: { vesselImo(): string | null }): undefined => {
    const imo = element.vesselImo();
    const vessel = imo === null ? '' : vesselOf(imo);
    if (vessel !== undefined) counts.set(vessel, (counts.get(vessel) ?? 0) + 1);
  };
  await askMetadata({ client, signal, stats: createRequestStats() }, expression, count, 'take');
  return counts;
}

/** Domains of the contract; a service may have others. */
const DOMAINS = ['flat', 'jsmea', 'maker', 'vis-3-8a', 'parameters', 'id'];
const MAX_NAMES = 5_000;

/** Suggestions for an expression that selects nothing: a similar name, or another domain. */
async function suggest({ client, signal }: Asking, expression: string): Promise<string> {
  const levels = expression.split('/');
  const last = levels.pop()!;
  const names = new Set<string>();
  const gather = (element: { id(): string }): undefined => {
    if (names.size < MAX_NAMES) names.add(element.id().split('/').at(-1)!);
  };
  const asker = { client, signal, stats: createRequestStats() };
  // It is only a hint.
  if (!last.includes('*')) await askMetadata(asker, `${levels.join('/')}/*`, gather, 'take').catch(() => {});
  if (names.size > 0) return didYouMean(last, names);
  return DOMAINS.includes(levels[0]!) ? '' : didYouMean(levels[0]!, DOMAINS);
}
