import { backslashes, joinSql, sql } from '../../../core/duckdb/sql-text.ts';
import type { Dialect, SelectItem } from '../dialect.ts';
import { lines, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const text = backslashes('`', 'code points');
const { quote, literal } = text;
const types = {
  timestamp: sql`TIMESTAMP`,
  long: sql`BIGINT`,
  double: sql`DOUBLE`,
  text: sql`STRING`,
  series: sql`STRING`,
  date: sql`DATE`,
} as const;

export const spark: Dialect = {
  ...text,
  title: 'Spark and Databricks',
  notes: ({ layout }) => [
    sql`As documented: vessel-export's tests check the grammar of these statements, and do not run them.`,
    sql`Before: SET TIME ZONE 'UTC';`,
    ...(layout === 'plain'
      ? [sql`Again for new days: MSCK REPAIR TABLE; for replaced ones: REFRESH TABLE.`]
      : []),
  ],
  urlFault: (url) =>
    /^[a-z0-9]+:\/\//.test(url) || url.startsWith('/') ? undefined : 'a folder or s3://bucket/prefix',
  types,
  long: (value) => sql`${value}L`,
  position: (of, marker) => sql`instr(${of}, ${marker})`,
  from: (of, place) => sql`substr(${of}, ${place})`,
  first: (of, length) => sql`substr(${of}, 1, ${length})`,
  json: (of, path) =>
    sql`get_json_object(${of}, ${literal(`$${path.map((name) => `['${name}']`).join('')}`)})`,
  micros: (instant) => sql`unix_micros(${instant})`,
  instant: (micros) => sql`timestamp_micros(${micros})`,
  remainder: (dividend, divisor) => sql`${dividend} % ${divisor}`,
  days: (from, to) => sql`datediff(${to}, ${from})`,
  afterJoin: sql``,
  createView: sql`CREATE OR REPLACE VIEW`,
  source: (lake, { job, relation: name, columns }) => {
    const table = relation(spark, lake, name);
    const location = sql`LOCATION ${literal(`${lake.url}/${job}/`)}`;
    if (lake.layout === 'delta') return [sql`CREATE TABLE IF NOT EXISTS ${table} USING DELTA ${location}`];
    const typed = lines([
      ...columns.map((column) => sql`  ${quote(column.name)} ${types[column.type]}`),
      sql`  ${quote('vessel')} STRING`,
      sql`  ${quote('date')} DATE`,
    ]);
    return [
      sql`CREATE TABLE IF NOT EXISTS ${table} (\n${typed}\n)\nUSING PARQUET\nPARTITIONED BY (${quote('vessel')}, ${quote('date')})\n${location}`,
      sql`MSCK REPAIR TABLE ${table}`,
    ];
  },
  receipts: (lake) => {
    const table = relation(spark, lake, 'receipt_files');
    const columns = RECEIPT_COLUMNS.map(({ path: [member, inner], type }) => {
      const own = types[type];
      return sql`  ${quote(member)} ${inner === undefined ? own : sql`STRUCT<${quote(inner)}: ${own}>`}`;
    });
    const items = RECEIPT_COLUMNS.map(
      ({ name, path }): SelectItem => [joinSql(path.map(quote), sql`.`), name],
    );
    return [
      sql`CREATE TABLE IF NOT EXISTS ${table} (\n${lines(columns)}\n)\nUSING JSON\nOPTIONS (path ${literal(`${lake.url}/_ledger/*/*/*.json`)})`,
      sql`${spark.createView} ${relation(spark, lake, 'receipts')} AS\nSELECT\n${selectList(spark, items)}\nFROM ${table}\nWHERE ${quote('job')} IS NOT NULL`,
    ];
  },
};
