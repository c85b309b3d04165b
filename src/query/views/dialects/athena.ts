import { backslashes, sql } from '../../../core/duckdb/sql-text.ts';
import type { Dialect } from '../dialect.ts';
import { lines } from '../dialect.ts';
import { receiptsOfTables, receiptTableColumns, trinoCommon, trinoTypes } from './trino.ts';

/** Tables are made in the words of Hive, views in those of Trino. */
const hive = backslashes('`', 'code points');
const types = { ...trinoTypes, timestamp: sql`timestamp` } as const;
const HIVE_TYPES = { ...types, text: sql`string`, series: sql`string` } as const;
const RECEIPTS = 'receipt_files';

const hiveName = (schema: string | undefined, name: string) =>
  schema === undefined ? hive.quote(name) : sql`${hive.quote(schema)}.${hive.quote(name)}`;

export const athena: Dialect = {
  ...trinoCommon,
  title: 'Amazon Athena',
  notes: ({ layout }) => [
    sql`As documented: vessel-export's tests check the grammar of these statements, and do not run them.`,
    sql`Athena takes one statement at a time.`,
    ...(layout === 'plain' ? [sql`Again for new days: MSCK REPAIR TABLE.`] : []),
  ],
  types,
  source: (lake, { job, relation, columns }) => {
    const name = hiveName(lake.schema, relation);
    const location = sql`LOCATION ${hive.literal(`${lake.url}/${job}/`)}`;
    if (lake.layout === 'delta')
      return [
        sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${name}\n${location}\nTBLPROPERTIES ('table_type' = 'DELTA')`,
      ];
    const typed = columns.map((column) => sql`  ${hive.quote(column.name)} ${HIVE_TYPES[column.type]}`);
    const [vessel, date] = ['vessel', 'date'].map(hive.quote);
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${name} (\n${lines(typed)}\n)\nPARTITIONED BY (${vessel!} string, ${date!} date)\nSTORED AS PARQUET\n${location}`,
      sql`MSCK REPAIR TABLE ${name}`,
    ];
  },
  receipts: (lake) => {
    const columns = receiptTableColumns(
      { text: sql`string`, long: sql`bigint` },
      hive.quote,
      (member, type) => sql`struct<${member}:${type}>`,
    ).map(({ column }) => column);
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${hiveName(lake.schema, RECEIPTS)} (\n${lines(columns)}\n)\nROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'\nWITH SERDEPROPERTIES ('ignore.malformed.json' = 'true')\nLOCATION ${hive.literal(`${lake.url}/_ledger/`)}`,
      receiptsOfTables(
        athena,
        lake,
        [RECEIPTS],
        (at) => sql`CAST(from_iso8601_timestamp(${at}) AT TIME ZONE 'UTC' AS timestamp)`,
      ),
    ];
  },
};
