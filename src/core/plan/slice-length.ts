/** How long a time slice is asked for at most, learnt from what failed and what got through. Pure. */
import { type Clock, MICROS_PER_DAY, MICROS_PER_HOUR, type Micros } from '../model/index.ts';

export type SliceLength = ReturnType<typeof createSliceLength>;

/** What a job's vessel-days tell each other, in one process. */
export type SliceLengths = ReturnType<typeof createSliceLengths>;

/** A length that measurements come in says nothing of statistics. */
export type SlicedFamily = 'measurements' | 'statistics';

/** Slices that must get through before twice the length is tried: at first, and at most as it fails again and again. */
const MIN_PASSES = 4;
const MAX_PASSES = 64;
/** Shorter slices are about the data at that time: a job does not remember them. Longer ones are too few to try. */
const SHORT_MICROS = MICROS_PER_HOUR;
/** A job tries twice the length again after such a time. */
const REMEMBERED_MS = 300_000;

/** `learned` is told of each length that got through after another had failed. */
export function createSliceLength(
  startMicros: Micros = Infinity,
  learned: (micros: Micros) => void = () => {},
) {
  let maxMicros = startMicros;
  let hasFailed = false;
  let passes = 0;
  let hasPassed = false;
  let passesNeeded = MIN_PASSES;
  return {
    /** Longer ones are cut before they are asked for. */
    get maxMicros(): Micros {
      return maxMicros;
    },
    /** A slice did not come: its halves, this long at most, come next. */
    failed(halfMicros: Micros): void {
      // What got through here before says that the length is no matter of luck.
      if (hasPassed) passesNeeded = Math.min(MAX_PASSES, passesNeeded * 2);
      maxMicros = Math.min(maxMicros, halfMicros);
      hasFailed = true;
      hasPassed = false;
      passes = 0;
    },
    passed(micros: Micros): void {
      // The short end of a slice says nothing of a long one.
      if (micros < maxMicros / 2) return;
      if (hasFailed) learned(maxMicros);
      hasPassed = true;
      passes += 1;
      if (passes < passesNeeded || maxMicros >= SHORT_MICROS) return;
      passes = 0;
      maxMicros = Math.min(SHORT_MICROS, maxMicros * 2);
    },
  };
}

export function createSliceLengths(clock: Clock) {
  const known = new Map<string, { readonly maxMicros: Micros; readonly atMs: number }>();
  function startOf(key: string): Micros {
    const { maxMicros = Infinity, atMs = 0 } = known.get(key) ?? {};
    const grownMicros = maxMicros * 2 ** Math.floor((clock.monotonicMs() - atMs) / REMEMBERED_MS);
    return grownMicros < MICROS_PER_DAY ? grownMicros : Infinity;
  }
  return {
    /** For a vessel-day that begins. */
    of(job: string, family: SlicedFamily): SliceLength {
      const key = `${family} ${job}`;
      return createSliceLength(startOf(key), (micros) => {
        const maxMicros = Math.max(SHORT_MICROS, micros);
        known.set(key, { maxMicros, atMs: clock.monotonicMs() });
      });
    },
  };
}
