import { backslashes, sql } from '../../../core/duckdb/sql-text.ts';
import * as views from '../dialect.ts';
import { receiptsOfTables, receiptTableColumns, trinoCommon } from './trino.ts';

/** Tables are made in the words of Hive, views in those of Trino. */
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
