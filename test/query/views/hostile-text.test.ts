/**
 * Whatever a source names its series and domains, what is printed and run has as many statements as if it had named them
 * plainly: read by sqlglot for the engines that are not here, and by DuckDB and ClickHouse themselves.
 */
import { DuckDBInstance, StatementType } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SqlConnection } from '../../../src/core/duckdb/connection.ts';
import { comment, duckdbText, sql } from '../../../src/core/duckdb/sql-text.ts';
import { DIALECTS, type DialectName } from '../../../src/query/views/dialects/index.ts';
import { seriesView, viewedDomains } from '../../../src/query/views/series.ts';
import { viewStatements } from '../../../src/query/views/views.ts';
import { wideView } from '../../../src/query/views/wide.ts';
import type { NamedSeries } from '../../../src/query/views/wide-columns.ts';
import { clickHouseForTests } from '../../helpers/clickhouse.ts';
import { ENDS, MARKER, STATEMENT, TEXTS } from '../../helpers/hostile-sql.ts';
import { longName, unseenIn } from '../../helpers/hostile-text.ts';
import { sqlParsersForTests } from '../../helpers/sql-parsers.ts';
import { ENGINES, lakeOf, SQLGLOT, wideOf } from './scripts.ts';

const LONG = `${longName}';${MARKER}`;

/** What a source named once with each text in each field, so that each is a literal, a comment and the origin of a column. */
function seriesWith(texts: readonly string[]): NamedSeries[] {
  const plain = { vessel: 'IMO9321483', unit: 'kW' };
  return [
    // As unit and id of series that share a name, so that ids are told apart by their literals.
    ...texts.map((text, n) => ({ ...plain, tag: 'Power', unit: text, timeSeriesId: `${text}${n}` })),
    ...texts.map((text, n) => ({ ...plain, tag: `${text.slice(0, 900)} ${n}`, timeSeriesId: `a${n}` })),
    { ...plain, tag: LONG, timeSeriesId: 'b' },
  ];
}

/** `wide` and `series`, each with its comments on columns, and one statement more: what is there beside them is too many. */
function statementsOf(engine: DialectName, texts: readonly string[]): string[] {
  const dialect = DIALECTS[engine];
  const lake = lakeOf(engine, 'plain', undefined, viewedDomains(texts));
  const views = [
    wideView(dialect, lake, wideOf(seriesWith(texts))),
    seriesView(dialect, lake, lake.sources[0]!),
  ];
  return [...views.flatMap((view) => viewStatements(dialect, lake, view)), sql`SELECT 1`];
}

const scriptWith = (engine: DialectName, texts: readonly string[]) =>
  statementsOf(engine, texts)
    .map((statement) => `${statement};\n`)
    .join('');

/** Texts of any characters, mostly of those that mean something somewhere. */
const anyText = fc
  .array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.constantFrom(
          ...ENDS,
          ';',
          '--',
          '{',
          '}',
          '%',
          '$',
          '(',
          '<',
          '&',
          ' ',
          'a',
          '\\u0027',
        ),
      },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
    ),
    { maxLength: 12 },
  )
  .map((parts) => `${parts.join('').toWellFormed()}${MARKER}`);

let instance: DuckDBInstance;
let duckdb: SqlConnection;
let extract: (script: string) => Promise<number>;
beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  extract = async (script) => (await connection.extractStatements(script)).count;
  duckdb = new SqlConnection(await instance.connect(), StatementType.SELECT);
});
afterAll(() => instance?.closeSync());

test.for(ENGINES)('for %s, no character stands in what is printed that cannot be seen', (engine) => {
  expect(unseenIn(scriptWith(engine, TEXTS).replaceAll('\n', ''))).toEqual([]);
});

test.for(ENGINES)(
  'for %s, no line begins with what was named, and nothing in it is to be filled in',
  (engine) => {
    const script = scriptWith(engine, TEXTS);
    expect(script.split('\n').filter((line) => /^\s*[^\s"`[]{0,3}zqx/i.test(line))).toEqual([]);
    expect(script.match(/\{\{|\{%|\{#|\$\{|\$\(|<%|&/g)).toBeNull();
    expect(script.match(/;(?!\n)/g)).toBeNull();
  },
);

describe('by DuckDB itself', () => {
  test('a script has as many statements as were printed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 20 }), async (texts) => {
        expect(await extract(scriptWith('duckdb', texts))).toBe(statementsOf('duckdb', texts).length);
      }),
      { numRuns: 20 },
    );
    expect(await extract(scriptWith('duckdb', TEXTS))).toBe(statementsOf('duckdb', TEXTS).length);
  });

  test('a literal is the text, whatever is in it', async () => {
    const isSame = async (text: string) => {
      const [row] = await duckdb.rows(sql`SELECT ${duckdbText.literal(text)}, 1 ${comment(text)}`);
      expect(row).toEqual([text, 1]);
    };
    for (const text of [...TEXTS, LONG]) await isSame(text);
    await fc.assert(fc.asyncProperty(anyText, isSame), { numRuns: 200 });
  });
});

const clickhouse = clickHouseForTests();
describe.skipIf(clickhouse === undefined)('by ClickHouse itself', () => {
  const opened = clickhouse?.();
  afterAll(() => opened?.[Symbol.asyncDispose]());
  const hex = (text: string) => Buffer.from(text).toString('hex');

  test('each statement is one, and a literal is the text', async () => {
    const { literal } = DIALECTS.clickhouse;
    const check = async (texts: readonly string[]) => {
      for (const statement of statementsOf('clickhouse', texts))
        expect(await opened!.rows(`SELECT formatQuery(unhex('${hex(statement)}')) != ''`)).toEqual([[1]]);
      const literals = texts.map((text) => `hex(${literal(text)}) = upper('${hex(text)}') ${comment(text)}`);
      expect(await opened!.rows(`SELECT ${literals.join(', ')}`)).toEqual([texts.map(() => 1)]);
    };
    // It takes no query of 300 kB.
    await check([...TEXTS, LONG.slice(-9_000)]);
    await fc.assert(fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 20 }), check), {
      numRuns: 5,
    });
    await expect(opened!.rows(`SELECT formatQuery(unhex('${hex('SELECT 1; SELECT 2')}'))`)).rejects.toThrow();
  });
});

const open = sqlParsersForTests();
describe.skipIf(open === undefined)('by sqlglot', () => {
  const parsers = open?.();
  afterAll(() => parsers?.[Symbol.asyncDispose]());

  test.for(ENGINES.flatMap((engine) => SQLGLOT[engine].map((dialect) => [engine, dialect] as const)))(
    'for %s, as %s, a script has as many statements as were printed, and no word of what was named among its own',
    async ([engine, dialect]) => {
      const check = async (texts: readonly string[]) => {
        const { statements, marked } = await parsers!.parse(dialect, scriptWith(engine, texts), MARKER);
        expect({ statements, marked }).toEqual({
          statements: statementsOf(engine, texts).length,
          marked: [],
        });
      };
      await check([...TEXTS, LONG]);
      await fc.assert(fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 20 }), check), {
        numRuns: 2,
      });
    },
  );

  test('what is between quotes without being spelled is found', async () => {
    const script = `SELECT '${STATEMENT}'; SELECT '' ${STATEMENT} '`;
    expect(await parsers!.parse('trino', script, MARKER)).toMatchObject({ marked: [MARKER] });
  });
});
