import type { Sql } from '../../../core/duckdb/sql-text.ts';
import { doubledQuotes, joinSql, sql } from '../../../core/duckdb/sql-text.ts';
import { columnNames } from '../column-names.ts';
import type { Dialect, SelectItem, Source, ViewedLake } from '../dialect.ts';
import { lines, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const text = doubledQuotes('"', (hex) => sql`from_utf8(from_hex('${hex}'))`);
const { quote, literal } = text;
export const trinoTypes = {
  timestamp: sql`timestamp(6)`,
  long: sql`bigint`,
  double: sql`double`,
  text: sql`varchar`,
  series: sql`varchar`,
  date: sql`date`,
} as const;

const S3 = (url: string) => (/^s3a?:\/\//.test(url) ? undefined : 's3://bucket/prefix');

/** What Trino and Athena, which is made of it, have in common. */
export const trinoCommon = {
  ...text,
  urlFault: S3,
  long: (value: number) => sql`${value}`,
  position: (of: Sql, marker: Sql) => sql`strpos(${of}, ${marker})`,
  from: (of: Sql, place: Sql) => sql`substr(${of}, ${place})`,
  first: (of: Sql, length: Sql) => sql`substr(${of}, 1, ${length})`,
  json: (of: Sql, path: readonly string[]) =>
    sql`json_extract_scalar(${of}, ${literal(`$${path.map((name) => `["${name}"]`).join('')}`)})`,
  // Whole microseconds of a double: rounded, they are exact until the year 2200.
  micros: (instant: Sql) => sql`CAST(round(to_unixtime(${instant}) * 1000000) AS bigint)`,
  instant: (micros: Sql) =>
    sql`CAST(from_unixtime(CAST(${micros} AS double) / 1000000) AT TIME ZONE 'UTC' AS timestamp)`,
  remainder: (dividend: Sql, divisor: Sql) => sql`${dividend} % ${divisor}`,
  days: (from: Sql, to: Sql) => sql`date_diff('day', ${from}, ${to})`,
  afterJoin: sql``,
  createView: sql`CREATE OR REPLACE VIEW`,
} as const;

/** `receipts` of one table per job, whose texts become what they are. */
export function receiptsOfTables(
  d: Dialect,
  lake: ViewedLake,
  tables: readonly string[],
  instant: (text: Sql) => Sql,
): Sql {
  const items = RECEIPT_COLUMNS.map(({ name, path, type }): SelectItem => {
    const at = joinSql(
      path.map((member) => quote(member.toLowerCase())),
      sql`.`,
    );
    return [type === 'timestamp' ? instant(at) : type === 'date' ? sql`CAST(${at} AS date)` : at, name];
  });
  const queries = tables.map(
    (table) =>
      sql`SELECT\n${selectList(d, items)}\nFROM ${relation(d, lake, table)}\nWHERE ${quote('job')} IS NOT NULL`,
  );
  return sql`${d.createView} ${relation(d, lake, 'receipts')} AS\n${joinSql(queries, sql`\nUNION ALL\n`)}`;
}

/** Members of a receipt as columns, dates and instants as text. */
export function receiptTableColumns(
  types: Readonly<Record<'text' | 'long', Sql>>,
  name: (member: string) => Sql,
  struct: (member: Sql, type: Sql) => Sql,
): { readonly name: string; readonly column: Sql }[] {
  return RECEIPT_COLUMNS.map(({ path: [member, inner], type }) => {
    const own = type === 'long' ? types.long : types.text;
    const kind = inner === undefined ? own : struct(name(inner.toLowerCase()), own);
    return { name: member, column: sql`  ${name(member.toLowerCase())} ${kind}` };
  });
}

export const trino: Dialect = {
  ...trinoCommon,
  title: 'Trino',
  notes: ({ layout }) => [
    sql`As documented: vessel-export's tests check the grammar of these statements, and do not run them.`,
    layout === 'plain'
      ? sql`For a catalog with the Hive connector: USE hive.vessels; again for new days: the CALLs.`
      : sql`For a catalog with the Delta Lake connector, and a Hive one for the receipts: USE delta.vessels;`,
  ],
  types: trinoTypes,
  source: (lake, source) => (lake.layout === 'plain' ? hiveTable(lake, source) : deltaTable(lake, source)),
  receipts: (lake) => [
    ...[...receiptTables(lake)].flatMap(([job, table]) => {
      const columns = receiptTableColumns(
        { text: sql`varchar`, long: sql`bigint` },
        quote,
        (member, type) => sql`row(${member} ${type})`,
      ).filter(({ name }) => name !== 'date');
      const typed = lines([...columns.map(({ column }) => column), sql`  "date" varchar`]);
      const location = literal(`${lake.url}/_ledger/${job}/`);
      return [
        sql`CREATE TABLE IF NOT EXISTS ${relation(trino, lake, table)} (\n${typed}\n) WITH (external_location = ${location}, format = 'JSON', partitioned_by = ARRAY['date'])`,
        syncPartitions(lake, table),
      ];
    }),
    receiptsOfTables(
      trino,
      lake,
      [...receiptTables(lake).values()],
      (at) => sql`CAST(from_iso8601_timestamp_nanos(${at}) AT TIME ZONE 'UTC' AS timestamp(6))`,
    ),
  ],
  commentOn: (view, column, said) => sql`COMMENT ON COLUMN ${view}.${quote(column)} IS ${literal(said)}`,
};

/** By job. */
function receiptTables({ receiptJobs, sources }: ViewedLake): ReadonlyMap<string, string> {
  const taken = sources.map((source) => source.relation);
  const wanted = (job: string) => `receipts_of_${job.replaceAll('-', '_')}`;
  return columnNames(receiptJobs, taken, { wanted, maxChars: 100 });
}

const schemaOf = ({ schema }: ViewedLake) => literal(schema ?? 'vessels');

function syncPartitions(lake: ViewedLake, table: string): Sql {
  return sql`CALL system.sync_partition_metadata(${schemaOf(lake)}, ${literal(table)}, 'FULL')`;
}

function hiveTable(lake: ViewedLake, { job, relation: name, columns }: Source): Sql[] {
  const typed = lines([
    ...columns.map((column) => sql`  ${quote(column.name)} ${trinoTypes[column.type]}`),
    sql`  "vessel" varchar`,
    sql`  "date" date`,
  ]);
  return [
    sql`CREATE TABLE IF NOT EXISTS ${relation(trino, lake, name)} (\n${typed}\n) WITH (external_location = ${literal(`${lake.url}/${job}/`)}, format = 'PARQUET', partitioned_by = ARRAY['vessel', 'date'])`,
    syncPartitions(lake, name),
  ];
}

function deltaTable(lake: ViewedLake, { job, relation: name }: Source): Sql[] {
  const location = literal(`${lake.url}/${job}/`);
  return [
    sql`CALL system.register_table(schema_name => ${schemaOf(lake)}, table_name => ${literal(name)}, table_location => ${location})`,
  ];
}
