import type { SeriesDictionary } from '../../core/model/index.ts';
import { isSeriesId, MAX_ID_BYTES } from '../../core/model/series.ts';
import type { BodyWindow } from './body-window.ts';

const UUID_BYTES = 36;

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
class UuidTable {
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

const QUOTE = 0x22;

/** An id that this table cannot resolve alone: the tokenizer must look at it. */
export const UNUSUAL = -1;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Ids as they are spelled between their quotes → codes in the dictionary. */
export class IdTable {
  /** Position of the closing quote that the last `codeAt` found. */
  quote = 0;
  readonly #dictionary: SeriesDictionary;
  readonly #uuids = new UuidTable();
  /** By the bytes of their spelling, one character each. */
  readonly #codes = new Map<string, number>();

  constructor(dictionary: SeriesDictionary) {
    this.#dictionary = dictionary;
  }

  /** Code of the id whose first byte is at `start`, or UNUSUAL; sets `quote`. The window must be padded. */
  codeAt(window: BodyWindow, start: number): number {
    if (window.bytes[start + UUID_BYTES] === QUOTE) {
      const known = this.#uuids.find(window.view, start);
      if (known !== UNUSUAL) {
        this.quote = start + UUID_BYTES;
        return known;
      }
    }
    return this.#codeOfAny(window, start);
  }

  /** The same for any id. UNUSUAL: not whole, not well formed, too long, or with an escape, of which one id has too many spellings to hold. */
  #codeOfAny({ bytes, view, end }: BodyWindow, start: number): number {
    const quote = bytes.indexOf(QUOTE, start);
    this.quote = quote;
    if (quote >= end || quote - start > MAX_ID_BYTES) return UNUSUAL;
    const spelling = bytes.toString('latin1', start, quote);
    let code = this.#codes.get(spelling);
    if (code === undefined) {
      const id = spelling.includes('\\') ? undefined : decodeId(bytes.subarray(start, quote));
      if (id === undefined) return UNUSUAL;
      code = this.#dictionary.codeOf(id);
      this.#codes.set(spelling, code);
    }
    if (quote - start === UUID_BYTES) this.#uuids.add(view, start, code);
    return code;
  }
}

/** The id that raw bytes spell, or undefined when they are not valid JSON or UTF-8, or spell none. */
function decodeId(raw: Uint8Array): string | undefined {
  try {
    const id: string = JSON.parse(`"${strictUtf8.decode(raw)}"`);
    return isSeriesId(id) ? id : undefined;
  } catch {
    return undefined;
  }
}
