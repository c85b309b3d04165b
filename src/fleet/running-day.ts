/** A vessel-day under way, as others are told of it: what it does, and its rows of those that the source counted. */
import type { Clock, VesselDay } from '../core/model/index.ts';
import type { DayEvent } from '../export/events.ts';
import type { DayStep, RunningFacts } from '../redis/fleet-shapes.ts';
import { createRate } from './rate.ts';

export interface RunningDay {
  onEvent(event: Extract<DayEvent, { readonly kind: 'day-step' | 'day-rows' }>): void;
  /** What it does at a moment of the clock that never goes back; its rate is that since the moments before. */
  describe(nowMs: number): RunningFacts;
}

/** What comes after each step of an export. */
const STEP_AFTER: ReadonlyMap<string, DayStep> = new Map([
  ['claimed', 'counting'],
  ['counted', 'fetching'],
  ['fetched', 'proving'],
  ['verified', 'sealing'],
  ['sealed', 'publishing'],
  ['completed', 'committing'],
]);

/** `kind`: why it is exported, such as `nightly` or `run`. */
export function createRunningDay({ job, vessel, date }: VesselDay, kind: string, clock: Clock): RunningDay {
  const startedMs = clock.monotonicMs();
  const rate = createRate({ windowMs: 10_000, minMs: 1_000 });
  let step: DayStep = 'claiming';
  let rows: number | null = null;
  let rowsKnown: number | null = null;
  return {
    onEvent(event) {
      if (event.kind === 'day-step') step = STEP_AFTER.get(event.step) ?? step;
      else [rows, rowsKnown] = [event.rows, event.rowsKnown ?? null];
    },
    describe(nowMs) {
      if (rows !== null) rate.add(nowMs, rows);
      // Of a day whose rows have all come the rate says nothing any more.
      const isFetching = step === 'fetching' && rate.perSecond !== undefined;
      return {
        ...{ job, vessel, date, kind, forMs: Math.round(nowMs - startedMs), rows, rowsKnown, step },
        rowsPerSecond: isFetching ? Math.round(rate.perSecond!) : null,
      };
    },
  };
}
