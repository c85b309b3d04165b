/** Names that a service, a lake or a queue may send to whoever reads our messages. */

const CURSED =
  '\u001b[2J\u001b[31mred\u0007\r\u001b]8;;http://evil.example\u001b\\click\u001b]8;;\u001b\\\u202etxet\u2069';

export const hostileNames = {
  escape: '\u001b[2J\u001b[1;1Hpublished',
  bell: 'a\u0007b\bc',
  line: 'a\r\nerror: forged\u2028line\u2029\u0085',
  link: '\u001b]8;;http://evil.example\u0007click\u001b]8;;\u0007',
  bidi: '\u202egnorw\u202c\u2066x\u2069\u200f\u061c',
  unseen: 'a\u200b\u200d\u2060\ufeff\u00ad\u034f\u3164\u{e0041}b',
  c1: '\u009b31m\u009d0;title\u009c',
  half: 'a\ud800b\udc00c',
  all: CURSED,
} as const;

/** So long is the longest name. */
export const LONG_NAME_CHARS = 300_000;

/** Every cursed character, and 300 kB. */
export const longName = `${CURSED}${'n'.repeat(LONG_NAME_CHARS)}`;

/**
 * Characters of a text that steer or cannot be seen, as code points. Written without the properties of Unicode that the
 * cleaner goes by: controls, separators, marks of direction, zero widths, tags, fillers, variation selectors, halves.
 */
export function unseenIn(text: string): string[] {
  const found: string[] = [];
  for (const char of text) {
    const code = char.codePointAt(0)!;
    if (UNSEEN.some(([first, last]) => code >= first && code <= last)) found.push(code.toString(16));
  }
  return found;
}

const UNSEEN: readonly (readonly [first: number, last: number])[] = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0xe0000, 0xe0fff],
];
