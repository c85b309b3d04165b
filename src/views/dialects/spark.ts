import type { Dialect } from '../dialect.ts';
import { backslashLiteral, quoteWith, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const quote = quoteWith('`');
const types = {
  timestamp: 'TIMESTAMP',
  long: 'BIGINT',
  double: 'DOUBLE',
  text: 'STRING',
  series: 'STRING',
  date: 'DATE',
} as const;

export const spark: Dialect = {
  title: 'Spark and Databricks',
  notes: ({ layout }) => [
    "As documented: vessel-export's tests check the grammar of these statements, and do not run them.",
    "Before: SET TIME ZONE 'UTC';",
    ...(layout === 'plain'
      ? ['Again for new days: MSCK REPAIR TABLE; for replaced ones: REFRESH TABLE.']
      : []),
  ],
  urlFault: (url) =>
    /^[a-z0-9]+:\/\//.test(url) || url.startsWith('/') ? undefined : 'a folder or s3://bucket/prefix',
  quote,
  literal: backslashLiteral,
  types,
  long: (value) => `${value}L`,
  position: (text, literal) => `instr(${text}, ${literal})`,
  from: (text, place) => `substr(${text}, ${place})`,
  first: (text, length) => `substr(${text}, 1, ${length})`,
  json: (text, path) =>
    `get_json_object(${text}, ${backslashLiteral(`$${path.map((name) => `['${name}']`).join('')}`)})`,
  micros: (instant) => `unix_micros(${instant})`,
  instant: (micros) => `timestamp_micros(${micros})`,
  remainder: (dividend, divisor) => `${dividend} % ${divisor}`,
  days: (from, to) => `datediff(${to}, ${from})`,
  afterJoin: '',
  createView: 'CREATE OR REPLACE VIEW',
  source: (lake, { job, relation: name, columns }) => {
    const table = relation(spark, lake, name);
    const location = `LOCATION ${backslashLiteral(`${lake.url}/${job}/`)}`;
    if (lake.layout === 'delta') return [`CREATE TABLE IF NOT EXISTS ${table} USING DELTA ${location}`];
    const typed = [
      ...columns.map((column) => `  ${quote(column.name)} ${types[column.type]}`),
      '  `vessel` STRING',
      '  `date` DATE',
    ];
    return [
      `CREATE TABLE IF NOT EXISTS ${table} (\n${typed.join(',\n')}\n)\nUSING PARQUET\nPARTITIONED BY (\`vessel\`, \`date\`)\n${location}`,
      `MSCK REPAIR TABLE ${table}`,
    ];
  },
  receipts: (lake) => {
    const table = relation(spark, lake, 'receipt_files');
    const columns = RECEIPT_COLUMNS.map(({ path: [member, inner], type }) => {
      const own = types[type];
      return `  ${quote(member)} ${inner === undefined ? own : `STRUCT<${quote(inner)}: ${own}>`}`;
    });
    const items = RECEIPT_COLUMNS.map(({ name, path }) => [path.map(quote).join('.'), name] as const);
    return [
      `CREATE TABLE IF NOT EXISTS ${table} (\n${columns.join(',\n')}\n)\nUSING JSON\nOPTIONS (path ${backslashLiteral(`${lake.url}/_ledger/*/*/*.json`)})`,
      `${spark.createView} ${relation(spark, lake, 'receipts')} AS\nSELECT\n${selectList(spark, items)}\nFROM ${table}\nWHERE \`job\` IS NOT NULL`,
    ];
  },
};
