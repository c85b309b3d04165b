import type { Dialect, Source, ViewedLake } from '../dialect.ts';
import { quoteWith, relation, selectList, standardLiteral } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const quote = quoteWith('"');
export const trinoTypes = {
  timestamp: 'timestamp(6)',
  long: 'bigint',
  double: 'double',
  text: 'varchar',
  series: 'varchar',
  date: 'date',
} as const;

const S3 = (url: string) => (/^s3a?:\/\//.test(url) ? undefined : 's3://bucket/prefix');
const receiptTable = (job: string) => `receipts_of_${job.replaceAll('-', '_')}`;

/** What Trino and Athena, which is made of it, have in common. */
export const trinoCommon = {
  urlFault: S3,
  quote,
  literal: standardLiteral,
  long: String,
  position: (text: string, literal: string) => `strpos(${text}, ${literal})`,
  from: (text: string, place: string) => `substr(${text}, ${place})`,
  first: (text: string, length: string) => `substr(${text}, 1, ${length})`,
  json: (text: string, path: readonly string[]) =>
    `json_extract_scalar(${text}, ${standardLiteral(`$${path.map((name) => `["${name}"]`).join('')}`)})`,
  // Whole microseconds of a double: rounded, they are exact until the year 2200.
  micros: (instant: string) => `CAST(round(to_unixtime(${instant}) * 1000000) AS bigint)`,
  instant: (micros: string) =>
    `CAST(from_unixtime(CAST(${micros} AS double) / 1000000) AT TIME ZONE 'UTC' AS timestamp)`,
  remainder: (dividend: string, divisor: string) => `${dividend} % ${divisor}`,
  days: (from: string, to: string) => `date_diff('day', ${from}, ${to})`,
  afterJoin: '',
  createView: 'CREATE OR REPLACE VIEW',
} as const;

/** `receipts` of one table per job, whose texts become what they are. */
export function receiptsOfTables(
  d: Dialect,
  lake: ViewedLake,
  tables: readonly string[],
  instant: string,
): string {
  const items = RECEIPT_COLUMNS.map(({ name, path, type }): [string, string] => {
    const at = path.map((member) => quote(member.toLowerCase())).join('.');
    return [
      type === 'timestamp' ? instant.replace('{}', at) : type === 'date' ? `CAST(${at} AS date)` : at,
      name,
    ];
  });
  const query = (table: string) =>
    `SELECT\n${selectList(d, items)}\nFROM ${relation(d, lake, table)}\nWHERE ${quote('job')} IS NOT NULL`;
  return `${d.createView} ${relation(d, lake, 'receipts')} AS\n${tables.map(query).join('\nUNION ALL\n')}`;
}

/** Members of a receipt as columns, dates and instants as text. */
export function receiptTableColumns(
  name: (member: string) => string,
  typeOf: Readonly<Record<'text' | 'long', string>>,
  struct: (member: string, type: string) => string,
): string[] {
  return RECEIPT_COLUMNS.map(({ path: [member, inner], type }) => {
    const own = type === 'long' ? typeOf.long : typeOf.text;
    return `  ${name(member)} ${inner === undefined ? own : struct(inner, own)}`;
  });
}

export const trino: Dialect = {
  ...trinoCommon,
  title: 'Trino',
  notes: ({ layout }) => [
    "As documented: vessel-export's tests check the grammar of these statements, and do not run them.",
    layout === 'plain'
      ? 'For a catalog with the Hive connector: USE hive.vessels; again for new days: the CALLs.'
      : 'For a catalog with the Delta Lake connector, and a Hive one for the receipts: USE delta.vessels;',
  ],
  types: trinoTypes,
  source: (lake, source) => (lake.layout === 'plain' ? hiveTable(lake, source) : deltaTable(lake, source)),
  receipts: (lake) => [
    ...lake.receiptJobs.flatMap((job) => {
      const columns = receiptTableColumns(
        (member) => (member === 'date' ? '"date"' : quote(member.toLowerCase())),
        { text: 'varchar', long: 'bigint' },
        (member, type) => `row(${quote(member.toLowerCase())} ${type})`,
      ).filter((column) => !column.startsWith('  "date"'));
      const location = `${lake.url}/_ledger/${job}/`;
      return [
        `CREATE TABLE IF NOT EXISTS ${relation(trino, lake, receiptTable(job))} (\n${[...columns, '  "date" varchar'].join(',\n')}\n) WITH (external_location = ${standardLiteral(location)}, format = 'JSON', partitioned_by = ARRAY['date'])`,
        `CALL system.sync_partition_metadata(${[lake.schema ?? 'vessels', receiptTable(job), 'FULL'].map(standardLiteral).join(', ')})`,
      ];
    }),
    receiptsOfTables(
      trino,
      lake,
      lake.receiptJobs.map(receiptTable),
      "CAST(from_iso8601_timestamp_nanos({}) AT TIME ZONE 'UTC' AS timestamp(6))",
    ),
  ],
  commentOn: (view, column, text) => `COMMENT ON COLUMN ${view}.${quote(column)} IS ${standardLiteral(text)}`,
};

function hiveTable(lake: ViewedLake, { job, relation: name, columns }: Source): string[] {
  const typed = [
    ...columns.map((column) => `  ${quote(column.name)} ${trinoTypes[column.type]}`),
    '  "vessel" varchar',
    '  "date" date',
  ];
  return [
    `CREATE TABLE IF NOT EXISTS ${relation(trino, lake, name)} (\n${typed.join(',\n')}\n) WITH (external_location = ${standardLiteral(`${lake.url}/${job}/`)}, format = 'PARQUET', partitioned_by = ARRAY['vessel', 'date'])`,
    `CALL system.sync_partition_metadata(${[lake.schema ?? 'vessels', name, 'FULL'].map(standardLiteral).join(', ')})`,
  ];
}

function deltaTable(lake: ViewedLake, { job, relation: name }: Source): string[] {
  const [schema, table, location] = [lake.schema ?? 'vessels', name, `${lake.url}/${job}/`].map(
    standardLiteral,
  );
  return [
    `CALL system.register_table(schema_name => ${schema}, table_name => ${table}, table_location => ${location})`,
  ];
}
