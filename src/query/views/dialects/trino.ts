import { backslashes, doubledQuotes, joinSql, type Sql, sql } from '../../../core/duckdb/sql-text.ts';
import { columnNames } from '../column-names.ts';
import * as views from '../dialect.ts';

const text = doubledQuotes('"', (hex) => sql`from_utf8(from_hex('${hex}'))`);
const { quote, literal } = text;

/** What Trino and Athena, which is made of it, have in common. */
const trinoCommon = {
  ...text,
  urlFault: (url: string) => (/^s3a?:\/\//.test(url) ? undefined : 's3://bucket/prefix'),
  position: (of: Sql, marker: Sql) => sql`strpos(${of}, ${marker})`,
  json: (of: Sql, path: readonly string[]) =>
    sql`json_extract_scalar(${of}, ${literal(`$${path.map((name) => `["${name}"]`).join('')}`)})`,
  // Whole microseconds of a double: rounded, they are exact until the year 2200.
  micros: (instant: Sql) => sql`CAST(round(to_unixtime(${instant}) * 1000000) AS bigint)`,
  instant: (micros: Sql) =>
    sql`CAST(from_unixtime(CAST(${micros} AS double) / 1000000) AT TIME ZONE 'UTC' AS timestamp)`,
  days: (from: Sql, to: Sql) => sql`date_diff('day', ${from}, ${to})`,
} as const;

/** `receipts` of one table per job, whose texts become what they are; instants by the function `parse`. */
function receiptsOfTables(
  d: views.Dialect,
  lake: views.ViewedLake,
  tables: readonly string[],
  parse: Sql,
): Sql {
  const items = views.RECEIPT_COLUMNS.map(({ name, path, type }): views.SelectItem => {
    const members = path.map((member) => quote(member.toLowerCase()));
    const at = joinSql(members, sql`.`);
    const instant = sql`CAST(${parse}(${at}) AT TIME ZONE 'UTC' AS ${d.types.timestamp})`;
    return [type === 'timestamp' ? instant : type === 'date' ? sql`CAST(${at} AS date)` : at, name];
  });
  const queries = tables.map(
    (table) =>
      sql`SELECT\n${views.selectList(d, items)}\nFROM ${views.relation(d, lake, table)}\nWHERE ${quote('job')} IS NOT NULL`,
  );
  return sql`${d.createView} ${views.relation(d, lake, 'receipts')} AS\n${joinSql(queries, sql`\nUNION ALL\n`)}`;
}

/** Members of a receipt as columns, dates and instants as text. */
function receiptTableColumns(
  { quote: name, types }: Pick<views.Dialect, 'quote' | 'types'>,
  struct: (member: Sql, type: Sql) => Sql,
): { readonly name: string; readonly column: Sql }[] {
  return views.RECEIPT_COLUMNS.map(({ path: [member, inner], type }) => {
    const own = type === 'long' ? types.long : types.text;
    const kind = inner === undefined ? own : struct(name(inner.toLowerCase()), own);
    return { name: member, column: sql`  ${name(member.toLowerCase())} ${kind}` };
  });
}

export const trino = views.dialectOf({
  ...trinoCommon,
  title: 'Trino',
  notes: ({ layout }) => [
    views.AS_DOCUMENTED,
    layout === 'plain'
      ? sql`For a catalog with the Hive connector: USE hive.vessels; again for new days: the CALLs.`
      : sql`For a catalog with the Delta Lake connector, and a Hive one for the receipts: USE delta.vessels;`,
  ],
  types: views.typesOf(sql`timestamp(6)`, sql`bigint`, sql`double`, sql`varchar`, sql`date`),
  source: (lake, source) => (lake.layout === 'plain' ? hiveTable(lake, source) : deltaTable(lake, source)),
  receipts: (lake) => [
    ...[...receiptTables(lake)].flatMap(([job, table]) => {
      const columns = receiptTableColumns(trino, (member, type) => sql`row(${member} ${type})`);
      const others = columns.filter(({ name }) => name !== 'date').map(({ column }) => column);
      const typed = views.lines([...others, sql`  "date" varchar`]);
      const location = literal(`${lake.url}/_ledger/${job}/`);
      return [
        sql`CREATE TABLE IF NOT EXISTS ${views.relation(trino, lake, table)} (\n${typed}\n) WITH (external_location = ${location}, format = 'JSON', partitioned_by = ARRAY['date'])`,
        syncPartitions(lake, table),
      ];
    }),
    receiptsOfTables(trino, lake, [...receiptTables(lake).values()], sql`from_iso8601_timestamp_nanos`),
  ],
  commentOn: views.commentOnColumn(text),
});

function receiptTables({ receiptJobs, sources }: views.ViewedLake): ReadonlyMap<string, string> {
  const taken = sources.map((source) => source.relation);
  const wanted = (job: string) => `receipts_of_${job.replaceAll('-', '_')}`;
  return columnNames(receiptJobs, taken, { wanted, maxChars: 100 });
}

const schemaOf = ({ schema }: views.ViewedLake) => literal(schema ?? 'vessels');

function syncPartitions(lake: views.ViewedLake, table: string): Sql {
  return sql`CALL system.sync_partition_metadata(${schemaOf(lake)}, ${literal(table)}, 'FULL')`;
}

function hiveTable(lake: views.ViewedLake, { job, relation: name, columns }: views.Source): Sql[] {
  const typed = views.lines([
    ...views.typedColumns(trino, columns),
    sql`  "vessel" varchar`,
    sql`  "date" date`,
  ]);
  return [
    sql`CREATE TABLE IF NOT EXISTS ${views.relation(trino, lake, name)} (\n${typed}\n) WITH (external_location = ${literal(`${lake.url}/${job}/`)}, format = 'PARQUET', partitioned_by = ARRAY['vessel', 'date'])`,
    syncPartitions(lake, name),
  ];
}

function deltaTable(lake: views.ViewedLake, { job, relation: name }: views.Source): Sql[] {
  const location = literal(`${lake.url}/${job}/`);
  return [
    sql`CALL system.register_table(schema_name => ${schemaOf(lake)}, table_name => ${literal(name)}, table_location => ${location})`,
  ];
}

const hive = {
  ...backslashes('`', 'code points'),
  types: views.typesOf(sql`timestamp`, sql`bigint`, sql`double`, sql`string`, sql`date`),
};
const RECEIPTS = 'receipt_files';

const hiveName = (schema: string | undefined, name: string) =>
  schema === undefined ? hive.quote(name) : sql`${hive.quote(schema)}.${hive.quote(name)}`;

export const athena = views.dialectOf({
  ...trinoCommon,
  title: 'Amazon Athena',
  notes: ({ layout }) => [
    views.AS_DOCUMENTED,
    sql`Athena takes one statement at a time.`,
    ...(layout === 'plain' ? [sql`Again for new days: MSCK REPAIR TABLE.`] : []),
  ],
  types: views.typesOf(sql`timestamp`, sql`bigint`, sql`double`, sql`varchar`, sql`date`),
  source: (lake, { job, relation, columns }) => {
    const name = hiveName(lake.schema, relation);
    const create = sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${name}`;
    const location = sql`LOCATION ${hive.literal(`${lake.url}/${job}/`)}`;
    if (lake.layout === 'delta') return [sql`${create}\n${location}\nTBLPROPERTIES ('table_type' = 'DELTA')`];
    const [vessel, date] = ['vessel', 'date'].map(hive.quote);
    return [
      sql`${create} (\n${views.lines(views.typedColumns(hive, columns))}\n)\nPARTITIONED BY (${vessel!} string, ${date!} date)\nSTORED AS PARQUET\n${location}`,
      sql`MSCK REPAIR TABLE ${name}`,
    ];
  },
  receipts: (lake) => {
    const columns = receiptTableColumns(hive, (member, type) => sql`struct<${member}:${type}>`);
    const location = hive.literal(`${lake.url}/_ledger/`);
    const instant = sql`from_iso8601_timestamp`;
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${hiveName(lake.schema, RECEIPTS)} (\n${views.lines(columns.map(({ column }) => column))}\n)\nROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'\nWITH SERDEPROPERTIES ('ignore.malformed.json' = 'true')\nLOCATION ${location}`,
      receiptsOfTables(athena, lake, [RECEIPTS], instant),
    ];
  },
});
