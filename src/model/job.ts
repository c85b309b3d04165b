import type { Transport } from './query.ts';
import type { Aggregation } from './series.ts';

export type Dataset = 'measurements' | 'statistics' | 'metadata';
export type VerifyPolicy = 'exact' | 'at-least' | 'off';

/** A cron expression and the time zone in which it is read. */
export interface Schedule {
  readonly cron: string;
  readonly timezone: string;
}

/** One export, as `jobs/<name>.yaml` defines it. */
export interface Job {
  readonly name: string;
  readonly dataset: Dataset;
  /** Vessel identifiers `IMO<number>`, or the metadata query that finds them. */
  readonly vessels: readonly string[] | { readonly discover: string };
  /** `<domain>/<expression>`, one or more; `{vessel}` stands for the vessel's identifier. */
  readonly select: readonly string[];
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
