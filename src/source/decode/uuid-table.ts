/** Length of a UUID's text. */
export const UUID_BYTES = 36;

const WORDS = UUID_BYTES / 4;
const SLOTS_BITS = 12;
const SLOTS = 1 << SLOTS_BITS;
/** Slots that a UUID may stand in, from the one that its hash names. */
const PROBES = 4;
/** More would seldom find a place. */
const MAX_UUIDS = SLOTS / 2;
/** 2^32 divided by the golden ratio, and another odd number. */
const SPREAD = 0x9e3779b1 | 0;
const SPREAD_LAST = 0x85ebca6b | 0;

/** UUIDs → codes, worth a fifth of the CPU of decoding readings: nothing is searched, few bytes are hashed. It may forget. */
export class UuidTable {
  #count = 0;
  readonly #words = new Int32Array(SLOTS * WORDS);
  /** -1: free. */
  readonly #codes = new Int32Array(SLOTS).fill(-1);

  /** Code of the 36 bytes at `start`, or -1. */
  find(view: DataView, start: number): number {
    const words = this.#words;
    const codes = this.#codes;
    const w0 = view.getInt32(start, true);
    const w8 = view.getInt32(start + 32, true);
    let slot = slotOf(w0, view.getInt32(start + 4, true), w8);
    for (let probe = 0; probe < PROBES; probe++, slot = (slot + 1) & (SLOTS - 1)) {
      const at = slot * WORDS;
      if (
        words[at] === w0 &&
        words[at + 8] === w8 &&
        words[at + 1] === view.getInt32(start + 4, true) &&
        words[at + 2] === view.getInt32(start + 8, true) &&
        words[at + 3] === view.getInt32(start + 12, true) &&
        words[at + 4] === view.getInt32(start + 16, true) &&
        words[at + 5] === view.getInt32(start + 20, true) &&
        words[at + 6] === view.getInt32(start + 24, true) &&
        words[at + 7] === view.getInt32(start + 28, true)
      )
        return codes[slot]!;
    }
    return -1;
  }

  /** Remember the 36 bytes at `start`, which `find` does not know, where there is room. */
  add(view: DataView, start: number, code: number): void {
    if (this.#count === MAX_UUIDS) return;
    let slot = slotOf(
      view.getInt32(start, true),
      view.getInt32(start + 4, true),
      view.getInt32(start + 32, true),
    );
    for (let probe = 0; probe < PROBES; probe++, slot = (slot + 1) & (SLOTS - 1)) {
      if (this.#codes[slot] !== -1) continue;
      for (let word = 0; word < WORDS; word++)
        this.#words[slot * WORDS + word] = view.getInt32(start + 4 * word, true);
      this.#codes[slot] = code;
      this.#count++;
      return;
    }
  }
}

/** The bytes that differ in UUIDs of all versions: the random or early ones, and the last. */
function slotOf(first: number, second: number, last: number): number {
  const mixed = Math.imul(first, SPREAD) ^ Math.imul(second ^ Math.imul(last, SPREAD_LAST), SPREAD);
  return (mixed ^ (mixed >>> 15)) & (SLOTS - 1);
}
