import { type Job, type Log, shortName, type VesselDay } from '../core/model/index.ts';
import type { SlicedFamily, SliceLength, SliceLengths } from '../core/plan/slice-length.ts';
import { createSliceLength } from '../core/plan/slice-length.ts';
import type { QueryClient } from './fetch/client.ts';
import { createRequestStats, type RequestStats } from './fetch/exchange.ts';
import { createFailureStreak, type FailureStreak } from './fetch/retry.ts';

export interface SourcePorts {
  readonly client: QueryClient;
  readonly log: Log;
  /** What vessel-days of a job tell each other; without it each learns by itself. */
  readonly sliceLengths?: SliceLengths;
}

export interface SourceContext extends SourcePorts {
  readonly job: Job;
  readonly day: VesselDay;
  readonly signal: AbortSignal;
  readonly stats: RequestStats;
  /** Failures in a row of its requests for ranges. */
  readonly streak: FailureStreak;
  readonly lengths: Readonly<Record<SlicedFamily, SliceLength>>;
}

/** What a single question takes. */
export type Asker = Pick<SourceContext, 'client' | 'signal' | 'stats'>;

/** `stats`: counters to add to, where several vessel-days share them. */
export function createSourceContext(
  { client, log, sliceLengths }: SourcePorts,
  job: Job,
  day: VesselDay,
  signal: AbortSignal,
  stats: RequestStats = createRequestStats(),
): SourceContext {
  const lengthOf = (family: SlicedFamily) => sliceLengths?.of(job.name, family) ?? createSliceLength();
  const lengths = { measurements: lengthOf('measurements'), statistics: lengthOf('statistics') };
  return { client, log, job, day, signal, stats, streak: createFailureStreak(), lengths };
}

/** The series of a vessel-day, and the expressions that yield each of them exactly once. */
export interface ResolvedSeries {
  /** Time series id → id in the domain of the first `select` expression that matches. */
  readonly idOf: ReadonlyMap<string, string | null>;
  readonly expressions: readonly string[];
  /** The expressions of the job's `select`, as they stand there, that match no series: optional ones all. */
  readonly unmatched: readonly string[];
  /** What expressions that name the vessel list, and metadata say to be another vessel's: left out. */
  readonly others: readonly OtherSeries[];
}

export interface OtherSeries {
  readonly timeSeriesId: string;
  readonly id: string;
  readonly vessel: string;
}

/** What a series is called in a sentence: its name, or its id where it has none; short, whatever the service calls it. */
export function seriesName({ idOf }: Pick<ResolvedSeries, 'idOf'>, timeSeriesId: string): string {
  return shortName(idOf.get(timeSeriesId) ?? timeSeriesId);
}
