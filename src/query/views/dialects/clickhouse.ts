import type { Sql } from '../../../core/duckdb/sql-text.ts';
import { backslashes, joinSql, sql } from '../../../core/duckdb/sql-text.ts';
import type { Dialect, SelectItem, ViewedLake } from '../dialect.ts';
import { relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const text = backslashes('`', 'bytes');
const { quote, literal } = text;
const types = {
  timestamp: sql`DateTime64(6, 'UTC')`,
  long: sql`Int64`,
  double: sql`Nullable(Float64)`,
  text: sql`Nullable(String)`,
  series: sql`Nullable(String)`,
  date: sql`Date`,
} as const;

const isBucket = ({ url }: ViewedLake) => url.includes('://');

/** A table function over files below the lake. */
function files(lake: ViewedLake, path: string, ...format: readonly string[]): Sql {
  const from = isBucket(lake) ? sql`s3` : sql`file`;
  return sql`${from}(${joinSql([`${lake.url}/${path}`, ...format].map(literal), sql`, `)})`;
}

/** A job's rows as its table has them. */
function rows(lake: ViewedLake, job: string): Sql {
  if (lake.layout === 'plain') return files(lake, `${job}/*/*/*.parquet`, 'Parquet');
  const table = isBucket(lake) ? sql`deltaLake` : sql`deltaLakeLocal`;
  return sql`${table}(${literal(`${lake.url}/${job}/`)})`;
}

/** Arguments that name a member within JSON. */
function member(json: Sql, path: readonly string[]): Sql {
  return joinSql([json, ...path.map(literal)], sql`, `);
}

export const clickhouse: Dialect = {
  ...text,
  title: 'ClickHouse',
  notes: (lake) => [
    sql`For ClickHouse 25.8 or newer. The tests of vessel-export run these views (26.7).`,
    ...(isBucket(lake)
      ? []
      : [sql`A server reads files below its user_files_path only; clickhouse-local and chdb read any.`]),
  ],
  urlFault: (url) =>
    /^(\/|https?:\/\/|s3:\/\/)/.test(url)
      ? undefined
      : 'a folder, s3:// or https://bucket.s3.amazonaws.com/prefix',
  types,
  long: (value) => sql`${value}`,
  position: (of, marker) => sql`position(${of}, ${marker})`,
  from: (of, place) => sql`substring(${of}, ${place})`,
  first: (of, length) => sql`substring(${of}, 1, ${length})`,
  // A member that is an object has no text here.
  json: (of, path) => sql`JSONExtractString(${member(of, path)})`,
  // Where there is no next one, lead() of what may be null is null, and else 0.
  micros: (instant) => sql`toNullable(toUnixTimestamp64Micro(${instant}))`,
  instant: (micros) => sql`fromUnixTimestamp64Micro(${micros}, 'UTC')`,
  remainder: (dividend, divisor) => sql`${dividend} % ${divisor}`,
  days: (from, to) => sql`dateDiff('day', ${from}, ${to})`,
  afterJoin: sql`\nSETTINGS join_use_nulls = 1`,
  createView: sql`CREATE OR REPLACE VIEW`,
  source: (lake, { job, relation: name, columns }) => {
    const items: SelectItem[] = [
      [sql`toString(${quote('vessel')})`, 'vessel'],
      [sql`toDate(${quote('date')})`, 'date'],
      ...columns.map((column): SelectItem => [quote(column.name), column.name]),
    ];
    const settings = lake.layout === 'plain' ? sql`\nSETTINGS use_hive_partitioning = 1` : sql``;
    return [
      sql`${clickhouse.createView} ${relation(clickhouse, lake, name)} AS\nSELECT\n${selectList(clickhouse, items)}\nFROM ${rows(lake, job)}${settings}`,
    ];
  },
  // Each file is read as it is: one that is no receipt would fail them all, and is left out.
  receipts: (lake) => {
    const items = RECEIPT_COLUMNS.map(({ name, path, type }): SelectItem => {
      const at = member(quote('json'), path);
      if (type === 'long') return [sql`JSONExtract(${at}, 'Nullable(Int64)')`, name];
      const found = sql`nullIf(JSONExtractString(${at}), '')`;
      if (type === 'date') return [sql`toDate(JSONExtractString(${at}))`, name];
      return [type === 'timestamp' ? sql`parseDateTime64BestEffortOrNull(${found}, 6, 'UTC')` : found, name];
    });
    const jobs = lake.receiptJobs.length === 1 ? lake.receiptJobs[0]! : `{${lake.receiptJobs.join(',')}}`;
    return [
      sql`${clickhouse.createView} ${relation(clickhouse, lake, 'receipts')} AS\nSELECT\n${selectList(clickhouse, items)}\nFROM ${files(lake, `_ledger/${jobs}/*/*.json`, 'RawBLOB', '`json` String')}\nWHERE isValidJSON(${quote('json')}) AND JSONExtractUInt(${member(quote('json'), ['receiptVersion'])}) = 1`,
    ];
  },
};
