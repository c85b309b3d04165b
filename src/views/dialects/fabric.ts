import type { Dialect } from '../dialect.ts';
import { jsonPath, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const quote = (name: string) => `[${name.replaceAll(']', ']]')}]`;
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
const types = {
  timestamp: 'datetime2(6)',
  long: 'bigint',
  double: 'float',
  text: 'varchar(8000)',
  series: 'varchar(8000)',
  date: 'date',
} as const;

export const fabric: Dialect = {
  title: 'Microsoft Fabric',
  notes: ({ layout }) => [
    "As documented: vessel-export's tests check the grammar of these statements, and do not run them.",
    'For the SQL analytics endpoint of a lakehouse, or a warehouse; --location is the OneLake address of a shortcut to the lake.',
    ...(layout === 'delta' ? ['Each job is a shortcut below Tables/, and so a table already.'] : []),
    'A statement CREATE VIEW stands alone in its batch: GO between them.',
  ],
  urlFault: (url) =>
    /^(https|abfss):\/\//.test(url)
      ? undefined
      : 'https://onelake.dfs.fabric.microsoft.com/<workspace>/<lakehouse>/Files/<shortcut>',
  quote,
  literal,
  types,
  long: (value) => `CAST(${value} AS bigint)`,
  position: (text, marker) => `CHARINDEX(${marker}, ${text})`,
  from: (text, place) => `SUBSTRING(${text}, ${place}, 8000)`,
  first: (text, length) => `SUBSTRING(${text}, 1, ${length})`,
  json: (text, path) => `JSON_VALUE(${text}, ${literal(jsonPath(path))})`,
  micros: (instant) => `DATEDIFF_BIG(microsecond, CAST('1970-01-01' AS datetime2(6)), ${instant})`,
  // DATEADD takes 32 bits: minutes first, then seconds.
  instant: (micros) =>
    `DATEADD(second, CAST((${micros}) % 60000000 / 1000000 AS int), DATEADD(minute, CAST((${micros}) / 60000000 AS int), CAST('1970-01-01' AS datetime2(6))))`,
  remainder: (dividend, divisor) => `${dividend} % ${divisor}`,
  days: (from, to) => `DATEDIFF(day, ${from}, ${to})`,
  afterJoin: '',
  createView: 'CREATE OR ALTER VIEW',
  source: (lake, { job, relation: name, columns }) => {
    // A shortcut to a table is one.
    if (lake.layout === 'delta') return [];
    const items = [
      ['r.filepath(1)', 'vessel'],
      ['CAST(r.filepath(2) AS date)', 'date'],
      ...columns.map((column) => [`r.${quote(column.name)}`, column.name]),
    ] as [string, string][];
    const typed = columns.map((column) => `  ${quote(column.name)} ${types[column.type]}`);
    const files = literal(`${lake.url}/${job}/vessel=*/date=*/*.parquet`);
    return [
      `${fabric.createView} ${relation(fabric, lake, name)} AS\nSELECT\n${selectList(fabric, items)}\nFROM OPENROWSET(BULK ${files}, FORMAT = 'PARQUET') WITH (\n${typed.join(',\n')}\n) AS r`,
    ];
  },
  receipts: (lake) => {
    const columns = RECEIPT_COLUMNS.map(({ name, path, type }) => {
      const own = type === 'timestamp' ? 'varchar(40)' : types[type];
      return `  ${quote(name)} ${own} ${literal(jsonPath(path))}`;
    });
    const items = RECEIPT_COLUMNS.map(({ name, type }): [string, string] => [
      type === 'timestamp'
        ? `CAST(CAST(r.${quote(name)} AS datetimeoffset(6)) AS datetime2(6))`
        : `r.${quote(name)}`,
      name,
    ]);
    return [
      `${fabric.createView} ${relation(fabric, lake, 'receipts')} AS\nSELECT\n${selectList(fabric, items)}\nFROM OPENROWSET(BULK ${literal(`${lake.url}/_ledger/*/*/*.json`)}, FORMAT = 'JSONL') WITH (\n${columns.join(',\n')}\n) AS r`,
    ];
  },
};
