/** A JSON tokenizer that builds no values. A function takes a position and returns the one behind the thing, or INCOMPLETE; throws `malformed-json`. */
import { type BodyWindow, INCOMPLETE } from './body-window.ts';

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_E = 0x65;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

// The same byte four times.
const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const SPACES = 0x20202020;
const LOW_BITS = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;
const NOT_ASCII = 0x80;

const SIMPLE_ESCAPES = new Set(Buffer.from('"\\/bfnrt'));

/** Position of the next byte that is not white space; may be `window.end`. */
export function skipSpace(window: BodyWindow, start: number): number {
  const { bytes, end, lineFeedIsSpace } = window;
  let p = start;
  while (p < end) {
    const byte = bytes[p]!;
    if (byte > SPACE) break;
    const isFeed = byte === LINE_FEED && lineFeedIsSpace;
    if (byte !== SPACE && byte !== TAB && byte !== CARRIAGE_RETURN && !isFeed) break;
    p++;
  }
  return p;
}

function stringEnd(window: BodyWindow, start: number): number {
  const { bytes, view, end } = window;
  let bits = 0;
  let p = start + 1;
  while (p < end) {
    // Four bytes at a time, up to a quote, a backslash or a control character.
    if (p + 4 <= end) {
      const word = view.getInt32(p, true);
      const special = specialBytes(word);
      if (special === 0) {
        bits |= word;
        p += 4;
        continue;
      }
      const plain = (31 - Math.clz32(special & -special)) & ~7;
      bits |= word & ((1 << plain) - 1);
      p += plain >> 3;
    }
    const byte = bytes[p]!;
    if (byte === QUOTE) {
      if ((bits & HIGH_BITS) !== 0) window.stringBits |= NOT_ASCII;
      return p + 1;
    }
    if (byte < SPACE) throw window.fault('malformed-json', p, 'no bare control character in a string', p + 1);
    if (byte !== BACKSLASH) {
      bits |= byte;
      p++;
    } else {
      p = escapeEnd(window, p);
      if (p === INCOMPLETE) return INCOMPLETE;
    }
  }
  return INCOMPLETE;
}

/** The highest bit of each byte that is a quote, a backslash or a control character; those behind the first may lie. */
function specialBytes(word: number): number {
  const quotes = word ^ QUOTES;
  const backslashes = word ^ BACKSLASHES;
  const isQuote = (quotes - LOW_BITS) & ~quotes;
  const isBackslash = (backslashes - LOW_BITS) & ~backslashes;
  return (isQuote | isBackslash | ((word - SPACES) & ~word)) & HIGH_BITS;
}

function escapeEnd(window: BodyWindow, start: number): number {
  const { bytes, end } = window;
  if (start + 1 >= end) return INCOMPLETE;
  const byte = bytes[start + 1]!;
  if (SIMPLE_ESCAPES.has(byte)) return start + 2;
  if (byte !== LOWER_U) throw window.fault('malformed-json', start, 'a JSON escape', start + 2);
  for (let p = start + 2; p < start + 6; p++) {
    if (p >= end) return INCOMPLETE;
    const lower = bytes[p]! | 0x20;
    if (!isDigit(bytes[p]!) && (lower < 0x61 || lower > 0x66))
      throw window.fault('malformed-json', start, 'four hexadecimal digits after \\u', start + 6);
  }
  return start + 6;
}

/** End of any JSON value whose first byte is at `start`. Not recursive: depth costs a byte a level. */
export function valueEnd(window: BodyWindow, start: number): number {
  window.depth = 0;
  let p = start;
  for (;;) {
    if (p >= window.end) return INCOMPLETE;
    const byte = window.bytes[p]!;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      pushNesting(window, byte);
      p = skipSpace(window, p + 1);
      if (p >= window.end) return INCOMPLETE;
      if (!closes(byte, window.bytes[p]!)) {
        p = itemValueStart(window, p, byte);
        if (p === INCOMPLETE) return INCOMPLETE;
        continue;
      }
    } else {
      p = scalarEnd(window, p);
    }
    if (p !== INCOMPLETE) p = popNesting(window, p);
    if (p === INCOMPLETE || window.depth === 0) return p;
  }
}

function pushNesting(window: BodyWindow, open: number): void {
  if (window.depth === window.nesting.length) {
    const wider = new Uint8Array(window.depth * 2);
    wider.set(window.nesting);
    window.nesting = wider;
  }
  window.nesting[window.depth++] = open;
}

/** From behind a value over closing brackets to where the next value begins, or to the end where depth is 0. */
function popNesting(window: BodyWindow, start: number): number {
  let p = start;
  while (window.depth > 0) {
    const open = window.nesting[window.depth - 1]!;
    p = skipSpace(window, p);
    if (p >= window.end) return INCOMPLETE;
    const byte = window.bytes[p]!;
    if (byte === COMMA) return itemValueStart(window, skipSpace(window, p + 1), open);
    if (!closes(open, byte))
      throw window.fault('malformed-json', p, `',' or '${open === OPEN_BRACE ? '}' : ']'}'`);
    window.depth--;
    p++;
  }
  return p;
}

function closes(open: number, byte: number): boolean {
  return byte === (open === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET);
}

/** Where the value of an item begins that begins at `start`: an element itself, or a member behind its key; may be `window.end`. */
function itemValueStart(window: BodyWindow, start: number, open: number): number {
  if (open !== OPEN_BRACE) return start;
  const afterKey = keyEnd(window, start);
  return afterKey === INCOMPLETE ? INCOMPLETE : colonEnd(window, afterKey);
}

/** End of an object member's key that begins at `start`. */
export function keyEnd(window: BodyWindow, start: number): number {
  if (start >= window.end) return INCOMPLETE;
  if (window.bytes[start] !== QUOTE) throw window.fault('malformed-json', start, "a key in '\"'");
  return stringEnd(window, start);
}

export function colonEnd(window: BodyWindow, start: number): number {
  const colon = skipSpace(window, start);
  if (colon >= window.end) return INCOMPLETE;
  if (window.bytes[colon] !== COLON) throw window.fault('malformed-json', colon, "':' after a key");
  return skipSpace(window, colon + 1);
}

function scalarEnd(window: BodyWindow, start: number): number {
  const byte = window.bytes[start]!;
  if (byte === QUOTE) return stringEnd(window, start);
  if (byte === MINUS || isDigit(byte)) return numberEnd(window, start);
  if (byte === 0x74) return wordEnd(window, start, 'true');
  if (byte === 0x66) return wordEnd(window, start, 'false');
  if (byte === 0x6e) return wordEnd(window, start, 'null');
  throw window.fault('malformed-json', start, 'a JSON value');
}

function wordEnd(window: BodyWindow, start: number, word: string): number {
  for (let i = 1; i < word.length; i++) {
    if (start + i >= window.end) return INCOMPLETE;
    if (window.bytes[start + i] !== word.charCodeAt(i))
      throw window.fault('malformed-json', start, `'${word}'`);
  }
  return start + word.length;
}

/** End of a number; INCOMPLETE also when the window ends right behind a digit, for more may follow. */
function numberEnd(window: BodyWindow, start: number): number {
  const { bytes } = window;
  let p = bytes[start] === MINUS ? start + 1 : start;
  p = bytes[p] === ZERO && p < window.end ? p + 1 : digitsEnd(window, start, p);
  if (p === INCOMPLETE || p >= window.end) return INCOMPLETE;
  if (isDigit(bytes[p]!)) throw window.fault('malformed-json', start, 'a number without leading zeros');
  if (bytes[p] === DOT) p = digitsEnd(window, start, p + 1);
  if (p === INCOMPLETE || p >= window.end) return INCOMPLETE;
  if ((bytes[p]! | 0x20) !== LOWER_E) return p;
  if (p + 1 >= window.end) return INCOMPLETE;
  const sign = bytes[p + 1]!;
  return digitsEnd(window, start, sign === PLUS || sign === MINUS ? p + 2 : p + 1);
}

function digitsEnd(window: BodyWindow, numberStart: number, start: number): number {
  const { bytes, end } = window;
  let p = start;
  while (p < end && isDigit(bytes[p]!)) p++;
  if (p >= end) return INCOMPLETE;
  if (p === start) throw window.fault('malformed-json', numberStart, 'a JSON number', p + 1);
  return p;
}

function isDigit(byte: number): boolean {
  return (byte - ZERO) >>> 0 <= 9;
}

export function beginsNumber(byte: number): boolean {
  return byte === MINUS || isDigit(byte);
}

/** Is the string at `[start, end)`, with its quotes, spelled plainly as `quoted`? An escaped spelling is not plain. */
export function isSpelled(window: BodyWindow, start: number, end: number, quoted: Uint8Array): boolean {
  if (end - start !== quoted.length) return false;
  for (let i = 0; i < quoted.length; i++) if (window.bytes[start + i] !== quoted[i]) return false;
  return true;
}

/** Value of the string that is at `[start, end)` with its quotes. Throws DataError `invalid-utf8`. */
export function stringValue(window: BodyWindow, start: number, end: number): string {
  const text = window.text(start, end);
  if (!text.includes('\\')) return text.slice(1, -1);
  const value: string = JSON.parse(text);
  if (!value.isWellFormed())
    throw window.fault('invalid-utf8', start, 'no lone surrogate, which UTF-8 cannot hold', end);
  return value;
}
