/** What times alone tell of a window: most of what exporters ask. */
import type { Aggregation, ColumnBatch } from '../../core/model/index.ts';
import { microsToIso } from '../../core/model/index.ts';

/** Aggregations that need times only. */
const TIME_ONLY: ReadonlySet<Aggregation> = new Set(['count', 'first_time', 'last_time']);

/** True when the aggregations can be computed without looking at values. */
export function needTimesOnly(aggregations: readonly Aggregation[]): boolean {
  return aggregations.every((aggregation) => TIME_ONLY.has(aggregation));
}

/** When one window of one series (or of series that share an id) has its readings: all that times tell. */
export class WindowTimes {
  count = 0;
  firstMicros = 0;
  lastMicros = 0;

  /** The times of rows `[from, to)` of a batch, of one series and in order; there is at least one. */
  addTimes({ timestampMicros }: ColumnBatch, from: number, to: number): void {
    if (this.count === 0) this.firstMicros = timestampMicros[from]!;
    this.count += to - from;
    this.lastMicros = timestampMicros[to - 1]!;
  }

  /** The aggregation's value as JSON text, or undefined where it is not defined. */
  value(aggregation: Aggregation): string | undefined {
    if (this.count === 0) return undefined;
    if (aggregation === 'count') return String(this.count);
    if (aggregation === 'first_time') return `"${microsToIso(this.firstMicros)}"`;
    if (aggregation === 'last_time') return `"${microsToIso(this.lastMicros)}"`;
    return undefined;
  }
}
