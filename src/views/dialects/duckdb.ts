import type { Dataset } from '../../model/index.ts';
import type { Dialect, Source, ViewedLake } from '../dialect.ts';
import { jsonPath, quoteWith, relation, selectList, standardLiteral } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const quote = quoteWith('"');
const types = {
  timestamp: 'TIMESTAMPTZ',
  long: 'BIGINT',
  double: 'DOUBLE',
  text: 'VARCHAR',
  series: 'VARCHAR',
  date: 'DATE',
} as const;

const HIVE = "hive_partitioning = true, hive_types = {'vessel': VARCHAR, 'date': DATE}";

/** Paths of objects as what stands before them is a pattern. */
function pattern(url: string): string {
  return url.replace(/[[*?]/g, '[$&]');
}

/** Columns of a job, of a relation that has them, or, of statistics, lacks some: those are null. */
export function duckdbColumns(
  { dataset, columns }: Pick<Source, 'dataset' | 'columns'>,
  from: string,
): string {
  const names = ['vessel', 'date', ...columns.map(({ name }) => name)];
  const select = `SELECT ${names.map(quote).join(', ')}\nFROM`;
  if (dataset !== 'statistics') return `${select} ${from}`;
  // The job's aggregations may have changed since its days were exported.
  const typed = columns.map(({ name, type }) => `CAST(NULL AS ${types[type]}) AS ${quote(name)}`);
  return `${select} (\n  SELECT * FROM ${from}\n  UNION ALL BY NAME\n  SELECT ${typed.join(', ')} WHERE false\n)`;
}

/** The objects of a job: a pattern, or the paths themselves. */
export function duckdbObjects(paths: string | readonly string[], dataset: Dataset): string {
  const given =
    typeof paths === 'string' ? standardLiteral(paths) : `[${paths.map(standardLiteral).join(', ')}]`;
  // Other aggregations are other columns; to look for them, DuckDB opens every file.
  const union = dataset === 'statistics' ? ', union_by_name = true' : '';
  return `read_parquet(${given}, ${HIVE}${union})`;
}

/** A job's rows: of its objects, or as its table's log says, which takes the extension. */
export function jobRows({ url, layout }: ViewedLake, job: string, dataset: Dataset): string {
  if (layout === 'delta') return `delta_scan(${standardLiteral(`${url}/${job}`)})`;
  return duckdbObjects(`${pattern(url)}/${job}/*/*/*.parquet`, dataset);
}

/** The receipts that stand in a file, one a line. */
export function duckdbReceiptLines(path: string): string {
  const members = new Map<string, string>();
  for (const { path, type } of RECEIPT_COLUMNS) {
    const [name, inner] = path;
    members.set(name, inner === undefined ? types[type] : `STRUCT(${quote(inner)} ${types[type]})`);
  }
  const columns = [...members].map(([name, type]) => `${standardLiteral(name)}: ${standardLiteral(type)}`);
  const items = RECEIPT_COLUMNS.map(({ name, path }) => [path.map(quote).join('.'), name] as const);
  return `SELECT\n${selectList(duckdb, items)}\nFROM read_json(${standardLiteral(path)}, format = 'newline_delimited', hive_partitioning = false, columns = {${columns.join(', ')}})`;
}

/** The receipts that patterns find. One that cannot be read would fail them all: it is left out. */
function duckdbReceipts(patterns: readonly string[]): string {
  const items = RECEIPT_COLUMNS.map(({ name, path, type }): [string, string] => {
    const text = duckdb.json('json', path);
    return [type === 'text' ? text : `TRY_CAST(${text} AS ${types[type]})`, name];
  });
  const files = `[${patterns.map(standardLiteral).join(', ')}]`;
  return `SELECT\n${selectList(duckdb, items)}\nFROM (\n  SELECT TRY(decode(content)) AS json FROM read_blob(${files})\n)\nWHERE json_valid(json) AND ${duckdb.json('json', ['receiptVersion'])} = '1'`;
}

export const duckdb: Dialect = {
  title: 'DuckDB',
  notes: ({ url, layout }) => [
    'For DuckDB 1.3 or newer. The tests of vessel-export run these views.',
    ...(layout === 'delta'
      ? ['Before: INSTALL delta; LOAD delta; (the tests put lists of files in the place of delta_scan)']
      : []),
    ...(url.startsWith('s3:')
      ? ['Before: INSTALL httpfs; LOAD httpfs; CREATE SECRET (TYPE s3, PROVIDER credential_chain);']
      : []),
  ],
  urlFault: (url) =>
    /^(\/|[A-Za-z]:|(s3|gs|https):\/\/)/.test(url) ? undefined : 'a folder, s3://, gs:// or https://',
  quote,
  literal: standardLiteral,
  types,
  long: String,
  position: (text, literal) => `strpos(${text}, ${literal})`,
  from: (text, place) => `substr(${text}, ${place})`,
  first: (text, length) => `substr(${text}, 1, ${length})`,
  json: (text, path) => `json_extract_string(${text}, ${standardLiteral(jsonPath(path))})`,
  micros: (instant) => `epoch_us(${instant})`,
  instant: (micros) => `make_timestamptz(${micros})`,
  remainder: (dividend, divisor) => `${dividend} % ${divisor}`,
  days: (from, to) => `date_diff('day', ${from}, ${to})`,
  afterJoin: '',
  createView: 'CREATE OR REPLACE VIEW',
  commentOn: (view, column, text) => `COMMENT ON COLUMN ${view}.${quote(column)} IS ${standardLiteral(text)}`,
  source: (lake, source) => [
    `${duckdb.createView} ${relation(duckdb, lake, source.relation)} AS\n${duckdbColumns(source, jobRows(lake, source.job, source.dataset))}`,
  ],
  receipts: (lake) => [
    `${duckdb.createView} ${relation(duckdb, lake, 'receipts')} AS\n${duckdbReceipts(lake.receiptJobs.map((job) => `${pattern(lake.url)}/_ledger/${job}/*/*.json`))}`,
  ],
};
