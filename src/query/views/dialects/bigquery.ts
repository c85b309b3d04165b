import { backslashes, joinSql, sql } from '../../../core/duckdb/sql-text.ts';
import type { Dialect, SelectItem } from '../dialect.ts';
import { jsonPath, lines, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const text = backslashes('`', 'code points');
const { quote, literal } = text;
const types = {
  timestamp: sql`TIMESTAMP`,
  long: sql`INT64`,
  double: sql`FLOAT64`,
  text: sql`STRING`,
  series: sql`STRING`,
  date: sql`DATE`,
} as const;

const CONNECTION = sql`\`us.vessels\``;

export const bigquery: Dialect = {
  ...text,
  title: 'BigQuery',
  notes: ({ layout }) => [
    sql`As documented: vessel-export's tests check the grammar of these statements, and do not run them.`,
    sql`Of a lake, or a copy of one, on Cloud Storage. Before: CREATE SCHEMA vessels;`,
    ...(layout === 'delta' ? [sql`and a connection ${CONNECTION} that may read the bucket.`] : []),
  ],
  urlFault: (url) => (/^gs:\/\//.test(url) ? undefined : 'gs://bucket/prefix'),
  types,
  long: (value) => sql`${value}`,
  position: (of, marker) => sql`STRPOS(${of}, ${marker})`,
  from: (of, place) => sql`SUBSTR(${of}, ${place})`,
  first: (of, length) => sql`SUBSTR(${of}, 1, ${length})`,
  json: (of, path) => sql`JSON_VALUE(${of}, ${literal(jsonPath(path))})`,
  micros: (instant) => sql`UNIX_MICROS(${instant})`,
  instant: (micros) => sql`TIMESTAMP_MICROS(${micros})`,
  remainder: (dividend, divisor) => sql`MOD(${dividend}, ${divisor})`,
  days: (from, to) => sql`DATE_DIFF(${to}, ${from}, DAY)`,
  afterJoin: sql``,
  defaultSchema: 'vessels',
  createView: sql`CREATE OR REPLACE VIEW`,
  source: (lake, { job, relation: name, columns }) => {
    const table = relation(bigquery, lake, name);
    const folder = `${lake.url}/${job}`;
    if (lake.layout === 'delta')
      return [
        sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${table}\nWITH CONNECTION ${CONNECTION}\nOPTIONS (format = 'DELTA_LAKE', uris = [${literal(folder)}])`,
      ];
    const typed = columns.map((column) => sql`  ${quote(column.name)} ${types[column.type]}`);
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${lines(typed)}\n)\nWITH PARTITION COLUMNS (${quote('vessel')} STRING, ${quote('date')} DATE)\nOPTIONS (format = 'PARQUET', uris = [${literal(`${folder}/*`)}], hive_partition_uri_prefix = ${literal(folder)})`,
    ];
  },
  receipts: (lake) => {
    const table = relation(bigquery, lake, 'receipt_files');
    const columns = RECEIPT_COLUMNS.map(({ path: [member, inner], type }) => {
      const own = types[type];
      return sql`  ${quote(member)} ${inner === undefined ? own : sql`STRUCT<${quote(inner)} ${own}>`}`;
    });
    const items = RECEIPT_COLUMNS.map(
      ({ name, path }): SelectItem => [joinSql(path.map(quote), sql`.`), name],
    );
    const uris = joinSql(
      lake.receiptJobs.map((job) => literal(`${lake.url}/_ledger/${job}/*`)),
      sql`, `,
    );
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${lines(columns)}\n)\nOPTIONS (format = 'NEWLINE_DELIMITED_JSON', ignore_unknown_values = TRUE, max_bad_records = 1000, uris = [${uris}])`,
      sql`${bigquery.createView} ${relation(bigquery, lake, 'receipts')} AS\nSELECT\n${selectList(bigquery, items)}\nFROM ${table}`,
    ];
  },
};
