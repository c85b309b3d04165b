import type { Dialect } from '../dialect.ts';
import { quoteWith, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const quote = quoteWith('"');
/** Both a doubled quote and a backslash mean something. */
const literal = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
const types = {
  timestamp: 'timestamp_tz',
  long: 'number(19,0)',
  double: 'double',
  text: 'varchar',
  series: 'varchar',
  date: 'date',
} as const;

const fromPath = (name: string) => `regexp_substr(metadata$filename, '${name}=([^/]+)', 1, 1, 'e')`;

export const snowflake: Dialect = {
  title: 'Snowflake',
  notes: ({ url, layout }) => [
    "As documented: vessel-export's tests check the grammar of these statements, and do not run them.",
    `Before: CREATE STAGE vessels URL = ${literal(`${url}/`)} STORAGE_INTEGRATION = …;`,
    ...(layout === 'delta'
      ? [
          `and an external volume vessels on ${literal(`${url}/`)}, and CREATE CATALOG INTEGRATION vessel_tables CATALOG_SOURCE = OBJECT_STORE TABLE_FORMAT = DELTA ENABLED = TRUE;`,
        ]
      : []),
    'Again for new and replaced days: the REFRESHes, unless events do it (AUTO_REFRESH). Names are in lower case: quote them.',
  ],
  urlFault: (url) => (/^(s3|gcs|azure):\/\//.test(url) ? undefined : 's3://, gcs:// or azure://'),
  quote,
  literal,
  types,
  long: String,
  position: (text, marker) => `position(${marker}, ${text})`,
  from: (text, place) => `substr(${text}, ${place})`,
  first: (text, length) => `substr(${text}, 1, ${length})`,
  json: (text, path) => `parse_json(${text})${path.map((name) => `[${literal(name)}]`).join('')}::varchar`,
  micros: (instant) => `date_part(epoch_microsecond, ${instant})`,
  instant: (micros) => `to_timestamp_ntz(${micros}, 6)`,
  remainder: (dividend, divisor) => `mod(${dividend}, ${divisor})`,
  days: (from, to) => `datediff('day', ${from}, ${to})`,
  afterJoin: '',
  createView: 'CREATE OR REPLACE VIEW',
  commentOn: (view, column, text) => `COMMENT ON COLUMN ${view}.${quote(column)} IS ${literal(text)}`,
  source: (lake, { job, relation: name, columns }) => {
    const table = relation(snowflake, lake, name);
    if (lake.layout === 'delta')
      return [
        `CREATE ICEBERG TABLE IF NOT EXISTS ${table}\nEXTERNAL_VOLUME = 'vessels' CATALOG = 'vessel_tables' BASE_LOCATION = ${literal(`${job}/`)} AUTO_REFRESH = TRUE`,
      ];
    const typed = [
      `  "vessel" varchar AS (${fromPath('vessel')})`,
      `  "date" date AS (to_date(${fromPath('date')}))`,
      ...columns.map(
        ({ name: column, type }) =>
          `  ${quote(column)} ${types[type]} AS (value:${quote(column)}::${types[type]})`,
      ),
    ];
    return [
      `CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${typed.join(',\n')}\n)\nPARTITION BY ("vessel", "date")\nLOCATION = '@vessels/${job}/'\nAUTO_REFRESH = FALSE\nFILE_FORMAT = (TYPE = PARQUET USE_LOGICAL_TYPE = TRUE)`,
      `ALTER EXTERNAL TABLE ${table} REFRESH`,
    ];
  },
  receipts: (lake) => {
    const table = relation(snowflake, lake, 'receipt_files');
    const columns = RECEIPT_COLUMNS.map(({ name, path, type }) => {
      const own = types[type];
      return `  ${quote(name)} ${own} AS (value:${path.map(quote).join(':')}::${own})`;
    });
    const items = RECEIPT_COLUMNS.map(({ name }) => [quote(name), name] as const);
    return [
      `CREATE EXTERNAL TABLE IF NOT EXISTS ${table} (\n${columns.join(',\n')}\n)\nLOCATION = '@vessels/_ledger/'\nAUTO_REFRESH = FALSE\nFILE_FORMAT = (TYPE = JSON)`,
      `ALTER EXTERNAL TABLE ${table} REFRESH`,
      `${snowflake.createView} ${relation(snowflake, lake, 'receipts')} AS\nSELECT\n${selectList(snowflake, items)}\nFROM ${table}`,
    ];
  },
};
