// @ts-check
/**
 * Readings → the points that are drawn. Only readings that there are: of many in one pixel the first, the smallest, the
 * largest and the last. A line breaks where a value cannot be drawn, and where readings are missing.
 * @typedef {{ times: ArrayLike<number>, values: ArrayLike<number> }} Readings times in microseconds, ascending; NaN and
 *   infinities are values
 * @typedef {{ times: number[], values: (number | null)[] }} Points
 */

/** No reading for so many times the usual distance is a gap. */
const GAP_FACTOR = 5;
/** Distances that are looked at to know the usual one. */
const MAX_SAMPLES = 4_001;

/** Microseconds without a reading from which on a line is broken. @param {Readings} readings */
export function gapMicros({ times }) {
  const step = Math.max(1, Math.floor(times.length / MAX_SAMPLES));
  const distances = [];
  for (let i = 1; i < times.length; i += step) {
    const distance = at(times, i) - at(times, i - 1);
    if (distance > 0) distances.push(distance);
  }
  if (distances.length === 0) return Number.POSITIVE_INFINITY;
  distances.sort((a, b) => a - b);
  return GAP_FACTOR * at(distances, distances.length >> 1);
}

/**
 * @param {Readings} readings
 * @param {{ fromMicros: number, toMicros: number, pixels: number, gap: number }} window what is in sight; one reading more on
 *   either side, so that lines go on beyond it
 * @returns {Points}
 */
export function pointsIn(readings, { fromMicros, toMicros, pixels, gap }) {
  const { times } = readings;
  const from = Math.max(0, firstFrom(times, fromMicros) - 1);
  const to = Math.min(times.length, firstFrom(times, toMicros) + 1);
  /** @type {Points} */
  const points = { times: [], values: [] };
  const isDense = to - from > 4 * pixels;
  const bucketMicros = Math.max(1, (toMicros - fromMicros) / pixels);
  let last = -1;
  /** @param {number} i */
  const put = (i) => {
    if (last >= 0 && at(times, i) - at(times, last) > gap && hasGap(readings, last, i, gap)) {
      points.times.push((at(times, last) + at(times, i)) / 2);
      points.values.push(null);
    }
    points.times.push(at(times, i));
    const value = at(readings.values, i);
    points.values.push(Number.isFinite(value) ? value : null);
    last = i;
  };
  for (let i = from; i < to; ) {
    let end = i + 1;
    if (isDense) {
      const bucketEnd = at(times, i) + bucketMicros;
      while (end < to && at(times, end) < bucketEnd) end++;
    }
    for (const chosen of chosenOf(readings.values, i, end)) put(chosen);
    i = end;
  }
  return points;
}

/** Is there a gap between two readings that were put one after the other? @param {Readings} readings @param {number} a @param {number} b @param {number} gap */
function hasGap({ times }, a, b, gap) {
  for (let i = a + 1; i <= b; i++) if (at(times, i) - at(times, i - 1) > gap) return true;
  return false;
}

/** First, smallest, largest, last, and one that cannot be drawn, in their order. @param {ArrayLike<number>} values @param {number} from @param {number} to */
function chosenOf(values, from, to) {
  if (to - from <= 4) return Array.from({ length: to - from }, (_, i) => from + i);
  let [low, high, odd] = [-1, -1, -1];
  for (let i = from; i < to; i++) {
    const value = at(values, i);
    if (!Number.isFinite(value)) odd = i;
    else {
      if (low < 0 || value < at(values, low)) low = i;
      if (high < 0 || value > at(values, high)) high = i;
    }
  }
  const chosen = new Set([from, low, high, odd, to - 1].filter((i) => i >= 0));
  return [...chosen].sort((a, b) => a - b);
}

/** Index of the first time that is not before `micros`. @param {ArrayLike<number>} times @param {number} micros */
export function firstFrom(times, micros) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(times, middle) < micros) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Points of several series on one axis of time: `undefined` where a series has none, which breaks no line.
 * @param {readonly Points[]} lines
 * @returns {[times: number[], ...values: (number | null | undefined)[][]]} times in microseconds
 */
export function aligned(lines) {
  const places = lines.map(() => 0);
  /** @type {number[]} */
  const times = [];
  /** @type {(number | null | undefined)[][]} */
  const values = lines.map(() => []);
  for (;;) {
    const next = Math.min(...lines.map((line, i) => line.times[places[i] ?? 0] ?? Number.POSITIVE_INFINITY));
    if (next === Number.POSITIVE_INFINITY) return [times, ...values];
    times.push(next);
    lines.forEach((line, i) => {
      const place = places[i] ?? 0;
      const isHere = line.times[place] === next;
      values[i]?.push(isHere ? line.values[place] : undefined);
      if (isHere) places[i] = place + 1;
    });
  }
}

/**
 * What a curve is about, for those who do not see it.
 * @param {Readings} readings
 */
export function summaryOf({ times, values }) {
  let [low, high, odd] = [-1, -1, 0];
  for (let i = 0; i < times.length; i++) {
    const value = at(values, i);
    if (!Number.isFinite(value)) odd++;
    else {
      if (low < 0 || value < at(values, low)) low = i;
      if (high < 0 || value > at(values, high)) high = i;
    }
  }
  return { count: times.length, low, high, odd };
}

/** @param {ArrayLike<number>} list @param {number} i */
function at(list, i) {
  return /** @type {number} */ (list[i]);
}
