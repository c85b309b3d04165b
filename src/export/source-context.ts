import type { QueryClient } from '../fetch/client.ts';
import type { RequestStats } from '../fetch/exchange.ts';
import type { Job, Log, SeriesMetadata, VesselDay } from '../model/index.ts';

/** How the source is asked on behalf of one vessel-day. */
export interface SourceContext {
  readonly client: QueryClient;
  readonly job: Job;
  readonly day: VesselDay;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly stats: RequestStats;
}

/** The series of a vessel-day, and the expressions that yield each of them exactly once. */
export interface ResolvedSeries {
  readonly metadata: readonly SeriesMetadata[];
  /** Time series id → id in the domain of the first `select` expression that matches. */
  readonly idOf: ReadonlyMap<string, string | null>;
  readonly expressions: readonly string[];
}
