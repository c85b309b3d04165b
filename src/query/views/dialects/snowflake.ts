import type { Sql } from '../../../core/duckdb/sql-text.ts';
import { doubledQuotes, isPlain, joinSql, sql } from '../../../core/duckdb/sql-text.ts';
import type { Dialect, SelectItem } from '../dialect.ts';
import { lines, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

// A backslash means something too: a text with one is given by its bytes.
const text = doubledQuotes('"', (hex) => sql`hex_decode_string('${hex}')`);
const { quote, literal } = text;
const types = {
  timestamp: sql`timestamp_tz`,
  long: sql`number(19,0)`,
  double: sql`double`,
  text: sql`varchar`,
  series: sql`varchar`,
  date: sql`date`,
} as const;

const fromPath = (name: Sql) => sql`regexp_substr(metadata$filename, '${name}=([^/]+)', 1, 1, 'e')`;

export const snowflake: Dialect = {
  ...text,
  title: 'Snowflake',
  notes: ({ url, layout }) => [
    sql`As documented: vessel-export's tests check the grammar of these statements, and do not run them.`,
    sql`Before: CREATE STAGE vessels URL = ${literal(`${url}/`)} STORAGE_INTEGRATION = …;`,
    ...(layout === 'delta'
      ? [
          sql`and an external volume vessels on ${literal(`${url}/`)}, and CREATE CATALOG INTEGRATION vessel_tables CATALOG_SOURCE = OBJECT_STORE TABLE_FORMAT = DELTA ENABLED = TRUE;`,
        ]
      : []),
    sql`Again for new and replaced days: the REFRESHes, unless events do it (AUTO_REFRESH). Names are in lower case: quote them.`,
  ],
  urlFault: (url) =>
    /^(s3|gcs|azure):\/\//.test(url) && isPlain(url) ? undefined : 's3://, gcs:// or azure://',
  types,
  long: (value) => sql`${value}`,
  position: (of, marker) => sql`position(${marker}, ${of})`,
  from: (of, place) => sql`substr(${of}, ${place})`,
  first: (of, length) => sql`substr(${of}, 1, ${length})`,
  json: (of, path) =>
    sql`parse_json(${of})${joinSql(
      path.map((name) => sql`[${literal(name)}]`),
      sql``,
    )}::varchar`,
  micros: (instant) => sql`date_part(epoch_microsecond, ${instant})`,
  instant: (micros) => sql`to_timestamp_ntz(${micros}, 6)`,
  remainder: (dividend, divisor) => sql`mod(${dividend}, ${divisor})`,
  days: (from, to) => sql`datediff('day', ${from}, ${to})`,
  afterJoin: sql``,
  createView: sql`CREATE OR REPLACE VIEW`,
  commentOn: (view, column, said) => sql`COMMENT ON COLUMN ${view}.${quote(column)} IS ${literal(said)}`,
  source: (lake, { job, relation: name, columns }) => {
    const table = relation(snowflake, lake, name);
    if (lake.layout === 'delta')
      return [
        sql`CREATE ICEBERG TABLE IF NOT EXISTS ${table}\nEXTERNAL_VOLUME = 'vessels' CATALOG = 'vessel_tables' BASE_LOCATION = ${literal(`${job}/`)} AUTO_REFRESH = TRUE`,
      ];
    const typed = lines([
      sql`  "vessel" varchar AS (${fromPath(sql`vessel`)})`,
      sql`  "date" date AS (to_date(${fromPath(sql`date`)}))`,
      ...columns.map(
        ({ name: column, type }) =>
          sql`  ${quote(column)} ${types[type]} AS (value:${quote(column)}::${types[type]})`,
      ),
    ]);
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${typed}\n)\nPARTITION BY ("vessel", "date")\nLOCATION = ${literal(`@vessels/${job}/`)}\nAUTO_REFRESH = FALSE\nFILE_FORMAT = (TYPE = PARQUET USE_LOGICAL_TYPE = TRUE)`,
      sql`ALTER EXTERNAL TABLE ${table} REFRESH`,
    ];
  },
  receipts: (lake) => {
    const table = relation(snowflake, lake, 'receipt_files');
    const columns = RECEIPT_COLUMNS.map(({ name, path, type }) => {
      const own = types[type];
      return sql`  ${quote(name)} ${own} AS (value:${joinSql(path.map(quote), sql`:`)}::${own})`;
    });
    const items = RECEIPT_COLUMNS.map(({ name }): SelectItem => [quote(name), name]);
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${lines(columns)}\n)\nLOCATION = '@vessels/_ledger/'\nAUTO_REFRESH = FALSE\nFILE_FORMAT = (TYPE = JSON)`,
      sql`ALTER EXTERNAL TABLE ${table} REFRESH`,
      sql`${snowflake.createView} ${relation(snowflake, lake, 'receipts')} AS\nSELECT\n${selectList(snowflake, items)}\nFROM ${table}`,
    ];
  },
};
