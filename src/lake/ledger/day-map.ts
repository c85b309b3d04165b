import type { VesselDay } from '../../core/model/index.ts';

/** A map by the date and vessel of a job's vessel-days: a year of a fleet needs few strings. */
export class DayMap<T> {
  readonly #byDate = new Map<string, Map<string, T>>();

  get({ date, vessel }: Pick<VesselDay, 'date' | 'vessel'>): T | undefined {
    return this.#byDate.get(date)?.get(vessel);
  }

  has({ date, vessel }: Pick<VesselDay, 'date' | 'vessel'>): boolean {
    return this.#byDate.get(date)?.has(vessel) === true;
  }

  set({ date, vessel }: Pick<VesselDay, 'date' | 'vessel'>, value: T): void {
    let ofDate = this.#byDate.get(date);
    if (ofDate === undefined) {
      ofDate = new Map();
      this.#byDate.set(date, ofDate);
    }
    ofDate.set(vessel, value);
  }

  on(date: string): Iterable<T> {
    return this.#byDate.get(date)?.values() ?? [];
  }

  clear(date: string): void {
    this.#byDate.delete(date);
  }

  get size(): number {
    let size = 0;
    for (const ofDate of this.#byDate.values()) size += ofDate.size;
    return size;
  }

  *values(): Generator<T> {
    for (const ofDate of this.#byDate.values()) yield* ofDate.values();
  }

  /** Each of them once, in no order. */
  vessels(): Set<string> {
    const vessels = new Set<string>();
    for (const ofDate of this.#byDate.values()) for (const vessel of ofDate.keys()) vessels.add(vessel);
    return vessels;
  }
}
