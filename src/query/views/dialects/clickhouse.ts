import { backslashes, joinSql, type Sql, sql } from '../../../core/duckdb/sql-text.ts';
import * as views from '../dialect.ts';

const text = backslashes('`', 'bytes');
const { quote, literal } = text;
const isBucket = ({ url }: views.ViewedLake) => url.includes('://');

function files(lake: views.ViewedLake, path: string, ...format: readonly string[]): Sql {
  const from = isBucket(lake) ? sql`s3` : sql`file`;
  return sql`${from}(${joinSql([`${lake.url}/${path}`, ...format].map(literal))})`;
}

/** A job's rows as its table has them. */
function rows(lake: views.ViewedLake, job: string): Sql {
  if (lake.layout === 'plain') return files(lake, `${job}/*/*/*.parquet`, 'Parquet');
  const table = isBucket(lake) ? sql`deltaLake` : sql`deltaLakeLocal`;
  return sql`${table}(${literal(`${lake.url}/${job}/`)})`;
}

/** Arguments that name a member within JSON. */
function member(json: Sql, path: readonly string[]): Sql {
  return joinSql([json, ...path.map(literal)]);
}

export const clickhouse = views.dialectOf({
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
  types: views.typesOf(
    sql`DateTime64(6, 'UTC')`,
    sql`Int64`,
    sql`Nullable(Float64)`,
    sql`Nullable(String)`,
    sql`Date`,
  ),
  position: (of, marker) => sql`position(${of}, ${marker})`,
  // A member that is an object has no text here.
  json: (of, path) => sql`JSONExtractString(${member(of, path)})`,
  // Where there is no next one, lead() of what may be null is null, and else 0.
  micros: (instant) => sql`toNullable(toUnixTimestamp64Micro(${instant}))`,
  instant: (micros) => sql`fromUnixTimestamp64Micro(${micros}, 'UTC')`,
  days: (from, to) => sql`dateDiff('day', ${from}, ${to})`,
  afterJoin: sql`\nSETTINGS join_use_nulls = 1`,
  source: (lake, { job, relation: name, columns }) => {
    const items: views.SelectItem[] = [
      [sql`toString(${quote('vessel')})`, 'vessel'],
      [sql`toDate(${quote('date')})`, 'date'],
      ...columns.map((column): views.SelectItem => [quote(column.name), column.name]),
    ];
    const settings = lake.layout === 'plain' ? sql`\nSETTINGS use_hive_partitioning = 1` : sql``;
    return [views.createView(clickhouse, lake, name, items, sql`${rows(lake, job)}${settings}`)];
  },
  // Each file is read as it is: one that is no receipt would fail them all, and is left out.
  receipts: (lake) => {
    const items = views.RECEIPT_COLUMNS.map(({ name, path, type }): views.SelectItem => {
      const at = member(quote('json'), path);
      if (type === 'long') return [sql`JSONExtract(${at}, 'Nullable(Int64)')`, name];
      const found = sql`nullIf(JSONExtractString(${at}), '')`;
      if (type === 'date') return [sql`toDate(JSONExtractString(${at}))`, name];
      return [type === 'timestamp' ? sql`parseDateTime64BestEffortOrNull(${found}, 6, 'UTC')` : found, name];
    });
    const jobs = lake.receiptJobs.length === 1 ? lake.receiptJobs[0]! : `{${lake.receiptJobs.join(',')}}`;
    const found = files(lake, `_ledger/${jobs}/*/*.json`, 'RawBLOB', '`json` String');
    const receipts = sql`${found}\nWHERE isValidJSON(${quote('json')}) AND JSONExtractUInt(${member(quote('json'), ['receiptVersion'])}) = 1`;
    return [views.createView(clickhouse, lake, 'receipts', items, receipts)];
  },
});
