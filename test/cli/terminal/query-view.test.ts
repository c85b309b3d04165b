import { expect, test } from 'vitest';
import { csvLine } from '../../../src/cli/terminal/query-view.ts';

test.for([
  ["=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"],
  ['=HYPERLINK("http://evil.example","x")', `"'=HYPERLINK(""http://evil.example"",""x"")"`],
  ['@SUM(1,2)', `"'@SUM(1,2)"`],
  ['+1+cmd', "'+1+cmd"],
  ['-2+3', "'-2+3"],
  ['\t=1', `"'\t=1"`],
  ['\r=1', `"'\r=1"`],
  ['＝1+1', "'＝1+1"],
  // Where the separator is a semicolon, what follows one would be a cell of its own.
  ['a;=1', '"a;=1"'],
  ['a\t=1', '"a\t=1"'],
])('%j is no formula in a spreadsheet', ([cell, line]) => {
  expect(csvLine([cell!])).toBe(line);
});

test.for([
  '-12.5',
  '+3',
  '-9007199254740993',
  '1e-5',
  '-1.5E+10',
  'a=b',
  'x-1',
  'NaN',
  '2026-01-05',
  '°C',
  "it's",
])('%s stays as it is', (cell) => {
  expect(csvLine([cell])).toBe(cell);
});

test('by RFC 4180', () => {
  expect(csvLine([null, '', 'a,"b"', 'a\nb', -5, 0.5, true])).toBe(',"","a,""b""","a\nb",-5,0.5,true');
});
