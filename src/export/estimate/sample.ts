/** Samples the size of a few vessel-days of a job, and times one request. */
import { HttpStatusError, RetriableError } from '../../core/errors.ts';
import type { Clock, Job, VesselDay } from '../../core/model/index.ts';
import { dayRange, isWithin, MICROS_PER_HOUR } from '../../core/model/index.ts';
import type { ResolvedSeries, SourceContext, SourcePorts } from '../../source/context.ts';
import { createSourceContext } from '../../source/context.ts';
import { parseInt64Text } from '../../source/decode/number-lexeme.ts';
import type { RequestStats } from '../../source/fetch/exchange.ts';
import { resolveSeries } from '../../source/series.ts';
import { collectStatistics } from '../../source/statistics.ts';
import { type SampledDay, spread, type TimedFetch } from './cost.ts';

const SAMPLED_VESSELS = 8;
const SAMPLED_DATES = 6;

interface Sampling {
  readonly ports: SourcePorts & { readonly clock: Clock };
  readonly job: Job;
  readonly signal: AbortSignal;
  readonly stats: RequestStats;
}

type Sample = Awaited<ReturnType<typeof sampleDays>>;

export interface TimedDay extends TimedFetch {
  readonly vessel: string;
  readonly date: string;
}

/** Request the counts of a few vessel-days, evenly spread over vessels and dates; those without series are left out. */
export async function sampleDays(sampling: Sampling, toDo: readonly VesselDay[]) {
  const { ports, job, signal, stats } = sampling;
  const byVessel = Map.groupBy(toDo, ({ vessel }) => vessel);
  const days: SampledDay[] = [];
  const expressionsOf = new Map<string, readonly string[]>();
  let requests = 0;
  let unsampled: unknown;
  const startedMs = ports.clock.monotonicMs();
  for (const vessel of spread([...byVessel.keys()].sort(), SAMPLED_VESSELS)) {
    const asked = spread(byVessel.get(vessel)!, SAMPLED_DATES);
    const contextOf = (day: VesselDay) => createSourceContext(ports, job, day, signal, stats);
    const series = await resolveSeries(contextOf(asked[0]!)).catch((error) => {
      if (!(error instanceof RetriableError && error.code === 'no-series')) throw error;
      ports.log.warn({ job: job.name, vessel }, `not sampled: ${error.message}`);
      unsampled ??= error;
    });
    if (series === undefined) continue;
    expressionsOf.set(vessel, series.expressions);
    for (const day of asked) days.push(await sampleDay(contextOf(day), series));
    requests += job.select.length + (job.dataset === 'metadata' ? 0 : asked.length);
  }
  if (days.length === 0 && unsampled !== undefined) throw unsampled;
  const durationMs = ports.clock.monotonicMs() - startedMs;
  return {
    days,
    /** Figures of the sampled vessels. */
    expressionsOf,
    latencyMs: requests === 0 ? 0 : durationMs / requests,
  };
}

async function sampleDay(context: SourceContext, { idOf, expressions }: ResolvedSeries): Promise<SampledDay> {
  const { job, day } = context;
  const { vessel, date } = day;
  const series = idOf.size;
  if (job.dataset === 'metadata') return { vessel, date, readings: 0, rows: series, series };
  const range = dayRange(date);
  const { readings, windows } = await collectStatistics(
    context,
    { expressions, range, aggregations: ['count'], window: job.window ?? '1d' },
    () => ({ readings: 0, windows: 0 }),
    (sums, { timestampMicros, values }) => {
      const text = values.get('count');
      if (text === undefined || text === 'null' || !isWithin(range, timestampMicros)) return;
      const count = parseInt64Text(text);
      sums.readings += count;
      if (count > 0) sums.windows++;
    },
  );
  return { vessel, date, readings, rows: job.dataset === 'statistics' ? windows : readings, series };
}

/** Time one request for an hour of readings of the largest sampled day. Undefined if there is none. */
export async function timeFetch(
  { ports: { clock, client }, job, signal, stats }: Sampling,
  { days, expressionsOf }: Sample,
): Promise<TimedDay | undefined> {
  const [largest] = days.toSorted((a, b) => b.readings - a.readings);
  if (job.dataset !== 'measurements' || largest === undefined || largest.readings === 0) return undefined;
  const { vessel, date } = largest;
  const expressions = expressionsOf.get(vessel)!;
  const noon = dayRange(date).fromMicros + 12 * MICROS_PER_HOUR;
  const range = { fromMicros: noon, toMicros: noon + MICROS_PER_HOUR };
  const startedMs = clock.monotonicMs();
  try {
    const rows = await client.exchange(
      () => ({ family: 'measurements', expressions, format: 'ndjson', range, outputDomain: 'id' }),
      async ({ body }) => {
        let lines = 0;
        for await (const chunk of body)
          for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, at + 1)) lines++;
        return lines;
      },
      { signal, stats },
    );
    return { vessel, date, rows, durationMs: clock.monotonicMs() - startedMs };
  } catch (error) {
    // Some services answer 404 if there is nothing.
    if (error instanceof HttpStatusError && error.status === 404) return undefined;
    throw error;
  }
}
