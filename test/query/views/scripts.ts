/** What is printed for a lake that is nowhere, for whoever reads it. */
import type { Sql } from '../../../src/core/duckdb/sql-text.ts';
import type { Layout } from '../../../src/core/model/index.ts';
import {
  MEASUREMENT_COLUMNS,
  METADATA_COLUMNS,
  statisticsColumns,
} from '../../../src/parquet/write/columns.ts';
import type { ViewedLake } from '../../../src/query/views/dialect.ts';
import { DIALECTS, type DialectName } from '../../../src/query/views/dialects/index.ts';
import { viewedDomains } from '../../../src/query/views/series.ts';
import { viewScript } from '../../../src/query/views/views.ts';
import type { WideAggregate, WideOptions } from '../../../src/query/views/wide.ts';
import { chooseColumns, type NamedSeries } from '../../../src/query/views/wide-columns.ts';

export const LOCATIONS: Readonly<Record<DialectName, string>> = {
  duckdb: '/data/lake',
  clickhouse: 's3://bucket/vessels',
  athena: 's3://bucket/vessels',
  trino: 's3://bucket/vessels',
  spark: 's3://bucket/vessels',
  snowflake: 's3://bucket/vessels',
  bigquery: 'gs://bucket/vessels',
  fabric: 'https://onelake.dfs.fabric.microsoft.com/work/lake/Files/vessels',
};
export const ENGINES = Object.keys(DIALECTS) as DialectName[];
/** sqlglot's names of the dialects. */
export const SQLGLOT: Readonly<Record<DialectName, readonly string[]>> = {
  ...{ duckdb: ['duckdb'], clickhouse: ['clickhouse'], athena: ['athena'], trino: ['trino'] },
  ...{ spark: ['spark', 'databricks'], snowflake: ['snowflake'], bigquery: ['bigquery'] },
  fabric: ['fabric', 'tsql'],
};

/** Names that people give, and that somebody might. */
const TAGS = ['Shaft Power', 'Captain\'s \\ "speed" `x` [y] {{ z }} -- ; /*', 'Temp. Ä'];
const DOMAINS = ['raalabs', 'vis-3-4a', 'id', "it's", 'x.y:z'];

export function lakeOf(
  engine: DialectName,
  layout: Layout,
  schema?: string,
  domains: readonly string[] = DOMAINS,
): ViewedLake {
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
    domains: viewedDomains(domains),
    schema: schema ?? DIALECTS[engine].defaultSchema,
  };
}

export function wideOf(series: readonly NamedSeries[], aggregate: WideAggregate = 'mean'): WideOptions {
  const { columns } = chooseColumns(series, 'all');
  return { columns, windowMicros: 600_000_000, aggregate, holdMicros: 3_600_000_000 * 24 };
}

export function scriptOf(
  engine: DialectName,
  layout: Layout,
  aggregate: WideAggregate = 'mean',
  schema?: string,
): Sql {
  const series = TAGS.map((tag, index) => ({
    ...{ vessel: 'IMO9321483', timeSeriesId: `id-${index}` },
    ...{ tag, unit: 'kW' },
  }));
  const wide = wideOf([...series, { ...series[0]!, timeSeriesId: 'id-9' }], aggregate);
  return viewScript(DIALECTS[engine], lakeOf(engine, layout, schema), wide);
}
