import { bigquery } from './bigquery.ts';
import { clickhouse } from './clickhouse.ts';
import { duckdb } from './duckdb.ts';
import { fabric } from './fabric.ts';
import { snowflake } from './snowflake.ts';
import { spark } from './spark.ts';
import { athena, trino } from './trino.ts';

export const DIALECTS = { duckdb, athena, snowflake, bigquery, spark, trino, clickhouse, fabric };
export type DialectName = keyof typeof DIALECTS;
