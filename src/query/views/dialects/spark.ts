import { backslashes, sql } from '../../../core/duckdb/sql-text.ts';
import * as views from '../dialect.ts';

const text = backslashes('`', 'code points');
const { quote, literal } = text;
export const spark = views.dialectOf({
  ...text,
  title: 'Spark and Databricks',
  notes: ({ layout }) => [
    views.AS_DOCUMENTED,
    sql`Before: SET TIME ZONE 'UTC';`,
    ...(layout === 'plain'
      ? [sql`Again for new days: MSCK REPAIR TABLE; for replaced ones: REFRESH TABLE.`]
      : []),
  ],
  urlFault: (url) =>
    /^[a-z0-9]+:\/\//.test(url) || url.startsWith('/') ? undefined : 'a folder or s3://bucket/prefix',
  types: views.typesOf(sql`TIMESTAMP`, sql`BIGINT`, sql`DOUBLE`, sql`STRING`, sql`DATE`),
  long: (value) => sql`${value}L`,
  position: (of, marker) => sql`instr(${of}, ${marker})`,
  json: (of, path) =>
    sql`get_json_object(${of}, ${literal(`$${path.map((name) => `['${name}']`).join('')}`)})`,
  micros: (instant) => sql`unix_micros(${instant})`,
  instant: (micros) => sql`timestamp_micros(${micros})`,
  days: (from, to) => sql`datediff(${to}, ${from})`,
  source: (lake, { job, relation: name, columns }) => {
    const table = views.relation(spark, lake, name);
    const location = sql`LOCATION ${literal(`${lake.url}/${job}/`)}`;
    if (lake.layout === 'delta') return [sql`CREATE TABLE IF NOT EXISTS ${table} USING DELTA ${location}`];
    const typed = views.lines([
      ...views.typedColumns(spark, columns),
      sql`  ${quote('vessel')} STRING`,
      sql`  ${quote('date')} DATE`,
    ]);
    return [
      sql`CREATE TABLE IF NOT EXISTS ${table} (\n${typed}\n)\nUSING PARQUET\nPARTITIONED BY (${quote('vessel')}, ${quote('date')})\n${location}`,
      sql`MSCK REPAIR TABLE ${table}`,
    ];
  },
  receipts: (lake) => {
    const table = views.relation(spark, lake, 'receipt_files');
    const columns = views.receiptMemberTypes(spark, (inner, type) => sql`STRUCT<${inner}: ${type}>`);
    const receipts = sql`${table}\nWHERE ${quote('job')} IS NOT NULL`;
    return [
      sql`CREATE TABLE IF NOT EXISTS ${table} (\n${views.lines(columns)}\n)\nUSING JSON\nOPTIONS (path ${literal(`${lake.url}/_ledger/*/*/*.json`)})`,
      views.createView(spark, lake, 'receipts', views.receiptMembers(spark), receipts),
    ];
  },
});
