import { expect, test } from 'vitest';
import {
  formatBytes,
  formatSeconds,
  formatShort,
  formatTable,
  widthOf,
  wrapText,
} from '../../../src/cli/terminal/format.ts';
import { paint } from '../../../src/cli/terminal/screen.ts';
import { countOf } from '../../../src/core/model/index.ts';

test('counts, sizes and durations are written for people', () => {
  expect([8, 200, 18_720].map(formatSeconds)).toEqual(['8 s', '3 min 20 s', '5 h 12 min']);
  expect([0, 999, 999_600, 12_345_678, 8e15].map(formatBytes)).toEqual([
    '0 bytes',
    '999 bytes',
    '1.00 MB',
    '12.3 MB',
    '8.00 PB',
  ]);
  expect([350_000.4, 1_234_567, 999_499_999, 12_300_000_000].map(formatShort)).toEqual([
    '350,000',
    '1.23 M',
    '999 M',
    '12.3 bn',
  ]);
  expect([countOf(1, 'vessel-day'), countOf(1_234, 'vessel-day')]).toEqual([
    '1 vessel-day',
    '1,234 vessel-days',
  ]);
});

test('numbers of a table stand to the right, and colours take no room', () => {
  const head = ['vessel', 'rows'];
  expect(formatTable([head, ['IMO9321483', 1_234]])).toBe('vessel      rows\nIMO9321483  1,234');
  const red = paint({ colour: true }, 'red', 'failed');
  expect(red).not.toBe('failed');
  expect(
    formatTable([
      ['state', 'why'],
      [red, 'x'],
    ]).split('\n')[0],
  ).toBe('state   why');
});

test.each([200, 80, 60, 30])('no line of a table is wider than %i columns', (columns) => {
  const rows = [
    ['setting', 'value', 'meaning'],
    ['QUERY_ALLOW_HTTP', '0', 'allow plain http to other hosts than this one, which is for tests'],
    ['LAKE_URL', 'file:///lake', 'where the lake is'],
  ];
  const text = formatTable(rows, columns);
  expect(text.split('\n').filter((line) => widthOf(line) > columns)).toEqual([]);
  for (const word of rows.flat().join(' ').split(' ')) expect(text).toContain(word);
});

test('text is broken between words, and what follows is set in; a long word stays whole', () => {
  expect(wrapText('  one two three four', 12)).toBe('  one two\n    three\n    four');
  expect(wrapText('see file:///a/very/long/address now', 12)).toBe(
    'see\n  file:///a/very/long/address\n  now',
  );
  expect(wrapText('as it is\n', Infinity)).toBe('as it is\n');
});
