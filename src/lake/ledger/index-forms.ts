/**
 * How the values of a column of the index are written: each form is a line of JSON, and bytes behind it. Numbers and
 * instants are numbers of eight bytes, what repeats is written once, texts that are all different stand in one text: so
 * a month of a large fleet is read without a hundred thousand strings, which would cost more than all else.
 */
import type { Moment } from '../../core/model/index.ts';
import { toMoment } from '../../core/model/index.ts';

/**
 * `json`: any; `sparse`: any, of which few are there; `numbers`: whole numbers; `instants`: moments;
 * `repeated`: of few different values; `texts`: all different.
 */
export type Form = 'json' | 'sparse' | 'numbers' | 'instants' | 'repeated' | 'texts';

/** The value of a row; null: it has none. */
export type ReadValue = (at: number) => unknown;

interface FormKind {
  /** Of so many rows; null stands for no value. */
  pack(count: number, valueAt: ReadValue): Packed;
  /** Keeps nothing of `bytes`. Throws Error for what `pack` cannot have made of so many values, and for a value that is not right. */
  unpack(head: unknown, bytes: Uint8Array, count: number, isRight: (value: unknown) => boolean): ReadValue;
}

interface Packed {
  /** A line of JSON in pieces, for the longest have tens of megabytes. */
  readonly head: readonly Uint8Array[];
  readonly bytes?: Uint8Array;
}

const LINE_FEED = 0x0a;

/** A column of so many rows. */
export function packValues(form: Form, count: number, valueAt: ReadValue): Uint8Array {
  const { head, bytes = new Uint8Array(0) } = FORMS[form].pack(count, valueAt);
  const packed = Buffer.alloc(lengthOf(head) + 1 + bytes.length);
  let at = 0;
  for (const piece of [...head, Buffer.of(LINE_FEED), bytes]) {
    packed.set(piece, at);
    at += piece.length;
  }
  return packed;
}

const lengthOf = (pieces: readonly Uint8Array[]) => pieces.reduce((sum, { length }) => sum + length, 0);

/**
 * Give the memory of a column back at once, which has a buffer of its own: else a month of a large fleet, and the months of a
 * year, hold dozens of them until garbage is collected.
 */
export function release(column: Uint8Array): void {
  (column.buffer as ArrayBuffer).transfer(0);
}

const inOnePiece = (head: unknown) => [Buffer.from(JSON.stringify(head))];

export function unpackValues(
  form: Form,
  packed: Uint8Array,
  count: number,
  isRight: (value: unknown) => boolean,
): ReadValue {
  const headEnd = packed.indexOf(LINE_FEED);
  const head = JSON.parse(Buffer.from(packed.buffer, packed.byteOffset, headEnd).toString()) as unknown;
  return FORMS[form].unpack(head, packed.subarray(headEnd + 1), count, isRight);
}

function expectThat(isSo: boolean): void {
  if (!isSo) throw new Error('it has other values than it can have');
}

const json: FormKind = {
  pack: (count, valueAt) => ({ head: inOnePiece(Array.from({ length: count }, (_, at) => valueAt(at))) }),
  unpack(head, _bytes, count, isRight) {
    expectThat(Array.isArray(head) && head.length === count && head.every(isRight));
    const values = head as unknown[];
    return (at) => values[at];
  },
};

const sparse: FormKind = {
  pack(count, valueAt) {
    const head: (readonly [at: number, value: unknown])[] = [];
    for (let at = 0; at < count; at++) {
      const value = valueAt(at);
      if (value !== null) head.push([at, value]);
    }
    return { head: inOnePiece(head) };
  },
  unpack(head, _bytes, count, isRight) {
    const isEntry = (entry: unknown) => Array.isArray(entry) && isPlace(entry[0], count) && isRight(entry[1]);
    expectThat(Array.isArray(head) && head.every(isEntry));
    const values = new Map(head as (readonly [number, unknown])[]);
    if (values.size < count) expectThat(isRight(null));
    return (at) => values.get(at) ?? null;
  },
};

const numbers: FormKind = {
  pack(count, valueAt) {
    const values = new Float64Array(count);
    for (let at = 0; at < count; at++) values[at] = (valueAt(at) as number | null) ?? Number.NaN;
    return { head: inOnePiece(null), bytes: bytesOf(values) };
  },
  unpack(_head, bytes, count, isRight) {
    const values = doublesOf(bytes, count);
    const valueAt = (at: number) => (Number.isNaN(values[at]) ? null : values[at]!);
    for (let at = 0; at < count; at++) expectThat(isRight(valueAt(at)));
    return valueAt;
  },
};

/** Moments, of texts or of moments; those that are texts stand in the head. */
const instants: FormKind = {
  pack(count, valueAt) {
    const millis = new Float64Array(count);
    const others = sparse.pack(count, (at) => {
      const value = valueAt(at);
      const moment = typeof value === 'string' ? toMoment(value) : value;
      millis[at] = typeof moment === 'number' ? moment : Number.NaN;
      return typeof moment === 'number' ? null : value;
    });
    return { head: others.head, bytes: bytesOf(millis) };
  },
  unpack(head, bytes, count, isRight) {
    const millis = doublesOf(bytes, count);
    const otherAt = sparse.unpack(
      head,
      new Uint8Array(0),
      count,
      (value) => value === null || isRight(value),
    );
    for (let at = 0; at < count; at++)
      expectThat(Number.isNaN(millis[at]) ? isRight(otherAt(at)) : isMillis(millis[at]!));
    return (at): Moment | null => (Number.isNaN(millis[at]) ? (otherAt(at) as string | null) : millis[at]!);
  },
};

const LAST_MILLIS = Date.UTC(2199, 11, 31, 23, 59, 59, 999);
const isMillis = (value: number) => Number.isInteger(value) && value >= 0 && value <= LAST_MILLIS;

const repeated: FormKind = {
  pack(count, valueAt) {
    const codes = new Map<unknown, number>();
    const coded = new Uint32Array(count);
    for (let at = 0; at < count; at++) {
      const value = valueAt(at);
      const code = codes.get(value) ?? codes.size;
      codes.set(value, code);
      coded[at] = code;
    }
    return { head: inOnePiece([...codes.keys()]), bytes: bytesOf(coded) };
  },
  unpack(head, bytes, count, isRight) {
    expectThat(Array.isArray(head) && head.every(isRight) && bytes.length === count * 4);
    const values = head as unknown[];
    const codes = new Uint32Array(aligned(bytes));
    let highest = -1;
    for (let at = 0; at < count; at++) if (codes[at]! > highest) highest = codes[at]!;
    expectThat(highest < values.length);
    return (at) => values[codes[at]!];
  },
};

/** So many are put together at once: each is an object of its own until then, and all at once would be there three times. */
const TEXTS_AT_ONCE = 4_096;
const QUOTE = 0x22;

/** Where each ends, in characters, and then all of them; none is empty, so an empty one is no value. */
const texts: FormKind = {
  pack(count, valueAt) {
    const ends = new Uint32Array(count);
    const head: Uint8Array[] = [Buffer.of(QUOTE)];
    for (let from = 0; from < count; from += TEXTS_AT_ONCE) {
      const some: string[] = [];
      for (let at = from; at < Math.min(count, from + TEXTS_AT_ONCE); at++) {
        const text = (valueAt(at) as string | null) ?? '';
        ends[at] = (ends[at - 1] ?? 0) + text.length;
        some.push(text);
      }
      head.push(Buffer.from(JSON.stringify(some.join('')).slice(1, -1)));
    }
    return { head: [...head, Buffer.of(QUOTE)], bytes: bytesOf(ends) };
  },
  unpack(head, bytes, count, isRight) {
    expectThat(typeof head === 'string' && bytes.length === count * 4);
    const all = head as string;
    const ends = new Uint32Array(aligned(bytes));
    expectThat((ends.at(-1) ?? 0) === all.length);
    const textAt = (at: number) => {
      const [from, to] = [at === 0 ? 0 : ends[at - 1]!, ends[at]!];
      return from === to ? null : all.slice(from, to);
    };
    for (let at = 0; at < count; at++) expectThat((ends[at - 1] ?? 0) <= ends[at]! && isRight(textAt(at)));
    return textAt;
  },
};

const FORMS: Readonly<Record<Form, FormKind>> = { json, sparse, numbers, instants, repeated, texts };

function isPlace(at: unknown, count: number): boolean {
  return Number.isInteger(at) && (at as number) >= 0 && (at as number) < count;
}

function doublesOf(bytes: Uint8Array, count: number): Float64Array {
  expectThat(bytes.length === count * 8);
  return new Float64Array(aligned(bytes));
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A buffer of its own: views of more than one byte must begin where they can. */
function aligned(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
