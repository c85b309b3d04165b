/** The values of one page, or of a dictionary, by encoding; nulls are not among them. */
import { Encodings } from 'hyparquet/src/constants.js';
import { type Deltas, PageFault, readDeltas } from './page-encodings.ts';
import { parquetTooLarge } from './parquet-faults.ts';

/** Text `i` is `bytes[starts[i], ends[i])`. */
export interface TextSpans {
  readonly bytes: Uint8Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** Text that shared prefixes of a page may come to. */
const MAX_PREFIXED_BYTES = 64 << 20;
const FEW_VALUES = 'fewer values than its header says';
const LONG_TEXT = 'a text that is longer than its page';

export function isOfDictionary(encoding: number): boolean {
  return Encodings[encoding] === 'RLE_DICTIONARY' || Encodings[encoding] === 'PLAIN_DICTIONARY';
}

export function wrongEncoding(encoding: number): PageFault {
  return new PageFault(`the encoding ${Encodings[encoding] ?? encoding}, which is not for this type`);
}

/** `count` values of 8 bytes in `page[start, …)`, two words each, low word first. `maxCount`: values that the page may have. */
export function readWords(
  encoding: number,
  page: Uint8Array,
  start: number,
  count: number,
  maxCount: number,
  isDouble: boolean,
): Int32Array<ArrayBuffer> {
  const name = Encodings[encoding];
  if (name === 'DELTA_BINARY_PACKED' && !isDouble) return readDeltas(page, start, count, maxCount).words;
  if (name !== 'PLAIN' && name !== 'BYTE_STREAM_SPLIT') throw wrongEncoding(encoding);
  if (start + count * 8 > page.length) throw new PageFault(FEW_VALUES);
  const bytes = new Uint8Array(count * 8);
  if (name === 'PLAIN') bytes.set(page.subarray(start, start + count * 8));
  else {
    // The first bytes of all values, then the second ones, and so on.
    const total = Math.floor((page.length - start) / 8);
    for (let plane = 0; plane < 8; plane++)
      for (let value = 0; value < count; value++)
        bytes[value * 8 + plane] = page[start + plane * total + value]!;
  }
  return new Int32Array(bytes.buffer);
}

/** `count` texts in `page[start, …)`; as `readWords`. */
export function readTexts(
  encoding: number,
  page: Uint8Array,
  start: number,
  count: number,
  maxCount: number,
): TextSpans {
  const name = Encodings[encoding];
  if (name === 'PLAIN') return plainTexts(page, start, count);
  if (name === 'DELTA_LENGTH_BYTE_ARRAY') return lengthTexts(page, start, count, maxCount);
  if (name === 'DELTA_BYTE_ARRAY') return prefixedTexts(page, start, count, maxCount);
  throw wrongEncoding(encoding);
}

function plainTexts(page: Uint8Array, start: number, count: number): TextSpans {
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const [starts, ends] = [new Int32Array(count), new Int32Array(count)];
  for (let value = 0, at = start; value < count; value++) {
    if (at + 4 > page.length) throw new PageFault(FEW_VALUES);
    starts[value] = at + 4;
    at += 4 + view.getUint32(at, true);
    if (at > page.length) throw new PageFault(LONG_TEXT);
    ends[value] = at;
  }
  return { bytes: page, starts, ends };
}

/** DELTA_LENGTH_BYTE_ARRAY: all lengths, then all texts. */
function lengthTexts(page: Uint8Array, start: number, count: number, maxCount: number): TextSpans {
  const lengths = readDeltas(page, start, count, maxCount);
  const [starts, ends] = [new Int32Array(count), new Int32Array(count)];
  for (let value = 0, at = lengths.end; value < count; value++) {
    starts[value] = at;
    at += lengthOf(lengths, value);
    if (at > page.length) throw new PageFault(LONG_TEXT);
    ends[value] = at;
  }
  return { bytes: page, starts, ends };
}

/** DELTA_BYTE_ARRAY: each text is the beginning of the one before, and what is new. */
function prefixedTexts(page: Uint8Array, start: number, count: number, maxCount: number): TextSpans {
  const prefixes = readDeltas(page, start, count, maxCount);
  const suffixes = lengthTexts(page, prefixes.end, count, maxCount);
  const [starts, ends] = [new Int32Array(count), new Int32Array(count)];
  let end = 0;
  for (let value = 0; value < count; value++) {
    const prefix = lengthOf(prefixes, value);
    if (prefix > end - (starts[value - 1] ?? 0)) throw new PageFault('a longer prefix than the text before');
    starts[value] = end;
    end += prefix + suffixes.ends[value]! - suffixes.starts[value]!;
    ends[value] = end;
    if (end > MAX_PREFIXED_BYTES)
      throw parquetTooLarge('texts by prefixes', end, MAX_PREFIXED_BYTES, 'bytes in a page or more');
  }
  const bytes = new Uint8Array(end);
  for (let value = 0; value < count; value++) {
    const prefix = lengthOf(prefixes, value);
    const from = starts[value - 1] ?? 0;
    bytes.copyWithin(starts[value]!, from, from + prefix);
    bytes.set(page.subarray(suffixes.starts[value], suffixes.ends[value]), starts[value]! + prefix);
  }
  return { bytes, starts, ends };
}

/** Lengths are numbers of 32 bits; some writers sign-extend the deltas, others don't. */
function lengthOf({ words }: Deltas, value: number): number {
  const length = words[2 * value]!;
  if (length < 0) throw new PageFault('a text of negative length');
  return length;
}

/** The entries of a dictionary: `words` where they are of 8 bytes, else `texts`. */
export interface DictionaryEntries {
  readonly count: number;
  readonly words: Int32Array;
  readonly texts: TextSpans;
}

/** Entries are PLAIN, whatever their page calls it. */
export function dictionaryEntries(page: Uint8Array, count: number, isText: boolean): DictionaryEntries {
  // No entry without a byte of its page: so neither a claim allocates anything.
  if (!(count >= 0 && count * (isText ? 4 : 8) <= page.length))
    throw new PageFault(`${count} entries in ${page.length} bytes`);
  const words = isText ? new Int32Array(0) : readWords(0, page, 0, count, count, true);
  return { count, words, texts: plainTexts(page, 0, isText ? count : 0) };
}
