/** How one made-up series is named, described, timed and valued. */
import type { Driver } from './voyage.ts';

/** A number that follows a driver: offset + gain × driver ± noise, kept within the range. */
export interface NumberRule {
  readonly kind: 'number';
  readonly type: 'double' | 'long';
  readonly driver: Driver;
  readonly gain: number;
  readonly offset: number;
  /** Half width of the uniform noise. */
  readonly noise: number;
  /** Decimals kept; none for long. 0 for a double gives `5.0`. */
  readonly decimals: number;
}

/** Whole steps of a driver that only grows, on top of a base that may be beyond 2^53. */
export interface CounterRule {
  readonly kind: 'counter';
  readonly driver: Driver;
  readonly gain: number;
  readonly base: bigint;
}

export type JsonRule =
  | { readonly kind: 'position' }
  /** JSON texts chosen by a driver (rounded) or, without one, by chance every half hour. */
  | { readonly kind: 'choice'; readonly texts: readonly string[]; readonly driver?: Driver }
  | { readonly kind: 'flag'; readonly driver: Driver; readonly above: number };

export type ValueRule = NumberRule | CounterRule | JsonRule;

/** Cadences relative to each other; `rare` is every few hours whatever `readingsPerDay` is. */
export const CADENCES = ['fast', 'normal', 'slow', 'rare'] as const;
export type Cadence = (typeof CADENCES)[number];

/** What is undefined, the series does not have. */
export interface SeriesTemplate {
  /** Tag in `flat`. */
  readonly tag: string | undefined;
  /** naming rule, category, sub category, content, position, item, modifier. */
  readonly jsmea: readonly string[] | undefined;
  /** Item path, its verbose form, `meta` part, and the secondary item. */
  readonly vis:
    | {
        readonly item: string;
        readonly verboseItem: string;
        readonly meta: string;
        readonly secondary?: string | undefined;
      }
    | undefined;
  /** Code, name and text in `maker`. */
  readonly maker: { readonly code: string; readonly name: string; readonly text: string } | undefined;
  readonly source: string;
  readonly unit: string | undefined;
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly scale: number | undefined;
  readonly cadence: Cadence;
  readonly value: ValueRule;
  /** Chance that an hour has no readings. */
  readonly gaps: number | undefined;
  /** True: now and then a timestamp comes twice. */
  readonly duplicates: boolean;
  /** True: readings carry odd microseconds; false: they fall on the grid and share timestamps. */
  readonly jitter: boolean;
}
