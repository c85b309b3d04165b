/** Texts of a Parquet column: the codes of ids, and JSON that is checked; a dictionary's entries once each. */
import type { SeriesDictionary } from '../../core/model/index.ts';
import { isSeriesId, MAX_ID_BYTES } from '../../core/model/series.ts';
import type { ColumnReader } from './column-reader.ts';
import type { DictionaryEntries } from './page-values.ts';
import { SpellingTable } from './spelling-table.ts';

const UNKNOWN = -1;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Where a text is. */
interface TextPlace {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** What is wrong with a text. */
type TextTrouble = 'invalid-utf8' | 'malformed-json' | 'bad-id';

export class TextTroubleError extends Error {
  readonly trouble: TextTrouble;
  readonly place: TextPlace;
  constructor(trouble: TextTrouble, place: TextPlace) {
    super(trouble);
    this.trouble = trouble;
    this.place = place;
  }
}

/** Where the `value`-th of the texts last taken of a column is. */
function textPlace(reader: ColumnReader, value: number): TextPlace {
  const { dictionary, spans } = reader;
  if (dictionary === undefined)
    return { bytes: reader.textBytes, start: spans.starts[value]!, end: spans.ends[value]! };
  const entry = spans.entries[value]!;
  const { starts, ends } = dictionary.spans;
  return { bytes: dictionary.bytes, start: starts[entry]!, end: ends[entry]! };
}

function strictText(place: TextPlace): string {
  try {
    return strictUtf8.decode(place.bytes.subarray(place.start, place.end));
  } catch {
    throw new TextTroubleError('invalid-utf8', place);
  }
}

/** Codes of ids, without a string for each row. */
export class IdCodes {
  readonly #dictionary: SeriesDictionary;
  readonly #spellings = new SpellingTable();
  #entries: DictionaryEntries | undefined;
  /** Of the entries' ids, or UNKNOWN. */
  #entryCodes = new Int32Array(0);
  #bytes: Uint8Array | undefined;
  #view: DataView = new DataView(new ArrayBuffer(0));

  constructor(dictionary: SeriesDictionary) {
    this.#dictionary = dictionary;
  }

  /** Code of the `value`-th of the ids last taken. */
  codeOf(reader: ColumnReader, value: number): number {
    const { dictionary, spans } = reader;
    if (dictionary === undefined)
      return this.#codeOfText(reader.textBytes, spans.starts[value]!, spans.ends[value]!);
    if (this.#entries !== dictionary) {
      this.#entries = dictionary;
      this.#entryCodes = new Int32Array(dictionary.count).fill(UNKNOWN);
    }
    const entry = spans.entries[value]!;
    const known = this.#entryCodes[entry]!;
    if (known !== UNKNOWN) return known;
    const { starts, ends } = dictionary.spans;
    const code = this.#codeOfText(dictionary.bytes, starts[entry]!, ends[entry]!);
    this.#entryCodes[entry] = code;
    return code;
  }

  #codeOfText(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > MAX_ID_BYTES) throw new TextTroubleError('bad-id', { bytes, start, end });
    if (this.#bytes !== bytes) {
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    const hash = hashOf(bytes, start, end);
    const known = this.#spellings.find(this.#view, start, end - start, hash);
    if (known >= 0) return known;
    const id = strictText({ bytes, start, end });
    if (!isSeriesId(id)) throw new TextTroubleError('bad-id', { bytes, start, end });
    const code = this.#dictionary.codeOf(id);
    this.#spellings.add(bytes.subarray(start, end), hash, code);
    return code;
  }
}

/** FNV-1a, 32 bits. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let p = start; p < end; p++) hash = Math.imul(hash ^ bytes[p]!, 0x01000193);
  return hash ^ (hash >>> 15);
}

/** JSON texts, each proved to be JSON. */
export class JsonTexts {
  #entries: DictionaryEntries | undefined;
  /** Of the entries: 1 where it is JSON. */
  #isJson = new Uint8Array(0);

  /** Where the `value`-th of the texts last taken is. */
  placeOf(reader: ColumnReader, value: number): TextPlace {
    const place = textPlace(reader, value);
    const { dictionary, spans } = reader;
    if (dictionary === undefined) assertJson(place);
    else {
      if (this.#entries !== dictionary) {
        this.#entries = dictionary;
        this.#isJson = new Uint8Array(dictionary.count);
      }
      const entry = spans.entries[value]!;
      if (this.#isJson[entry] === 0) assertJson(place);
      this.#isJson[entry] = 1;
    }
    return place;
  }
}

function assertJson(place: TextPlace): void {
  const text = strictText(place);
  try {
    JSON.parse(text);
  } catch {
    throw new TextTroubleError('malformed-json', place);
  }
}
