import { expect, test } from 'vitest';
import type { Sql } from '../../../src/core/duckdb/sql-text.ts';
import {
  backslashes,
  comment,
  doubledQuotes,
  duckdbText,
  isPlain,
  joinSql,
  sql,
} from '../../../src/core/duckdb/sql-text.ts';

test('a plain string is no part of SQL, by its type', () => {
  const name: string = "x'; DROP TABLE y; --";
  // @ts-expect-error a string is put between the parts
  sql`SELECT ${name}`;
  // @ts-expect-error one that was put together
  sql`SELECT ${`a${sql`b`}`}`;
  // @ts-expect-error one in a list
  joinSql([name], sql`, `);
  // @ts-expect-error one between others
  joinSql([sql`a`], ', ');
  // @ts-expect-error SQL that was changed is SQL no more
  const replaced: Sql = sql`a`.replace('a', name);
  // @ts-expect-error an instant that is none
  sql`SELECT ${undefined}`;
  expect(replaced).toBe(name);
  expect(sql`SELECT ${duckdbText.literal("it's")}, ${5}`).toBe("SELECT 'it''s', 5");
});

test('a number is a whole one', () => {
  for (const odd of [0.5, 1e21, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => sql`${odd}`).toThrow(RangeError);
  expect(sql`${-9_007_199_254_740_991}`).toBe('-9007199254740991');
});

test.for([
  ['Shaft Power', true],
  ["Captain's speed", true],
  ['Temp. Ä [°C] 100% -- /* x */ "a" `b`', true],
  ['$."vis-3-8a".id', true],
  ['a;b', false],
  ['{{ x }}', false],
  ['a\\b', false],
  [`\${x}`, false],
  ['$(x)', false],
  ['&x', false],
  ['<% x %>', false],
  ['a\nb', false],
  ['a\u200bb', false],
] as const)('%j is spelled as it is: %s', ([text, plain]) => {
  const { literal } = doubledQuotes('"', (hex) => sql`x(${hex})`);
  expect(isPlain(text)).toBe(plain);
  expect(literal(text)).toBe(
    plain ? `'${text.replaceAll("'", "''")}'` : `x(${Buffer.from(text).toString('hex')})`,
  );
});

test('with backslashes, what is not plain is escaped', () => {
  const text = "it's \\ {\u2028\u{e0041}";
  expect(backslashes('`', 'code points').literal(text)).toBe("'it\\'s \\\\ \\u007b\\u2028\\U000e0041'");
  expect(backslashes('`', 'bytes').literal(text)).toBe(
    "'it\\'s \\\\ \\x7b\\xe2\\x80\\xa8\\xf3\\xa0\\x81\\x81'",
  );
});

test('a comment ends with its line, and has nothing of a text but what all read alike', () => {
  expect(comment("a\n1; DROP TABLE x; -- {{ y }} 'z' [°C] 10% 風速\u2028*/")).toBe(
    '-- a 1 DROP TABLE x -- y z [°C] 10% 風速 /\n',
  );
  expect(comment('x'.repeat(300_000)).length).toBeLessThan(300);
  expect(comment('')).toBe('-- \n');
});

test('an identifier is a word, whatever the engine', () => {
  for (const { quote } of [duckdbText, backslashes('`', 'bytes'), doubledQuotes('[]', (hex) => hex)]) {
    expect(quote('speed_2')).toMatch(/^["`[]speed_2["`\]]$/);
    for (const name of ['', 'a b', 'a"b', 'a`b', 'a]b', 'a\n', '2a', 'ä', 'x'.repeat(200)])
      expect(() => quote(name), name).toThrow(/as a name in SQL, expected letters, digits and _/);
  }
});
