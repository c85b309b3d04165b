/** Time slices are asked for one after the other, and what does not come in halves. */
import { formatRange, formatVesselDay, type Micros, type TimeRange } from '../core/model/index.ts';
import type { SlicedFamily } from '../core/plan/slice-length.ts';
import { splitTimeSlice } from '../core/plan/time-slices.ts';
import { mayFitInHalves } from './answer-faults.ts';
import type { SourceContext } from './context.ts';
import type { RetryScope } from './fetch/retry.ts';

interface SlicesOptions {
  readonly family: SlicedFamily;
  readonly stepMicros?: number | undefined;
  /** Ask for one slice. Who keeps the beginning of an answer that broke off moves `cursor` to where it ends. */
  readonly ask: (slice: TimeRange, scope: RetryScope, cursor: { micros: Micros }) => Promise<void>;
}

/**
 * Ask for time slices in order; what fails is asked in halves, down to one step, and the length that gets through is remembered for the day and its job.
 * Throws what `ask` throws of a slice that cannot be cut or would not gain by it, or once the vessel-day has met too many failures in a row.
 */
export async function askInSlices(
  context: SourceContext,
  slices: readonly TimeRange[],
  { family, stepMicros, ask }: SlicesOptions,
): Promise<void> {
  const { streak, lengths, log, day } = context;
  const length = lengths[family];
  const queue = [...slices];
  for (let slice = queue.shift(); slice !== undefined; slice = queue.shift()) {
    const halves = splitTimeSlice(slice, stepMicros);
    if (halves !== undefined && lengthOf(slice) > length.maxMicros) {
      queue.unshift(...halves);
      continue;
    }
    const cursor = { micros: slice.fromMicros };
    try {
      await ask(slice, { streak, isDivisible: halves !== undefined }, cursor);
      length.passed(lengthOf(slice));
    } catch (error) {
      const rest = { fromMicros: cursor.micros, toMicros: slice.toMicros };
      const parts = mayFitInHalves(error, streak) ? splitTimeSlice(rest, stepMicros) : undefined;
      if (parts === undefined) throw error;
      // Where the beginning has come it was not the length.
      if (cursor.micros === slice.fromMicros) length.failed(Math.max(...parts.map(lengthOf)));
      log.info(
        { vesselDay: formatVesselDay(day), range: formatRange(rest) },
        `${family} asked for in halves`,
      );
      queue.unshift(...parts);
    }
  }
}

function lengthOf({ fromMicros, toMicros }: TimeRange): Micros {
  return toMicros - fromMicros;
}
