import type { SeriesDictionary } from '../../core/model/index.ts';
import { isSeriesId, MAX_ID_BYTES } from '../../core/model/series.ts';
import type { BodyWindow } from './body-window.ts';
import { UUID_BYTES, UuidTable } from './uuid-table.ts';

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

  /**
   * The same for an id of any length. UNUSUAL when it is not whole, not plainly well formed, too long, or spelled with an escape: one id has
   * more such spellings than could be held.
   */
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
