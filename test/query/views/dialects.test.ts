/**
 * The engines that cannot be run here: a parser of each one's dialect reads what is printed for it. sqlglot has all of them,
 * and takes more than the engines do; Trino's, Spark's and, for Athena's tables, Hive's own grammars are there beside it.
 */
import { HiveSQL, SparkSQL, TrinoSQL } from 'dt-sql-parser';
import { afterAll, describe, expect, test } from 'vitest';
import { splitStatements } from '../../../src/cli/commands/sql.ts';
import type { DialectName } from '../../../src/query/views/dialects/index.ts';
import { WIDE_AGGREGATES } from '../../../src/query/views/wide.ts';
import { sqlParsersForTests } from '../../helpers/sql-parsers.ts';
import { ENGINES, SQLGLOT, scriptOf } from './scripts.ts';

const faultsOf = (parser: { validate(sql: string): { message: string }[] }) => (sql: string) =>
  parser.validate(`${sql};`).map(({ message }) => message);
const [hive, spark, trino] = [new HiveSQL(), new SparkSQL(), new TrinoSQL()].map(faultsOf) as ((
  sql: string,
) => string[])[];
const isView = (sql: string) => /CREATE OR REPLACE VIEW|^COMMENT/.test(sql);
const GRAMMARS: Partial<Record<DialectName, (sql: string) => string[]>> = {
  trino: trino!,
  athena: (sql) => (isView(sql) ? trino! : hive!)(sql),
  spark: spark!,
};
const LAYOUTS_AND_AGGREGATES = [
  ...WIDE_AGGREGATES.map((aggregate) => ['plain', aggregate, undefined] as const),
  ['plain', 'mean', 'fleet'] as const,
  ['delta', 'time-weighted', undefined] as const,
  ['delta', 'mean', 'fleet'] as const,
];
const NO_SQL = 'CREATE OR REPLACE VIEW x AS SELECT a FROM WHERE b = (';

describe.for(Object.keys(GRAMMARS) as DialectName[])('by the grammar of %s', (engine) => {
  const faults = GRAMMARS[engine]!;
  /** A parse costs much, and scripts differ in few of their statements: each is parsed once. */
  const parsed = new Set<string>();

  test.for(LAYOUTS_AND_AGGREGATES)(
    'of a %s lake, with wide by %s and schema %s, every statement is one',
    ([layout, aggregate, schema]) => {
      const statements = splitStatements(scriptOf(engine, layout, aggregate, schema));
      const others = statements.filter((sql) => !parsed.has(sql));
      expect(others.flatMap((sql) => faults(sql).map((fault) => ({ sql, fault })))).toEqual([]);
      for (const sql of others) parsed.add(sql);
      expect(statements.length).toBeGreaterThan(5);
    },
  );

  test('what is no SQL is refused', () => {
    expect(faults(NO_SQL)).not.toEqual([]);
  });
});

const open = sqlParsersForTests();

describe.skipIf(open === undefined)('by sqlglot', () => {
  const parsers = open?.();
  afterAll(() => parsers?.[Symbol.asyncDispose]());
  /** What it does not know: Fabric's files as a relation. */
  const withoutFiles = (sql: string) =>
    sql.replaceAll(/FROM OPENROWSET\([^)]*\) WITH \([\s\S]*?\n\) AS r/g, 'FROM files AS r');

  test.for(ENGINES.flatMap((engine) => SQLGLOT[engine].map((dialect) => [engine, dialect] as const)))(
    'for %s, as %s, every statement is one',
    async ([engine, dialect]) => {
      // A parse costs as much as all else: both layouts, and the longest of the aggregates.
      for (const [layout, aggregate, schema] of LAYOUTS_AND_AGGREGATES.slice(-3)) {
        const script = scriptOf(engine, layout, aggregate, schema);
        const { statements } = await parsers!.parse(dialect, withoutFiles(script));
        expect(statements).toBe(splitStatements(script).length);
      }
      await expect(parsers!.parse(dialect, NO_SQL)).rejects.toThrow('ParseError');
    },
  );
});

test('engines that were not run say so', () => {
  const saying = ENGINES.filter((engine) => scriptOf(engine, 'plain').startsWith('-- As documented'));
  expect(saying).toEqual(['athena', 'snowflake', 'bigquery', 'spark', 'trino', 'fabric']);
});
