import { type BodyWindow, INCOMPLETE } from './body-window.ts';
import { colonEnd, keyEnd, skipSpace, valueEnd } from './json-tokens.ts';

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
