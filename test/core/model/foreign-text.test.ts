import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  cleanFields,
  cleanForeignText,
  cleanLines,
  cleanListing,
  cleanMessage,
  shortName,
  visibleJson,
} from '../../../src/core/model/index.ts';
import { hostileNames, unseenIn } from '../../helpers/hostile-text.ts';

/** Any text: whole characters, halves of pairs, and much of what steers or cannot be seen. */
const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...Object.values(hostileNames)),
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.nat(0xffff).map((unit) => String.fromCharCode(unit)),
  ),
  maxLength: 60,
});

test('no text steers a terminal or hides in a message, whatever it holds', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const clean of [cleanForeignText(text), shortName(text), cleanMessage(text)])
        expect(unseenIn(clean)).toEqual([]);
      for (const lines of [cleanLines(text), cleanListing(text), visibleJson(text)])
        expect(unseenIn(lines.replaceAll('\n', ''))).toEqual([]);
    }),
  );
});

test('each kind of unseen character becomes a space', () => {
  const kinds = [
    '\u001b',
    '\u0007',
    '\r',
    '\u007f',
    '\u009b',
    '\u00ad',
    '\u200b',
    '\u200f',
    '\u2028',
    '\u2029',
  ];
  const more = ['\u202e', '\u2060', '\u2066', '\ufeff', '\ufe0f', '\u3164', '\u{e0041}', '\ud800', '\udfff'];
  for (const char of [...kinds, ...more]) {
    expect(cleanForeignText(`a${char}b`)).toBe('a b');
    expect(cleanLines(`a${char}b\nc`)).toBe('a b\nc');
  }
});

test('what people write stays as it is', () => {
  for (const text of ['Drehzahl Hauptmaschine 1/min', '主机转速', 'Ωμέγα ½ “x” – 𝔘', 'سرعة', '😀'])
    expect(cleanForeignText(text)).toBe(text);
});

test('a cut is within its bound and never within a character', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, maxChars) => {
      const cut = cleanForeignText(text, [], maxChars);
      expect(cut.length).toBeLessThanOrEqual(maxChars + 1);
      expect(cut.isWellFormed()).toBe(true);
      const message = cleanMessage(text, maxChars + 10);
      expect(message.length).toBeLessThanOrEqual(maxChars + 10);
      expect(message.isWellFormed()).toBe(true);
    }),
  );
  expect(cleanForeignText('abc😀', [], 4)).toBe('abc…');
  expect(cleanMessage(`ab${'😀'.repeat(50)}yz`, 20).isWellFormed()).toBe(true);
});

test('a message that is too long keeps its ends: what happened, and what to do', () => {
  const message = cleanMessage(`series ${'x'.repeat(300_000)}: 5 fetched, 6 counted; run again`);
  expect(message).toMatch(/^series x.* … x*: 5 fetched, 6 counted; run again$/);
  expect(message.length).toBeLessThanOrEqual(2_000);
});

test('a secret that the cut would halve is not shown by half', () => {
  const shown = cleanForeignText(`${'x'.repeat(8)}top-secret`, ['top-secret'], 12);
  expect(shown).toBe('xxxxxxxx***');
});

test('fields of a log are cleaned and bounded, names and nested ones too', () => {
  const nested = { list: ['\u001b[31m', { deep: 'a\u2028b' }], [`${'k'.repeat(500)}`]: 'x'.repeat(300_000) };
  const clean = cleanFields({ ...nested, rows: 5, none: null, stack: 'Error: x\n    at y\u0007' });
  expect(clean).toMatchObject({ list: ['[31m', { deep: 'a b' }], rows: 5, none: null });
  expect(clean.stack).toBe('Error: x\n    at y ');
  expect(JSON.stringify(clean).length).toBeLessThan(3_000);
});

test('JSON stays exact, and says what cannot be seen', () => {
  fc.assert(
    fc.property(fc.jsonValue(), anyText, (value, text) => {
      const both = { value, [text]: text };
      expect(JSON.parse(visibleJson(both, 2))).toEqual(JSON.parse(JSON.stringify(both)));
    }),
  );
  expect(visibleJson({ a: '\u001b\u009b\u202e\u{e0041}' })).toBe(
    String.raw`{"a":"\u001b\u009b\u202e\udb40\udc41"}`,
  );
});
