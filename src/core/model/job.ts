import type { Transport } from './query.ts';
import type { Aggregation } from './series.ts';
import { MICROS_PER_HOUR } from './time.ts';

export type Dataset = 'measurements' | 'statistics' | 'metadata';
type VerifyPolicy = 'exact' | 'at-least' | 'off';

/** A cron expression and the time zone in which it is read. */
export interface Schedule {
  readonly cron: string;
  readonly timezone: string;
}

/** One export, as `jobs/<name>.yaml` defines it. */
export interface Job {
  readonly name: string;
  /** Its file, for messages; absent where there is none. */
  readonly path?: string;
  readonly dataset: Dataset;
  /** Vessel identifiers `IMO<number>`, or the metadata query that finds them. */
  readonly vessels: readonly string[] | { readonly discover: string };
  /** `<domain>/<expression>`, one or more; `{vessel}` stands for the vessel's identifier. */
  readonly select: readonly string[];
  /** Those of them that may match no series: the vessel has none of theirs. */
  readonly optional?: readonly string[];
  /** UTC date: the scheduler plans nothing before it. Absent: from the first published day on. */
  readonly since?: string;
  readonly schedule?: Schedule & { readonly settleMs: number };
  readonly reconcile?: Schedule & { readonly lookbackDays: number };
  readonly transport: Transport;
  readonly verify: VerifyPolicy;
  /** Statistics only: window literal that divides a day. */
  readonly window?: string;
  readonly windowMicros?: number;
  /** Statistics only; `count` is always among them. */
  readonly aggregations?: readonly Aggregation[];
}

/** Length of the windows of a statistics job, which divide the day. */
export function windowMicrosOf({ windowMicros }: Job): number {
  return windowMicros ?? MICROS_PER_HOUR;
}

const DEFAULT_LOOKBACK_DAYS = 14;

/** Days before today that a job looks back on, where nobody says otherwise. */
export function lookbackDaysOf({ reconcile }: Job): number {
  return reconcile?.lookbackDays ?? DEFAULT_LOOKBACK_DAYS;
}
