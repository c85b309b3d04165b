/** Texts of a Parquet column: the codes of ids, and JSON that is checked; a dictionary's entries once each. */
import { cleanForeignText, DataError, VesselExportError } from '../../core/errors.ts';
import type { SeriesDictionary } from '../../core/model/index.ts';
import { ID_RULE, isSeriesId, MAX_ID_BYTES } from '../../core/model/series.ts';
import type { ColumnPage } from '../../parquet/read/column-reader.ts';
import type { TextSpans } from '../../parquet/read/page-values.ts';
import { PARQUET_ADVICE } from '../../parquet/read/parquet-faults.ts';

/** A fault of one row, before its place is known. */
export class RowFault extends VesselExportError {
  readonly #expected: string;
  constructor(code: string, found: string, expected: string) {
    super(code, found);
    this.#expected = expected;
  }
  atRow(row: number): DataError {
    const found = `row ${row + 1} of the Parquet body: found ${this.message}, expected ${this.#expected}`;
    return new DataError(this.code, `${found}; ${PARQUET_ADVICE}`);
  }
}

/** A number from 0 for each text of a column, looked up once for each entry of a dictionary. */
export class NumberOfText {
  readonly #lookUp: (text: Uint8Array) => number;
  #dictionary: TextSpans | undefined;
  /** Of the dictionary's entries, or -1. */
  #known = new Int32Array(0);

  constructor(lookUp: (text: Uint8Array) => number) {
    this.#lookUp = lookUp;
  }

  of({ texts, entries }: ColumnPage, value: number): number {
    if (entries === undefined) return this.#lookUp(textAt(texts, value));
    if (this.#dictionary !== texts) {
      this.#dictionary = texts;
      this.#known = new Int32Array(texts.starts.length).fill(-1);
    }
    const entry = entries[value]!;
    const known = this.#known[entry]!;
    const number = known >= 0 ? known : this.#lookUp(textAt(texts, entry));
    this.#known[entry] = number;
    return number;
  }
}

function textAt({ bytes, starts, ends }: TextSpans, at: number): Uint8Array {
  return bytes.subarray(starts[at], ends[at]);
}

/** Codes of ids, without decoding one for each row. */
export function codesOfIds(dictionary: SeriesDictionary): NumberOfText {
  const codes = new Map<string, number>();
  return new NumberOfText((text) => {
    if (text.length > MAX_ID_BYTES) throw badId(text);
    const bytes = Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1');
    const known = codes.get(bytes);
    if (known !== undefined) return known;
    const id = strictText(text);
    if (!isSeriesId(id)) throw badId(text);
    const code = dictionary.codeOf(id);
    codes.set(bytes, code);
    return code;
  });
}

const badId = (text: Uint8Array) => new RowFault('bad-id', `'${shown(text)}'`, ID_RULE);

export function checkedJson(): NumberOfText {
  return new NumberOfText((text) => {
    const json = strictText(text);
    try {
      JSON.parse(json);
    } catch {
      throw new RowFault('malformed-json', `json_value '${shown(text)}'`, 'JSON');
    }
    return 1;
  });
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function strictText(text: Uint8Array): string {
  try {
    return strictUtf8.decode(text);
  } catch {
    throw new RowFault('invalid-utf8', `'${shown(text)}'`, 'valid UTF-8');
  }
}

function shown(text: Uint8Array): string {
  return cleanForeignText(Buffer.from(text.subarray(0, 240)).toString('utf8'), [], 60);
}
