import { doubledQuotes, isPlain, joinSql, type Sql, sql } from '../../../core/duckdb/sql-text.ts';
import * as views from '../dialect.ts';

// A backslash means something too: a text with one is given by its bytes.
const text = doubledQuotes('"', (hex) => sql`hex_decode_string('${hex}')`);
const { quote, literal } = text;
const types = views.typesOf(sql`timestamp_tz`, sql`number(19,0)`, sql`double`, sql`varchar`, sql`date`);

const fromPath = (name: Sql) => sql`regexp_substr(metadata$filename, '${name}=([^/]+)', 1, 1, 'e')`;

export const snowflake = views.dialectOf({
  ...text,
  title: 'Snowflake',
  notes: ({ url, layout }) => [
    views.AS_DOCUMENTED,
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
  position: (of, marker) => sql`position(${marker}, ${of})`,
  json: (of, path) =>
    sql`parse_json(${of})${joinSql(
      path.map((name) => sql`[${literal(name)}]`),
      sql``,
    )}::varchar`,
  micros: (instant) => sql`date_part(epoch_microsecond, ${instant})`,
  instant: (micros) => sql`to_timestamp_ntz(${micros}, 6)`,
  remainder: (dividend, divisor) => sql`mod(${dividend}, ${divisor})`,
  days: (from, to) => sql`datediff('day', ${from}, ${to})`,
  commentOn: views.commentOnColumn(text),
  source: (lake, { job, relation: name, columns }) => {
    const table = views.relation(snowflake, lake, name);
    if (lake.layout === 'delta')
      return [
        sql`CREATE ICEBERG TABLE IF NOT EXISTS ${table}\nEXTERNAL_VOLUME = 'vessels' CATALOG = 'vessel_tables' BASE_LOCATION = ${literal(`${job}/`)} AUTO_REFRESH = TRUE`,
      ];
    const typed = views.lines([
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
    const table = views.relation(snowflake, lake, 'receipt_files');
    const columns = views.RECEIPT_COLUMNS.map(({ name, path, type }) => {
      const own = types[type];
      return sql`  ${quote(name)} ${own} AS (value:${joinSql(path.map(quote), sql`:`)}::${own})`;
    });
    const items = views.RECEIPT_COLUMNS.map(({ name }): views.SelectItem => [quote(name), name]);
    return [
      sql`CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${views.lines(columns)}\n)\nLOCATION = '@vessels/_ledger/'\nAUTO_REFRESH = FALSE\nFILE_FORMAT = (TYPE = JSON)`,
      sql`ALTER EXTERNAL TABLE ${table} REFRESH`,
      views.createView(snowflake, lake, 'receipts', items, table),
    ];
  },
});
