import { backslashes, joinSql, sql } from '../../../core/duckdb/sql-text.ts';
import * as views from '../dialect.ts';

const text = backslashes('`', 'code points');
const { quote, literal } = text;
const types = views.typesOf(sql`TIMESTAMP`, sql`INT64`, sql`FLOAT64`, sql`STRING`, sql`DATE`);

const CONNECTION = sql`\`us.vessels\``;

export const bigquery = views.dialectOf({
  ...text,
  title: 'BigQuery',
  notes: ({ layout }) => [
    views.AS_DOCUMENTED,
    sql`Of a lake, or a copy of one, on Cloud Storage. Before: CREATE SCHEMA vessels;`,
    ...(layout === 'delta' ? [sql`and a connection ${CONNECTION} that may read the bucket.`] : []),
  ],
  urlFault: (url) => (/^gs:\/\//.test(url) ? undefined : 'gs://bucket/prefix'),
  types,
  position: (of, marker) => sql`STRPOS(${of}, ${marker})`,
  json: (of, path) => sql`JSON_VALUE(${of}, ${literal(views.jsonPath(path))})`,
  micros: (instant) => sql`UNIX_MICROS(${instant})`,
  instant: (micros) => sql`TIMESTAMP_MICROS(${micros})`,
  remainder: (dividend, divisor) => sql`MOD(${dividend}, ${divisor})`,
  days: (from, to) => sql`DATE_DIFF(${to}, ${from}, DAY)`,
  defaultSchema: 'vessels',
  source: (lake, { job, relation: name, columns }) => {
    const table = views.relation(bigquery, lake, name);
    const folder = `${lake.url}/${job}`;
    if (lake.layout === 'delta')
      return [
        sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${table}\nWITH CONNECTION ${CONNECTION}\nOPTIONS (format = 'DELTA_LAKE', uris = [${literal(folder)}])`,
      ];
    const typed = views.typedColumns(bigquery, columns);
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${views.lines(typed)}\n)\nWITH PARTITION COLUMNS (${quote('vessel')} STRING, ${quote('date')} DATE)\nOPTIONS (format = 'PARQUET', uris = [${literal(`${folder}/*`)}], hive_partition_uri_prefix = ${literal(folder)})`,
    ];
  },
  receipts: (lake) => {
    const table = views.relation(bigquery, lake, 'receipt_files');
    const columns = views.receiptMemberTypes(bigquery, (inner, type) => sql`STRUCT<${inner} ${type}>`);
    const uris = joinSql(lake.receiptJobs.map((job) => literal(`${lake.url}/_ledger/${job}/*`)));
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${views.lines(columns)}\n)\nOPTIONS (format = 'NEWLINE_DELIMITED_JSON', ignore_unknown_values = TRUE, max_bad_records = 1000, uris = [${uris}])`,
      views.createView(bigquery, lake, 'receipts', views.receiptMembers(bigquery), table),
    ];
  },
});
