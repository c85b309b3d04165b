/** The source's totals of many vessel-days with few requests: statistics in windows of a day. */
import type { TimeRange } from '../core/model/index.ts';
import { MICROS_PER_DAY } from '../core/model/index.ts';
import { mayFitInHalves } from './answer-faults.ts';
import type { SourceContext } from './context.ts';
import type { LookbackTotals, LookbackVessel } from './day-collector.ts';
import { createDayCollector, daysIn } from './day-collector.ts';
import { collectStatistics } from './statistics.ts';

/** Series × days that one request asks for at most: bounds its answer to some 10 MB. */
const LOOKBACK_RESULTS = 50_000;
/** Expressions in one request at most: bounds its body. */
const EXPRESSIONS_AT_ONCE = 200;

/**
 * Vessels that are asked for in one request each: as many as keep the answer bounded, and never two that share
 * a series, whose readings a service might count twice then.
 */
export function groupVessels(vessels: readonly LookbackVessel[]): LookbackVessel[][] {
  const groups: LookbackVessel[][] = [];
  let series = new Set<string>();
  for (const vessel of vessels) {
    const group = groups.at(-1);
    const ids = [...vessel.series.idOf.keys()];
    if (group === undefined || ids.some((id) => series.has(id)) || !fits([...group, vessel])) {
      groups.push([vessel]);
      series = new Set(ids);
    } else {
      group.push(vessel);
      for (const id of ids) series.add(id);
    }
  }
  return groups;
}

function fits(group: readonly LookbackVessel[]): boolean {
  const sum = (count: (vessel: LookbackVessel) => number) =>
    group.reduce((total, vessel) => total + count(vessel), 0);
  const results = sum(({ series }) => series.idOf.size) * daysIn(unionOf(group));
  return results <= LOOKBACK_RESULTS && sum(({ series }) => series.expressions.length) <= EXPRESSIONS_AT_ONCE;
}

function unionOf(group: readonly LookbackVessel[]): TimeRange {
  return {
    fromMicros: Math.min(...group.map(({ range }) => range.fromMicros)),
    toMicros: Math.max(...group.map(({ range }) => range.toMicros)),
  };
}

/**
 * Ask for the totals of a group. A look-back that is too long for one answer, that does not come is
 * asked in parts: fewer vessels, then fewer days. Throws what `collectStatistics` throws, and DataError
 * `windows-misaligned`.
 */
export async function askLookback(
  context: SourceContext,
  group: readonly LookbackVessel[],
): Promise<LookbackTotals> {
  const tooLong = fits(group) ? undefined : splitGroup(group);
  if (tooLong !== undefined) return await askParts(context, tooLong);
  try {
    return await askOnce(context, group);
  } catch (error) {
    const halves = mayFitInHalves(error, context.streak) ? splitGroup(group) : undefined;
    if (halves === undefined) throw error;
    return await askParts(context, halves);
  }
}

async function askParts(
  context: SourceContext,
  parts: readonly (readonly LookbackVessel[])[],
): Promise<LookbackTotals> {
  const totals: LookbackTotals[] = [];
  for (const part of parts) totals.push(await askLookback(context, part));
  const inParts = <T>(ask: (part: LookbackTotals) => T | undefined): T | undefined => {
    for (const part of totals) {
      const answer = ask(part);
      if (answer !== undefined) return answer;
    }
    return undefined;
  };
  return {
    of: (vessel, date) => inParts((part) => part.of(vessel, date)),
    digestOf: (vessel, date) => inParts((part) => part.digestOf(vessel, date)),
  };
}

/** Two halves of a group, or of its days; undefined for one vessel and one day. */
function splitGroup(group: readonly LookbackVessel[]): LookbackVessel[][] | undefined {
  if (group.length > 1) {
    const middle = Math.ceil(group.length / 2);
    return [group.slice(0, middle), group.slice(middle)];
  }
  const [only] = group;
  if (only === undefined || daysIn(only.range) <= 1) return undefined;
  const { fromMicros, toMicros } = only.range;
  const cut = fromMicros + Math.ceil(daysIn(only.range) / 2) * MICROS_PER_DAY;
  return [
    [{ ...only, range: { fromMicros, toMicros: cut } }],
    [{ ...only, range: { fromMicros: cut, toMicros } }],
  ];
}

async function askOnce(context: SourceContext, group: readonly LookbackVessel[]): Promise<LookbackTotals> {
  const range = unionOf(group);
  const expressions = [...new Set(group.flatMap(({ series }) => series.expressions))];
  const collector = await collectStatistics(
    context,
    {
      ...{ expressions, range, aggregations: ['count', 'first_time', 'last_time'], window: '1d' },
      isDivisible: splitGroup(group) !== undefined,
    },
    () => createDayCollector(group, range),
    (days, row) => days.add(row),
    (days, row) => days.addCounted(row),
  );
  if (collector.strangers.size > 0) {
    const ids = [...collector.strangers].slice(0, 3);
    context.log.warn(
      { job: context.job.name, series: collector.strangers.size, ids },
      'statistics of series that metadata does not list are passed over',
    );
  }
  return collector.totals();
}
