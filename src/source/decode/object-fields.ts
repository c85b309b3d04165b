import { type BodyWindow, INCOMPLETE } from './body-window.ts';
import { beginsNumber, colonEnd, keyEnd, skipSpace, stringValue, valueEnd } from './json-tokens.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const CLOSE_BRACE = 0x7d;

/** Spans of an object's members, used again for each object. */
export class MemberSpans {
  count = 0;
  /** Four positions a member: key `[4i, 4i+1)` with its quotes, value `[4i+2, 4i+3)`. */
  positions = new Int32Array(64);

  keyStart(member: number): number {
    return this.positions[member * 4]!;
  }
  keyEnd(member: number): number {
    return this.positions[member * 4 + 1]!;
  }
  valueStart(member: number): number {
    return this.positions[member * 4 + 2]!;
  }
  valueEnd(member: number): number {
    return this.positions[member * 4 + 3]!;
  }

  add(keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void {
    const at = this.count * 4;
    if (at === this.positions.length) {
      const wider = new Int32Array(at * 2);
      wider.set(this.positions);
      this.positions = wider;
    }
    this.positions[at] = keyStart;
    this.positions[at + 1] = keyEnd;
    this.positions[at + 2] = valueStart;
    this.positions[at + 3] = valueEnd;
    this.count++;
  }
}

/** Read the object that opens at `start` into `members`, which are replaced; its end, or INCOMPLETE. */
export function readMembers(window: BodyWindow, start: number, members: MemberSpans): number {
  const { bytes } = window;
  members.count = 0;
  let p = skipSpace(window, start + 1);
  if (p >= window.end) return INCOMPLETE;
  if (bytes[p] === CLOSE_BRACE) return p + 1;
  for (;;) {
    const keyStart = p;
    const afterKey = keyEnd(window, keyStart);
    if (afterKey === INCOMPLETE) return INCOMPLETE;
    const valueStart = colonEnd(window, afterKey);
    if (valueStart === INCOMPLETE) return INCOMPLETE;
    const afterValue = valueEnd(window, valueStart);
    if (afterValue === INCOMPLETE) return INCOMPLETE;
    members.add(keyStart, afterKey, valueStart, afterValue);
    p = skipSpace(window, afterValue);
    if (p >= window.end) return INCOMPLETE;
    if (bytes[p] === CLOSE_BRACE) return p + 1;
    if (bytes[p] !== COMMA) throw window.fault('malformed-json', p, "',' or '}'");
    p = skipSpace(window, p + 1);
  }
}

/** Throws RetriableError `error-in-body` for the contract's error body, whose only member is the string `error`. */
export function throwErrorObject(window: BodyWindow, start: number, members: MemberSpans): void {
  if (members.count !== 1 || window.bytes[members.valueStart(0)] !== QUOTE) return;
  if (stringValue(window, members.keyStart(0), members.keyEnd(0)) !== 'error') return;
  throw window.errorInBody(start, stringValue(window, members.valueStart(0), members.valueEnd(0)));
}

const BACKSLASH = 0x5c;
const NULL = 0x6e;
const OPEN_BRACE = 0x7b;
const LAST_ASCII = 0x7f;

/** The fields of one JSON object by name, for records that are few and wide. Unknown names do no harm. */
export class ObjectFields {
  readonly #members = new MemberSpans();
  readonly #names: string[] = [];
  readonly #byName = new Map<string, number>();
  readonly #repeated = new Set<string>();
  /** Those of `object`, used again for each record: there may be millions. */
  readonly #nested = new Map<string, ObjectFields>();
  #window!: BodyWindow;
  #start = 0;

  /** Read the object that opens at `start`, replacing what was read before; its end, or INCOMPLETE. */
  read(window: BodyWindow, start: number): number {
    this.#window = window;
    this.#start = start;
    const end = readMembers(window, start, this.#members);
    if (end === INCOMPLETE) return INCOMPLETE;
    throwErrorObject(window, start, this.#members);
    if (!this.#hasSameNames()) this.#readNames();
    return end;
  }

  /** Are the members named as those of the object before? Worth a third of the CPU of decoding metadata. */
  #hasSameNames(): boolean {
    const { count } = this.#members;
    if (count !== this.#names.length) return false;
    const { bytes } = this.#window;
    for (let member = 0; member < count; member++) {
      const name = this.#names[member]!;
      const first = this.#members.keyStart(member) + 1;
      if (this.#members.keyEnd(member) - 1 - first !== name.length) return false;
      for (let at = 0; at < name.length; at++) {
        const byte = bytes[first + at]!;
        // Of escapes and of other characters than ASCII the bytes are not the text.
        if (byte !== name.charCodeAt(at) || byte === BACKSLASH || byte > LAST_ASCII) return false;
      }
    }
    return true;
  }

  #readNames(): void {
    this.#names.length = 0;
    this.#byName.clear();
    this.#repeated.clear();
    for (let member = 0; member < this.#members.count; member++) {
      const name = stringValue(this.#window, this.#members.keyStart(member), this.#members.keyEnd(member));
      this.#names.push(name);
      if (this.#byName.has(name)) this.#repeated.add(name);
      this.#byName.set(name, member);
    }
  }

  names(): Iterable<string> {
    return this.#byName.keys();
  }

  /** The members that are not named here, as verbatim JSON text `"name":value` each, sorted. */
  others(known: ReadonlySet<string>): string[] {
    const others: string[] = [];
    for (const [member, name] of this.#names.entries()) {
      if (known.has(name)) continue;
      const key = this.#window.text(this.#members.keyStart(member), this.#members.keyEnd(member));
      others.push(`${key}:${this.#valueText(member)}`);
    }
    return others.sort();
  }

  /** Verbatim JSON text of a field, or undefined when there is none. Throws DataError `duplicate-key`. */
  json(name: string): string | undefined {
    const member = this.#member(name);
    return member === undefined ? undefined : this.#valueText(member);
  }

  /** Text of a field; null when it is absent or null. A number is given as its lexeme. */
  text(name: string): string | null {
    const member = this.#presentMember(name);
    if (member === undefined) return null;
    const start = this.#members.valueStart(member);
    const byte = this.#window.bytes[start]!;
    if (byte === QUOTE) return stringValue(this.#window, start, this.#members.valueEnd(member));
    if (beginsNumber(byte)) return this.#valueText(member);
    throw this.fault(name, 'a string');
  }

  requiredText(name: string): string {
    return this.text(name) ?? this.#missing(name);
  }

  requiredJson(name: string): string {
    return this.json(name) ?? this.#missing(name);
  }

  number(name: string): number | null {
    const member = this.#presentMember(name);
    if (member === undefined) return null;
    const isNumber = beginsNumber(this.#window.bytes[this.#members.valueStart(member)]!);
    const value = isNumber ? Number(this.#valueText(member)) : Number.NaN;
    if (!Number.isFinite(value)) throw this.fault(name, 'a number within the range of a double');
    return value;
  }

  /** Fields of an object, of an empty one where it is absent or null. Valid until the next `object` of the same name. */
  object(name: string): ObjectFields {
    const fields = this.#nested.get(name) ?? new ObjectFields();
    this.#nested.set(name, fields);
    fields.#window = this.#window;
    const member = this.#presentMember(name);
    if (member === undefined) {
      fields.#clear();
      return fields;
    }
    const start = this.#members.valueStart(member);
    if (this.#window.bytes[start] !== OPEN_BRACE) throw this.fault(name, 'an object');
    fields.read(this.#window, start);
    return fields;
  }

  fault(name: string, expected: string, code = 'bad-field'): Error {
    const member = this.#byName.get(name)!;
    const start = this.#members.valueStart(member);
    return this.#window.fault(code, start, `${expected} as '${name}'`, this.#members.valueEnd(member));
  }

  objectFault(code: string, expected: string): Error {
    return this.#window.fault(code, this.#start, expected);
  }

  #missing(name: string): never {
    throw this.objectFault('missing-field', `an object with '${name}'`);
  }

  #valueText(member: number): string {
    return this.#window.text(this.#members.valueStart(member), this.#members.valueEnd(member));
  }

  #clear(): void {
    this.#members.count = 0;
    this.#names.length = 0;
    this.#byName.clear();
    this.#repeated.clear();
  }

  #presentMember(name: string): number | undefined {
    const member = this.#member(name);
    if (member === undefined) return undefined;
    return this.#window.bytes[this.#members.valueStart(member)] === NULL ? undefined : member;
  }

  #member(name: string): number | undefined {
    const member = this.#byName.get(name);
    if (member !== undefined && this.#repeated.has(name))
      throw this.#window.fault('duplicate-key', this.#members.keyStart(member), `one '${name}' in an object`);
    return member;
  }
}
