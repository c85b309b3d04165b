import { badParquet } from './parquet-faults.ts';

const THRIFT = {
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  struct: 12,
};
const STOP = 0;
/** Parquet's own structures are seven deep. */
const MAX_DEPTH = 24;
const MAX_VARINT_BYTES = 10;

/** Reads Thrift's compact protocol in place: what is skipped allocates nothing, no list is believed, depth is bounded. */
export class ThriftReader {
  position: number;
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #where: string;
  #depth = 0;

  constructor(bytes: Uint8Array, start: number, end: number, where: string) {
    this.#bytes = bytes;
    this.position = start;
    this.#end = end;
    this.#where = where;
  }

  /** Read a struct. `onField` reads the value of a field and returns true, or leaves it to be skipped. */
  struct(onField: (id: number, type: number) => boolean): void {
    this.#enter();
    for (let id = 0; ; ) {
      const head = this.#byte();
      const type = head & 0x0f;
      if (type === STOP) break;
      id = head >> 4 === 0 ? this.int() : id + (head >> 4);
      const start = this.position;
      if (!onField(id, type)) {
        this.position = start;
        this.skip(type);
      }
    }
    this.#depth--;
  }

  /** Read the whole numbers among a struct's fields into the members of these names; `onOther` as `onField`. */
  numbers<T extends object>(
    into: T,
    names: Readonly<Record<number, keyof T>>,
    onOther: (id: number, type: number) => boolean = () => false,
  ): void {
    this.struct((id, type) => {
      const name = names[id];
      if (name === undefined) return onOther(id, type);
      Object.assign(into, { [name]: this.number(type) });
      return true;
    });
  }

  /** Read a list of structs; `onElement` reads one. Resolves to how many there were. */
  list(type: number, onElement: (index: number) => void): number {
    this.#expect(type, THRIFT.list, 'a list');
    const { size, elementType } = this.#listHead();
    if (size > 0) this.#expect(elementType, THRIFT.struct, 'a list of structs');
    for (let index = 0; index < size; index++) onElement(index);
    return size;
  }

  /** A whole number; exact up to 2^53, and beyond that as large as it is. */
  number(type: number): number {
    if (type === THRIFT.byte) return (this.#byte() << 24) >> 24;
    if (type < THRIFT.i16 || type > THRIFT.i64) throw this.#fault(`type ${type}`, 'a whole number');
    return this.int();
  }

  /** The value of a boolean field, which is its type. */
  bool(type: number): boolean {
    if (type !== THRIFT.true && type !== THRIFT.false) throw this.#fault(`type ${type}`, 'a boolean');
    return type === THRIFT.true;
  }

  text(type: number): string {
    this.#expect(type, THRIFT.binary, 'a text');
    const start = this.#skipBinary();
    return Buffer.from(this.#bytes.subarray(start, this.position)).toString('utf8');
  }

  int(): number {
    const encoded = this.#varint();
    return encoded % 2 === 0 ? encoded / 2 : -(encoded + 1) / 2;
  }

  skip(type: number): void {
    if (type === THRIFT.true || type === THRIFT.false) return;
    if (type === THRIFT.byte) this.#advance(1);
    else if (type >= THRIFT.i16 && type <= THRIFT.i64) this.#varint();
    else if (type === THRIFT.double) this.#advance(8);
    else if (type === THRIFT.binary) this.#skipBinary();
    else if (type === THRIFT.list) this.#skipList();
    else if (type === THRIFT.struct) this.struct(() => false);
    else throw this.#fault(`type ${type}`, 'a type that Parquet uses');
  }

  #skipList(): void {
    this.#enter();
    const { size, elementType } = this.#listHead();
    // In a list a boolean is a byte.
    const isBoolean = elementType === THRIFT.true || elementType === THRIFT.false;
    if (isBoolean) this.#advance(size);
    else for (let index = 0; index < size; index++) this.skip(elementType);
    this.#depth--;
  }

  #listHead(): { size: number; elementType: number } {
    const head = this.#byte();
    const size = head >> 4 === 15 ? this.#varint() : head >> 4;
    // Each element takes a byte at least.
    if (size > this.#end - this.position)
      throw this.#fault(`a list of ${size}`, `at most the ${this.#end - this.position} bytes that are left`);
    return { size, elementType: head & 0x0f };
  }

  #skipBinary(): number {
    const length = this.#varint();
    const start = this.position;
    this.#advance(length);
    return start;
  }

  #varint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < MAX_VARINT_BYTES; count++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw this.#fault('a number of more than ten bytes', 'at most ten');
  }

  #byte(): number {
    if (this.position >= this.#end) throw this.#fault('its end inside a value', 'the rest');
    return this.#bytes[this.position++]!;
  }

  #advance(bytes: number): void {
    const left = this.#end - this.position;
    if (bytes > left) throw this.#fault(`a value of ${bytes} bytes`, `at most the ${left} that are left`);
    this.position += bytes;
  }

  #enter(): void {
    if (++this.#depth > MAX_DEPTH)
      throw this.#fault(`structures ${this.#depth} deep`, `at most ${MAX_DEPTH}`);
  }

  #expect(type: number, expected: number, what: string): void {
    if (type !== expected) throw this.#fault(`type ${type}`, what);
  }

  #fault(found: string, expected: string): Error {
    return badParquet(`${this.#where}, byte ${this.position}`, found, expected);
  }
}
