/** Numbers that follow from a seed, the same everywhere. */

/** A whole number in `[0, below)`. */
export type Draw = (below: number) => number;

/** Each name has a row of its own: what one process draws moves no other. */
export function randomOf(seed: number, name: string): Draw {
  let state = seed >>> 0;
  for (let at = 0; at < name.length; at++)
    state = Math.imul(state ^ name.charCodeAt(at), 2_654_435_761) >>> 0;
  // mulberry32
  return (below) => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

export const pick = <T>(draw: Draw, items: readonly T[]): T => items[draw(items.length)]!;

/** True so many times of a hundred. */
export const chance = (draw: Draw, percent: number): boolean => percent > 0 && draw(100) < percent;
