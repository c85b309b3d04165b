/**
 * The engines that cannot be run here: a parser of each one's dialect reads what is printed for it. Trino's and Spark's are
 * the engines' own grammars, Athena's are Hive's for tables and Trino's for views; BigQuery's is a strict one; those of
 * Snowflake and Fabric are sqlglot's kin, which take more than the engines do.
 */
import { parse as parseLoosely, Dialect as Sqlglot } from '@polyglot-sql/sdk';
import { HiveSQL, SparkSQL, TrinoSQL } from 'dt-sql-parser';
import { parse as parseBigQuery } from 'sql-parser-cst';
import { describe, expect, test } from 'vitest';
import { splitStatements } from '../../src/commands/sql-prompt.ts';
import { MEASUREMENT_COLUMNS, METADATA_COLUMNS, statisticsColumns } from '../../src/encode/columns.ts';
import type { Layout } from '../../src/model/index.ts';
import type { ViewedLake } from '../../src/views/dialect.ts';
import type { DialectName } from '../../src/views/dialects/index.ts';
import { DIALECTS } from '../../src/views/dialects/index.ts';
import { viewedDomains } from '../../src/views/series.ts';
import { viewScript } from '../../src/views/views.ts';
import { WIDE_AGGREGATES } from '../../src/views/wide.ts';
import { chooseColumns } from '../../src/views/wide-columns.ts';

const LOCATIONS: Readonly<Record<DialectName, string>> = {
  duckdb: '/data/lake',
  clickhouse: 's3://bucket/vessels',
  athena: 's3://bucket/vessels',
  trino: 's3://bucket/vessels',
  spark: 's3://bucket/vessels',
  snowflake: 's3://bucket/vessels',
  bigquery: 'gs://bucket/vessels',
  fabric: 'https://onelake.dfs.fabric.microsoft.com/work/lake/Files/vessels',
};
/** Names that people give, and that somebody might. */
const TAGS = ['Shaft Power', 'Captain\'s \\ "speed" `x` [y] {{ z }} -- ; /*', 'Temp. Ä'];

function lakeOf(engine: DialectName, layout: Layout, schema?: string): ViewedLake {
  const source = (
    dataset: 'metadata' | 'measurements' | 'statistics',
    columns: ViewedLake['sources'][number]['columns'],
  ) => ({
    ...{ job: `${dataset}-2`, dataset, relation: `${dataset}_2` },
    columns,
  });
  return {
    url: LOCATIONS[engine],
    layout,
    sources: [
      source('metadata', METADATA_COLUMNS),
      source('measurements', MEASUREMENT_COLUMNS),
      source('statistics', statisticsColumns(['mean', 'first_val', 'first_time', 'count'])),
    ],
    receiptJobs: ['measurements-2', 'metadata-2'],
    domains: viewedDomains(['raalabs', 'vis-3-4a', 'id', "it's", 'x.y:z']),
    schema: schema ?? DIALECTS[engine].defaultSchema,
  };
}

function scriptOf(
  engine: DialectName,
  layout: Layout,
  aggregate: (typeof WIDE_AGGREGATES)[number],
  schema?: string,
): string {
  const series = TAGS.map((tag, index) => ({
    vessel: 'IMO9321483',
    timeSeriesId: `id-${index}`,
    tag,
    unit: 'kW',
  }));
  const { columns } = chooseColumns([...series, { ...series[0]!, timeSeriesId: 'id-9' }], 'all');
  const wide = { columns, windowMicros: 600_000_000, aggregate, holdMicros: 3_600_000_000 * 24 };
  return viewScript(DIALECTS[engine], lakeOf(engine, layout, schema), wide);
}

const faultsOf = (parser: { validate(sql: string): { message: string }[] }) => (sql: string) =>
  parser.validate(`${sql};`).map(({ message }) => message);
const [hive, spark, trino] = [new HiveSQL(), new SparkSQL(), new TrinoSQL()].map(faultsOf) as ((
  sql: string,
) => string[])[];
const loosely = (dialect: Sqlglot) => (sql: string) => {
  const result = parseLoosely(sql, dialect);
  return result.success ? [] : [result.error ?? 'unread'];
};
const strictBigQuery = (sql: string) => {
  try {
    parseBigQuery(sql, { dialect: 'bigquery' });
    return [];
  } catch (error) {
    return [String(error)];
  }
};
const isView = (sql: string) => /CREATE OR REPLACE VIEW|^COMMENT/.test(sql);
/** What no parser knows: Fabric's files as a relation. */
const withoutFiles = (sql: string) =>
  sql.replace(/FROM OPENROWSET\([^)]*\) WITH \([\s\S]*?\n\) AS r/, 'FROM files AS r');

const PARSERS: Readonly<Record<DialectName, (sql: string) => string[]>> = {
  duckdb: loosely(Sqlglot.DuckDB),
  clickhouse: loosely(Sqlglot.ClickHouse),
  trino: trino!,
  athena: (sql) => (isView(sql) ? trino! : hive!)(sql),
  spark: spark!,
  bigquery: strictBigQuery,
  snowflake: loosely(Sqlglot.Snowflake),
  fabric: (sql) => loosely(Sqlglot.Fabric)(withoutFiles(sql)),
};

describe.for(Object.keys(DIALECTS) as DialectName[])('for %s', (engine) => {
  test.for(WIDE_AGGREGATES)('every statement is one, with wide by %s', (aggregate) => {
    for (const layout of ['plain', 'delta'] as const)
      for (const schema of [undefined, 'fleet']) {
        const statements = splitStatements(scriptOf(engine, layout, aggregate, schema));
        const wrong = statements.flatMap((sql) => PARSERS[engine](sql).map((fault) => ({ sql, fault })));
        expect(wrong).toEqual([]);
        expect(statements.length).toBeGreaterThan(5);
      }
  });

  test('its parser refuses what is no SQL', () => {
    expect(PARSERS[engine]('CREATE OR REPLACE VIEW x AS SELECT a FROM WHERE b = (')).not.toEqual([]);
  });
});

test('engines that were not run say so', () => {
  const saying = (Object.keys(DIALECTS) as DialectName[]).filter((engine) =>
    scriptOf(engine, 'plain', 'mean').startsWith('-- As documented'),
  );
  expect(saying).toEqual(['athena', 'snowflake', 'bigquery', 'spark', 'trino', 'fabric']);
});
