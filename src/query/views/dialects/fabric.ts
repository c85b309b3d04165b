import { doubledQuotes, isPlain, type Sql, sql } from '../../../core/duckdb/sql-text.ts';
import * as views from '../dialect.ts';

// Its texts are UTF-8.
const text = doubledQuotes('[]', (hex) => sql`CAST(0x${hex} AS varchar(max))`);
const { quote, literal } = text;
const types = views.typesOf(sql`datetime2(6)`, sql`bigint`, sql`float`, sql`varchar(8000)`, sql`date`);
const EPOCH = sql`CAST('1970-01-01' AS datetime2(6))`;

const rowset = (files: Sql, format: Sql, columns: readonly Sql[]) =>
  sql`OPENROWSET(BULK ${files}, FORMAT = '${format}') WITH (\n${views.lines(columns)}\n) AS r`;

export const fabric = views.dialectOf({
  ...text,
  title: 'Microsoft Fabric',
  notes: ({ layout }) => [
    views.AS_DOCUMENTED,
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
  json: (of, path) => sql`JSON_VALUE(${of}, ${literal(views.jsonPath(path))})`,
  micros: (instant) => sql`DATEDIFF_BIG(microsecond, ${EPOCH}, ${instant})`,
  // DATEADD takes 32 bits: minutes first, then seconds.
  instant: (micros) =>
    sql`DATEADD(second, CAST((${micros}) % 60000000 / 1000000 AS int), DATEADD(minute, CAST((${micros}) / 60000000 AS int), ${EPOCH}))`,
  days: (from, to) => sql`DATEDIFF(day, ${from}, ${to})`,
  createView: sql`CREATE OR ALTER VIEW`,
  source: (lake, { job, relation: name, columns }) => {
    // A shortcut to a table is one.
    if (lake.layout === 'delta') return [];
    const items: views.SelectItem[] = [
      [sql`r.filepath(1)`, 'vessel'],
      [sql`CAST(r.filepath(2) AS date)`, 'date'],
      ...columns.map((column): views.SelectItem => [sql`r.${quote(column.name)}`, column.name]),
    ];
    const files = literal(`${lake.url}/${job}/vessel=*/date=*/*.parquet`);
    return [
      views.createView(
        fabric,
        lake,
        name,
        items,
        rowset(files, sql`PARQUET`, views.typedColumns(fabric, columns)),
      ),
    ];
  },
  receipts: (lake) => {
    const columns = views.RECEIPT_COLUMNS.map(({ name, path, type }) => {
      const own = type === 'timestamp' ? sql`varchar(40)` : types[type];
      return sql`  ${quote(name)} ${own} ${literal(views.jsonPath(path))}`;
    });
    const items = views.RECEIPT_COLUMNS.map(({ name, type }): views.SelectItem => {
      const column = sql`r.${quote(name)}`;
      const isInstant = type === 'timestamp';
      return [isInstant ? sql`CAST(CAST(${column} AS datetimeoffset(6)) AS datetime2(6))` : column, name];
    });
    const files = literal(`${lake.url}/_ledger/*/*/*.json`);
    return [views.createView(fabric, lake, 'receipts', items, rowset(files, sql`JSONL`, columns))];
  },
});
