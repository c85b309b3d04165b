import { doubledQuotes, isPlain, sql } from '../../../core/duckdb/sql-text.ts';
import type { Dialect, SelectItem } from '../dialect.ts';
import { jsonPath, lines, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

// Its texts are UTF-8.
const text = doubledQuotes('[]', (hex) => sql`CAST(0x${hex} AS varchar(max))`);
const { quote, literal } = text;
const types = {
  timestamp: sql`datetime2(6)`,
  long: sql`bigint`,
  double: sql`float`,
  text: sql`varchar(8000)`,
  series: sql`varchar(8000)`,
  date: sql`date`,
} as const;

const EPOCH = sql`CAST('1970-01-01' AS datetime2(6))`;

export const fabric: Dialect = {
  ...text,
  title: 'Microsoft Fabric',
  notes: ({ layout }) => [
    sql`As documented: vessel-export's tests check the grammar of these statements, and do not run them.`,
    sql`For the SQL analytics endpoint of a lakehouse, or a warehouse; --location is the OneLake address of a shortcut to the lake.`,
    ...(layout === 'delta' ? [sql`Each job is a shortcut below Tables/, and so a table already.`] : []),
    sql`A statement CREATE VIEW stands alone in its batch: GO between them.`,
  ],
  urlFault: (url) =>
    // BULK takes a literal alone.
    /^(https|abfss):\/\//.test(url) && isPlain(url)
      ? undefined
      : 'https://onelake.dfs.fabric.microsoft.com/<workspace>/<lakehouse>/Files/<shortcut>',
  types,
  long: (value) => sql`CAST(${value} AS bigint)`,
  position: (of, marker) => sql`CHARINDEX(${marker}, ${of})`,
  from: (of, place) => sql`SUBSTRING(${of}, ${place}, 8000)`,
  first: (of, length) => sql`SUBSTRING(${of}, 1, ${length})`,
  json: (of, path) => sql`JSON_VALUE(${of}, ${literal(jsonPath(path))})`,
  micros: (instant) => sql`DATEDIFF_BIG(microsecond, ${EPOCH}, ${instant})`,
  // DATEADD takes 32 bits: minutes first, then seconds.
  instant: (micros) =>
    sql`DATEADD(second, CAST((${micros}) % 60000000 / 1000000 AS int), DATEADD(minute, CAST((${micros}) / 60000000 AS int), ${EPOCH}))`,
  remainder: (dividend, divisor) => sql`${dividend} % ${divisor}`,
  days: (from, to) => sql`DATEDIFF(day, ${from}, ${to})`,
  afterJoin: sql``,
  createView: sql`CREATE OR ALTER VIEW`,
  source: (lake, { job, relation: name, columns }) => {
    // A shortcut to a table is one.
    if (lake.layout === 'delta') return [];
    const items: SelectItem[] = [
      [sql`r.filepath(1)`, 'vessel'],
      [sql`CAST(r.filepath(2) AS date)`, 'date'],
      ...columns.map((column): SelectItem => [sql`r.${quote(column.name)}`, column.name]),
    ];
    const typed = columns.map((column) => sql`  ${quote(column.name)} ${types[column.type]}`);
    const files = literal(`${lake.url}/${job}/vessel=*/date=*/*.parquet`);
    return [
      sql`${fabric.createView} ${relation(fabric, lake, name)} AS\nSELECT\n${selectList(fabric, items)}\nFROM OPENROWSET(BULK ${files}, FORMAT = 'PARQUET') WITH (\n${lines(typed)}\n) AS r`,
    ];
  },
  receipts: (lake) => {
    const columns = RECEIPT_COLUMNS.map(({ name, path, type }) => {
      const own = type === 'timestamp' ? sql`varchar(40)` : types[type];
      return sql`  ${quote(name)} ${own} ${literal(jsonPath(path))}`;
    });
    const items = RECEIPT_COLUMNS.map(({ name, type }): SelectItem => {
      const column = sql`r.${quote(name)}`;
      const isInstant = type === 'timestamp';
      return [isInstant ? sql`CAST(CAST(${column} AS datetimeoffset(6)) AS datetime2(6))` : column, name];
    });
    return [
      sql`${fabric.createView} ${relation(fabric, lake, 'receipts')} AS\nSELECT\n${selectList(fabric, items)}\nFROM OPENROWSET(BULK ${literal(`${lake.url}/_ledger/*/*/*.json`)}, FORMAT = 'JSONL') WITH (\n${lines(columns)}\n) AS r`,
    ];
  },
};
