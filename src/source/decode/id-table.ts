import type { SeriesDictionary } from '../../core/model/index.ts';
import { isSeriesId, MAX_ID_BYTES } from '../../core/model/series.ts';
import type { BodyWindow } from './body-window.ts';
import { SpellingTable } from './spelling-table.ts';
import { UUID_BYTES, UuidTable } from './uuid-table.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const QUOTES = 0x22222222;
const LOW_BITS = 0x01010101;
const HIGH_BITS = 0x80808080;
/** 2^32 divided by the golden ratio: spreads the bits of a product. */
const SPREAD = 0x9e3779b1 | 0;

/** An id that this table cannot resolve alone: the tokenizer must look at it. */
export const UNUSUAL = -1;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Ids as they are spelled between their quotes → codes in the dictionary. The hash is computed in the same pass
 * that searches the closing quote, four bytes at a time.
 */
export class IdTable {
  /** Position of the closing quote that the last `codeAt` found. */
  quote = 0;
  readonly #dictionary: SeriesDictionary;
  readonly #uuids = new UuidTable();
  readonly #spellings = new SpellingTable();

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

  /** The same for an id of any length. */
  #codeOfAny(window: BodyWindow, start: number): number {
    const { view } = window;
    let p = start;
    let hash = 0;
    let word = 0;
    let hits = 0;
    for (;;) {
      word = view.getInt32(p, true);
      const mask = word ^ QUOTES;
      hits = (mask - LOW_BITS) & ~mask & HIGH_BITS;
      if (hits !== 0) break;
      hash = Math.imul(hash ^ word, SPREAD);
      hash ^= hash >>> 15;
      p += 4;
    }
    const tail = (31 - Math.clz32(hits & -hits)) >> 3;
    hash = Math.imul(hash ^ (word & ((1 << (tail << 3)) - 1)), SPREAD);
    p += tail;
    this.quote = p;
    const length = p - start;
    hash ^= (hash >>> 13) ^ length;
    const known = this.#spellings.find(view, start, length, hash);
    const code = known === UNUSUAL ? this.#learn(window, start, p, hash) : known;
    if (code !== UNUSUAL && length === UUID_BYTES) this.#uuids.add(view, start, code);
    return code;
  }

  /**
   * Add an id that was not seen before. UNUSUAL when it is not whole, not plainly well formed, too long, or spelled with an
   * escape: one id has more such spellings than could be held.
   */
  #learn(window: BodyWindow, start: number, end: number, hash: number): number {
    if (end >= window.end || end - start > MAX_ID_BYTES) return UNUSUAL;
    const raw = window.bytes.subarray(start, end);
    const id = raw.includes(BACKSLASH) ? undefined : decodeId(raw);
    if (id === undefined) return UNUSUAL;
    const code = this.#dictionary.codeOf(id);
    this.#spellings.add(raw, hash, code);
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
