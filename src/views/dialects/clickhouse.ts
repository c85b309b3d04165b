import type { Dialect, ViewedLake } from '../dialect.ts';
import { backslashLiteral, quoteWith, relation, selectList } from '../dialect.ts';
import { RECEIPT_COLUMNS } from '../receipt-columns.ts';

const quote = quoteWith('`');
const types = {
  timestamp: "DateTime64(6, 'UTC')",
  long: 'Int64',
  double: 'Nullable(Float64)',
  text: 'Nullable(String)',
  series: 'Nullable(String)',
  date: 'Date',
} as const;

/** A table function over files below the lake. */
function files(lake: ViewedLake, path: string, ...format: readonly string[]): string {
  const from = lake.url.includes('://') ? 's3' : 'file';
  return `${from}(${[`${lake.url}/${path}`, ...format].map(backslashLiteral).join(', ')})`;
}

/** A job's rows as its table has them. */
function rows(lake: ViewedLake, job: string): string {
  if (lake.layout === 'plain') return files(lake, `${job}/*/*/*.parquet`, 'Parquet');
  const table = lake.url.includes('://') ? 'deltaLake' : 'deltaLakeLocal';
  return `${table}(${backslashLiteral(`${lake.url}/${job}/`)})`;
}

export const clickhouse: Dialect = {
  title: 'ClickHouse',
  notes: ({ url }) => [
    'For ClickHouse 25.8 or newer. The tests of vessel-export run these views (26.7).',
    ...(url.includes('://')
      ? []
      : ['A server reads files below its user_files_path only; clickhouse-local and chdb read any.']),
  ],
  urlFault: (url) =>
    /^(\/|https?:\/\/|s3:\/\/)/.test(url)
      ? undefined
      : 'a folder, s3:// or https://bucket.s3.amazonaws.com/prefix',
  quote,
  literal: backslashLiteral,
  types,
  long: String,
  position: (text, literal) => `position(${text}, ${literal})`,
  from: (text, place) => `substring(${text}, ${place})`,
  first: (text, length) => `substring(${text}, 1, ${length})`,
  json: (text, path) => {
    // A member that is an object has no text here.
    return `JSONExtractString(${[text, ...path.map(backslashLiteral)].join(', ')})`;
  },
  // Where there is no next one, lead() of what may be null is null, and else 0.
  micros: (instant) => `toNullable(toUnixTimestamp64Micro(${instant}))`,
  instant: (micros) => `fromUnixTimestamp64Micro(${micros}, 'UTC')`,
  remainder: (dividend, divisor) => `${dividend} % ${divisor}`,
  days: (from, to) => `dateDiff('day', ${from}, ${to})`,
  afterJoin: '\nSETTINGS join_use_nulls = 1',
  createView: 'CREATE OR REPLACE VIEW',
  source: (lake, { job, relation: name, columns }) => {
    const items = [
      [`toString(${quote('vessel')})`, 'vessel'],
      [`toDate(${quote('date')})`, 'date'],
      ...columns.map((column) => [quote(column.name), column.name]),
    ] as [string, string][];
    const settings = lake.layout === 'plain' ? '\nSETTINGS use_hive_partitioning = 1' : '';
    return [
      `${clickhouse.createView} ${relation(clickhouse, lake, name)} AS\nSELECT\n${selectList(clickhouse, items)}\nFROM ${rows(lake, job)}${settings}`,
    ];
  },
  // Each file is read as it is: one that is no receipt would fail them all, and is left out.
  receipts: (lake) => {
    const items = RECEIPT_COLUMNS.map(({ name, path, type }): [string, string] => {
      const at = [quote('json'), ...path.map(backslashLiteral)].join(', ');
      if (type === 'long') return [`JSONExtract(${at}, 'Nullable(Int64)')`, name];
      const text = `nullIf(JSONExtractString(${at}), '')`;
      if (type === 'date') return [`toDate(JSONExtractString(${at}))`, name];
      return [type === 'timestamp' ? `parseDateTime64BestEffortOrNull(${text}, 6, 'UTC')` : text, name];
    });
    const jobs = lake.receiptJobs.length === 1 ? lake.receiptJobs[0]! : `{${lake.receiptJobs.join(',')}}`;
    return [
      `${clickhouse.createView} ${relation(clickhouse, lake, 'receipts')} AS\nSELECT\n${selectList(clickhouse, items)}\nFROM ${files(lake, `_ledger/${jobs}/*/*.json`, 'RawBLOB', '`json` String')}\nWHERE isValidJSON(${quote('json')}) AND JSONExtractUInt(${quote('json')}, 'receiptVersion') = 1`,
    ];
  },
};
