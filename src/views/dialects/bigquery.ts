import type { Dialect } from '../dialect.ts';
import { backslashLiteral, jsonPath, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const quote = (name: string) => `\`${name.replace(/[\\`]/g, '\\$&')}\``;
const types = {
  timestamp: 'TIMESTAMP',
  long: 'INT64',
  double: 'FLOAT64',
  text: 'STRING',
  series: 'STRING',
  date: 'DATE',
} as const;

export const bigquery: Dialect = {
  title: 'BigQuery',
  notes: ({ layout }) => [
    "As documented: vessel-export's tests check the grammar of these statements, and do not run them.",
    'Of a lake, or a copy of one, on Cloud Storage. Before: CREATE SCHEMA vessels;',
    ...(layout === 'delta' ? ['and a connection `us.vessels` that may read the bucket.'] : []),
  ],
  urlFault: (url) => (/^gs:\/\//.test(url) ? undefined : 'gs://bucket/prefix'),
  quote,
  literal: backslashLiteral,
  types,
  long: String,
  position: (text, literal) => `STRPOS(${text}, ${literal})`,
  from: (text, place) => `SUBSTR(${text}, ${place})`,
  first: (text, length) => `SUBSTR(${text}, 1, ${length})`,
  json: (text, path) => `JSON_VALUE(${text}, ${backslashLiteral(jsonPath(path))})`,
  micros: (instant) => `UNIX_MICROS(${instant})`,
  instant: (micros) => `TIMESTAMP_MICROS(${micros})`,
  remainder: (dividend, divisor) => `MOD(${dividend}, ${divisor})`,
  days: (from, to) => `DATE_DIFF(${to}, ${from}, DAY)`,
  afterJoin: '',
  defaultSchema: 'vessels',
  createView: 'CREATE OR REPLACE VIEW',
  source: (lake, { job, relation: name, columns }) => {
    const table = relation(bigquery, lake, name);
    const folder = `${lake.url}/${job}`;
    if (lake.layout === 'delta')
      return [
        `CREATE EXTERNAL TABLE IF NOT EXISTS ${table}\nWITH CONNECTION \`us.vessels\`\nOPTIONS (format = 'DELTA_LAKE', uris = [${backslashLiteral(folder)}])`,
      ];
    const typed = columns.map((column) => `  ${quote(column.name)} ${types[column.type]}`);
    return [
      `CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${typed.join(',\n')}\n)\nWITH PARTITION COLUMNS (\`vessel\` STRING, \`date\` DATE)\nOPTIONS (format = 'PARQUET', uris = [${backslashLiteral(`${folder}/*`)}], hive_partition_uri_prefix = ${backslashLiteral(folder)})`,
    ];
  },
  receipts: (lake) => {
    const table = relation(bigquery, lake, 'receipt_files');
    const columns = RECEIPT_COLUMNS.map(({ path: [member, inner], type }) => {
      const own = types[type];
      return `  ${quote(member)} ${inner === undefined ? own : `STRUCT<${quote(inner)} ${own}>`}`;
    });
    const items = RECEIPT_COLUMNS.map(({ name, path }) => [path.map(quote).join('.'), name] as const);
    const uris = lake.receiptJobs.map((job) => backslashLiteral(`${lake.url}/_ledger/${job}/*`));
    return [
      `CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${columns.join(',\n')}\n)\nOPTIONS (format = 'NEWLINE_DELIMITED_JSON', ignore_unknown_values = TRUE, max_bad_records = 1000, uris = [${uris.join(', ')}])`,
      `${bigquery.createView} ${relation(bigquery, lake, 'receipts')} AS\nSELECT\n${selectList(bigquery, items)}\nFROM ${table}`,
    ];
  },
};
