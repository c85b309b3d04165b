/** One driver over time: a number at every minute mark, made when it is first needed, and straight lines between them. */
import type { Micros } from '../../../core/model/index.ts';

const MICROS_PER_MINUTE = 60_000_000;
/** Of all lines together, some 40 MB: a day of ten vessels. They are made again when they are needed again. */
const MAX_MARKS = 500_000;

/** What the lines of a fleet remember of their marks; all of it is forgotten at once when it is too much. */
export class MarkStore {
  readonly #marks = new Map<DriverLine, Map<number, number>>();
  #count = 0;

  get(line: DriverLine, minute: number): number {
    let marks = this.#marks.get(line);
    const known = marks?.get(minute);
    if (known !== undefined) return known;
    if (++this.#count > MAX_MARKS) {
      this.#marks.clear();
      [this.#count, marks] = [1, undefined];
    }
    if (marks === undefined) {
      marks = new Map();
      this.#marks.set(line, marks);
    }
    const mark = line.mark(minute);
    marks.set(minute, mark);
    return mark;
  }
}

export class DriverLine {
  readonly mark: (minute: number) => number;
  readonly #store: MarkStore;
  readonly #stepped: boolean;

  /** `mark` gives the value at a minute counted from 1970; `stepped`: it stays until the next mark. */
  constructor(store: MarkStore, mark: (minute: number) => number, stepped: boolean) {
    this.#store = store;
    this.mark = mark;
    this.#stepped = stepped;
  }

  /** Reads the line; quick for times that follow each other. */
  reader(): (micros: Micros) => number {
    let [minute, from, to] = [Number.NaN, 0, 0];
    return (micros) => {
      const at = Math.floor(micros / MICROS_PER_MINUTE);
      if (at !== minute) {
        from = at === minute + 1 && !this.#stepped ? to : this.#store.get(this, at);
        to = this.#stepped ? from : this.#store.get(this, at + 1);
        minute = at;
      }
      return from + (to - from) * minutesAfter(micros, at);
    };
  }
}

/** Counted from the hour, as it was from the first: other sums would give other last digits. */
function minutesAfter(micros: Micros, minute: number): number {
  const ofHour = minute % 60;
  return (micros - (minute - ofHour) * MICROS_PER_MINUTE) / MICROS_PER_MINUTE - ofHour;
}
