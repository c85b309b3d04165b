/** One driver over time: a number at every minute mark, made when it is first needed, and straight lines between them. */
import type { Micros } from '../../../core/model/index.ts';
import { MICROS_PER_HOUR } from '../../../core/model/index.ts';

const MICROS_PER_MINUTE = 60_000_000;
const MINUTES_PER_HOUR = 60;
/** Of an hour: the first of the next hour is among them. */
const MARKS = MINUTES_PER_HOUR + 1;
/** A line remembers as many. */
const HOURS = 24;
/** 500 kB. */
const HOURS_PER_SLAB = 1024;
/** Of all lines together: a day of fifty vessels, or an hour of a thousand. */
const MAX_HOURS = 32 * HOURS_PER_SLAB;

/** The marks of one hour of one line: `cells[from]` and the sixty after it; NaN: not made yet. */
interface HourMarks {
  readonly cells: Float64Array;
  readonly from: number;
  hour: number;
  line: DriverLine | undefined;
}

const NO_MARKS = new Float64Array(MARKS).fill(Number.NaN);

/** The hours that were asked for last, of all lines: the oldest gives its memory to the next. */
export class MarkStore {
  readonly #hours: HourMarks[] = [];
  #next = 0;

  /** Marks of which none is made. They are the line's until they are somebody else's. */
  take(line: DriverLine, hour: number): HourMarks {
    if (this.#next === this.#hours.length) {
      if (this.#next === MAX_HOURS) this.#next = 0;
      else this.#grow();
    }
    const marks = this.#hours[this.#next++]!;
    marks.cells.set(NO_MARKS, marks.from);
    marks.line = line;
    marks.hour = hour;
    return marks;
  }

  #grow(): void {
    const cells = new Float64Array(HOURS_PER_SLAB * MARKS);
    for (let from = 0; from < cells.length; from += MARKS)
      this.#hours.push({ cells, from, hour: Number.NaN, line: undefined });
  }
}

export class DriverLine {
  readonly #store: MarkStore;
  readonly #value: (minute: number) => number;
  readonly #stepped: boolean;
  /** By hour of the day; some of them may be another line's by now. */
  readonly #hours: (HourMarks | undefined)[] = new Array(HOURS).fill(undefined);

  /** `value` at a minute counted from 1970; `stepped`: it stays until the next mark. */
  constructor(store: MarkStore, value: (minute: number) => number, stepped: boolean) {
    this.#store = store;
    this.#value = value;
    this.#stepped = stepped;
  }

  /** The values at the ascending times `[from, to)`, from the begin of `out`. */
  fill(times: Float64Array, from: number, to: number, out: Float64Array): void {
    const stepped = this.#stepped;
    let [hourMicros, endMicros, first]: [Micros, Micros, number] = [0, Number.NEGATIVE_INFINITY, 0];
    let cells: Float64Array = NO_MARKS;
    for (let i = from; i < to; i++) {
      const micros = times[i]!;
      if (micros >= endMicros) {
        const marks = this.#marksOf(Math.floor(micros / MICROS_PER_HOUR));
        hourMicros = marks.hour * MICROS_PER_HOUR;
        endMicros = hourMicros + MICROS_PER_HOUR;
        cells = marks.cells;
        first = marks.from;
      }
      const minutes = (micros - hourMicros) / MICROS_PER_MINUTE;
      const minute = minutes | 0;
      let value = cells[first + minute]!;
      if (Number.isNaN(value)) value = this.#make(cells, first, hourMicros, minute);
      if (!stepped) {
        let next = cells[first + minute + 1]!;
        if (Number.isNaN(next)) next = this.#make(cells, first, hourMicros, minute + 1);
        value += (next - value) * (minutes - minute);
      }
      out[i - from] = value;
    }
  }

  #marksOf(hour: number): HourMarks {
    const place = hour % HOURS;
    const known = this.#hours[place];
    if (known !== undefined && known.line === this && known.hour === hour) return known;
    const marks = this.#store.take(this, hour);
    this.#hours[place] = marks;
    return marks;
  }

  #make(cells: Float64Array, first: number, hourMicros: Micros, minute: number): number {
    const value = this.#value(hourMicros / MICROS_PER_MINUTE + minute);
    cells[first + minute] = value;
    return value;
  }
}
