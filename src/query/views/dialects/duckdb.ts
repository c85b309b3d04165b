import { duckdbText, joinSql, type Sql, sql } from '../../../core/duckdb/sql-text.ts';
import type { Dataset } from '../../../core/model/index.ts';
import * as views from '../dialect.ts';

const { quote, literal } = duckdbText;
const types = views.typesOf(sql`TIMESTAMPTZ`, sql`BIGINT`, sql`DOUBLE`, sql`VARCHAR`, sql`DATE`);

// A struct in braces would be a template's to dbt.
const HIVE = sql`hive_partitioning = true, hive_types = struct_pack(vessel := 'VARCHAR', date := 'DATE')`;

/** Paths of objects as what stands before them is a pattern. */
function pattern(url: string): string {
  return url.replace(/[[*?]/g, '[$&]');
}

/** Columns of a job, of a relation that has them, or, of statistics, lacks some: those are null. */
export function duckdbColumns(
  { dataset, columns }: Pick<views.Source, 'dataset' | 'columns'>,
  from: Sql,
): Sql {
  const names = ['vessel', 'date', ...columns.map(({ name }) => name)];
  const select = sql`SELECT ${joinSql(names.map(quote))}\nFROM`;
  if (dataset !== 'statistics') return sql`${select} ${from}`;
  // The job's aggregations may have changed since its days were exported.
  const typed = columns.map(({ name, type }) => sql`CAST(NULL AS ${types[type]}) AS ${quote(name)}`);
  return sql`${select} (\n  SELECT * FROM ${from}\n  UNION ALL BY NAME\n  SELECT ${joinSql(typed)} WHERE false\n)`;
}

/** The objects of a job: a pattern, or the paths themselves. */
export function duckdbObjects(paths: string | readonly string[], dataset: Dataset): Sql {
  const given = typeof paths === 'string' ? literal(paths) : sql`[${joinSql(paths.map(literal))}]`;
  // Other aggregations are other columns; to look for them, DuckDB opens every file.
  const union = dataset === 'statistics' ? sql`, union_by_name = true` : sql``;
  return sql`read_parquet(${given}, ${HIVE}${union})`;
}

/** A job's rows: of its objects, or as its table's log says, which takes the extension. */
export function jobRows({ url, layout }: views.ViewedLake, job: string, dataset: Dataset): Sql {
  if (layout === 'delta') return sql`delta_scan(${literal(`${url}/${job}`)})`;
  return duckdbObjects(`${pattern(url)}/${job}/*/*/*.parquet`, dataset);
}

/** The receipts that stand in a file, one a line. */
export function duckdbReceiptLines(file: Sql): Sql {
  const members = new Map<string, Sql>();
  for (const { path, type } of views.RECEIPT_COLUMNS) {
    const [name, inner] = path;
    members.set(name, inner === undefined ? types[type] : sql`STRUCT(${quote(inner)} ${types[type]})`);
  }
  const columns = [...members].map(([name, type]) => sql`${literal(name)}: ${literal(type)}`);
  return sql`SELECT\n${views.selectList(duckdb, views.receiptMembers(duckdb))}\nFROM read_json(${file}, format = 'newline_delimited', hive_partitioning = false, columns = {${joinSql(columns)}})`;
}

/** The receipts that patterns find. One that cannot be read would fail them all: it is left out. */
function duckdbReceipts(patterns: readonly string[]): Sql {
  const json = sql`json`;
  const items = views.RECEIPT_COLUMNS.map(({ name, path, type }): views.SelectItem => {
    const text = duckdb.json(json, path);
    return [type === 'text' ? text : sql`TRY_CAST(${text} AS ${types[type]})`, name];
  });
  const version = duckdb.json(json, ['receiptVersion']);
  return sql`SELECT\n${views.selectList(duckdb, items)}\nFROM (\n  SELECT TRY(decode(content)) AS json FROM read_blob([${joinSql(patterns.map(literal))}])\n)\nWHERE json_valid(json) AND ${version} = '1'`;
}

export const duckdb = views.dialectOf({
  ...duckdbText,
  title: 'DuckDB',
  notes: ({ url, layout }) => [
    sql`For DuckDB 1.3 or newer. The tests of vessel-export run these views.`,
    ...(layout === 'delta'
      ? [sql`Before: INSTALL delta; LOAD delta; (the tests put lists of files in the place of delta_scan)`]
      : []),
    ...(url.startsWith('s3:')
      ? [sql`Before: INSTALL httpfs; LOAD httpfs; CREATE SECRET (TYPE s3, PROVIDER credential_chain);`]
      : []),
    ...(/^(az|abfss):/.test(url)
      ? [
          sql`Before: INSTALL azure; LOAD azure; CREATE SECRET (TYPE azure, PROVIDER credential_chain, ACCOUNT_NAME 'the account');`,
        ]
      : []),
  ],
  urlFault: (url) =>
    /^(\/|[A-Za-z]:|(s3|gs|az|abfss|https):\/\/)/.test(url)
      ? undefined
      : 'a folder, s3://, gs://, az://, abfss:// or https://',
  types,
  position: (of, marker) => sql`strpos(${of}, ${marker})`,
  json: (of, path) => sql`json_extract_string(${of}, ${literal(views.jsonPath(path))})`,
  micros: (instant) => sql`epoch_us(${instant})`,
  instant: (micros) => sql`make_timestamptz(${micros})`,
  days: (from, to) => sql`date_diff('day', ${from}, ${to})`,
  commentOn: views.commentOnColumn(duckdbText),
  source: (lake, source) => [
    sql`${duckdb.createView} ${views.relation(duckdb, lake, source.relation)} AS\n${duckdbColumns(source, jobRows(lake, source.job, source.dataset))}`,
  ],
  receipts: (lake) => [
    sql`${duckdb.createView} ${views.relation(duckdb, lake, 'receipts')} AS\n${duckdbReceipts(lake.receiptJobs.map((job) => `${pattern(lake.url)}/_ledger/${job}/*/*.json`))}`,
  ],
});
