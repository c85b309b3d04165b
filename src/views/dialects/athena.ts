import type { Dialect } from '../dialect.ts';
import { quoteWith, standardLiteral } from '../dialect.ts';
import { receiptsOfTables, receiptTableColumns, trinoCommon, trinoTypes } from './trino.ts';

/** Tables are made in the words of Hive, views in those of Trino. */
const hive = quoteWith('`');
const types = { ...trinoTypes, timestamp: 'timestamp' } as const;
const HIVE_TYPES = { ...types, text: 'string', series: 'string' } as const;
const RECEIPTS = 'receipt_files';

export const athena: Dialect = {
  ...trinoCommon,
  title: 'Amazon Athena',
  notes: ({ layout }) => [
    "As documented: vessel-export's tests check the grammar of these statements, and do not run them.",
    'Athena takes one statement at a time.',
    ...(layout === 'plain' ? ['Again for new days: MSCK REPAIR TABLE.'] : []),
  ],
  types,
  source: (lake, { job, relation, columns }) => {
    const name = lake.schema === undefined ? hive(relation) : `${hive(lake.schema)}.${hive(relation)}`;
    const location = `LOCATION ${standardLiteral(`${lake.url}/${job}/`)}`;
    if (lake.layout === 'delta')
      return [
        `CREATE EXTERNAL TABLE IF NOT EXISTS ${name}\n${location}\nTBLPROPERTIES ('table_type' = 'DELTA')`,
      ];
    const typed = columns.map((column) => `  ${hive(column.name)} ${HIVE_TYPES[column.type]}`);
    return [
      `CREATE EXTERNAL TABLE IF NOT EXISTS ${name} (\n${typed.join(',\n')}\n)\nPARTITIONED BY (\`vessel\` string, \`date\` date)\nSTORED AS PARQUET\n${location}`,
      `MSCK REPAIR TABLE ${name}`,
    ];
  },
  receipts: (lake) => {
    const name = lake.schema === undefined ? hive(RECEIPTS) : `${hive(lake.schema)}.${hive(RECEIPTS)}`;
    const columns = receiptTableColumns(
      (member) => hive(member.toLowerCase()),
      { text: 'string', long: 'bigint' },
      (member, type) => `struct<${hive(member.toLowerCase())}:${type}>`,
    );
    return [
      `CREATE EXTERNAL TABLE IF NOT EXISTS ${name} (\n${columns.join(',\n')}\n)\nROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'\nWITH SERDEPROPERTIES ('ignore.malformed.json' = 'true')\nLOCATION ${standardLiteral(`${lake.url}/_ledger/`)}`,
      receiptsOfTables(
        athena,
        lake,
        [RECEIPTS],
        "CAST(from_iso8601_timestamp({}) AT TIME ZONE 'UTC' AS timestamp)",
      ),
    ];
  },
};
