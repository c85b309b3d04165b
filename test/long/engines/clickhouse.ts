/** The embedded ClickHouse as a reader of the others' kind. */
import { type ClickHouse, localTable, s3Table } from '../../helpers/clickhouse.ts';
import type { Answer, Question, Reader, Where } from './reader.ts';

const SETTINGS = [
  ...['allow_experimental_delta_kernel_rs = 1', 'max_threads = 2', "session_timezone = 'UTC'"],
  ...[
    'use_hive_partitioning = 1',
    "schema_inference_mode = 'union'",
    'output_format_json_quote_64bit_integers = 1',
  ],
];
const TOTALS = `SELECT vessel, date, time_series_id, count() AS n, sum(toInt128(long_value)) AS longs, sum(double_value) AS doubles,
  count(json_value) AS texts, min(timestamp) AS first, max(timestamp) AS last FROM t GROUP BY vessel, date, time_series_id`;
const WHOLE = `SELECT count() AS n, count(DISTINCT time_series_id) AS series, min(timestamp) AS first, max(timestamp) AS last,
  min(long_value) AS least_long, max(long_value) AS most_long, min(time_series_id) AS least_series FROM t`;

export function clickHouseReader(clickhouse: ClickHouse): Reader {
  return {
    async ask(question) {
      const settings = [
        ...SETTINGS,
        ...(question.version === undefined ? [] : [`delta_lake_snapshot_version = ${question.version}`]),
      ];
      const asked = (sql: string) => clickhouse.rows(`${sql} SETTINGS ${settings.join(', ')}`);
      const sql = sqlOf(question).replace('FROM t', `FROM ${tableOf(question)}`);
      const columns = (await asked(`DESCRIBE TABLE (${sql})`)) as [name: string, type: string][];
      const cells = columns.map(([name, type]) => cellOf(name, type));
      const rows = (await asked(`SELECT ${cells.join(', ')} FROM (${sql})`)) as Answer['rows'];
      // A DateTime64 is an instant, also where no zone is named.
      const types = columns.map(([, type]) => (type.includes('DateTime64') ? `${type} tz=UTC` : type));
      return { columns: columns.map(([name]) => name), types, rows };
    },
    version: async () => String((await clickhouse.rows('SELECT version()'))[0]![0]),
    [Symbol.asyncDispose]: () => clickhouse[Symbol.asyncDispose](),
  };
}

function tableOf({ url, layout, s3 }: Question): string {
  const prefix = url.replace(/^s3:\/\//, '');
  if (layout === 'delta') return s3 === undefined ? localTable(url) : s3Table(s3, prefix);
  if (s3 === undefined) return `file('${url}/*/*/*.parquet', 'Parquet')`;
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  return `s3('${endpoint}/${prefix}/*/*/*.parquet', '${accessKeyId}', '${secretAccessKey}', 'Parquet')`;
}

function sqlOf({ what, where }: Question): string {
  if (what === 'count')
    return `SELECT count() AS n FROM t WHERE \`${where!.column}\` ${where!.op} ${literal(where!)}`;
  return { totals: TOTALS, whole: WHOLE, rows: 'SELECT * FROM t' }[what];
}

function literal({ kind, value }: Where): string {
  const quoted = `'${value.replace(/[\\']/g, '\\$&')}'`;
  const casts = { long: 'toInt64', double: 'toFloat64', date: 'toDate' } as const;
  if (kind === 'time') return `fromUnixTimestamp64Micro(toInt64('${value}'), 'UTC')`;
  return kind === 'text' ? quoted : `${casts[kind]}(${quoted})`;
}

/** As those of Row. */
function cellOf(name: string, type: string): string {
  const column = `\`${name}\``;
  const inner = type
    .replace(/^Nullable\((.*)\)$/, '$1')
    .replace(/^LowCardinality\((?:Nullable\()?([^)]*)\)*$/, '$1');
  const bits = `lpad(lower(hex(reinterpretAsUInt64(assumeNotNull(${column})))), 16, '0')`;
  const text = inner.startsWith('DateTime64')
    ? `'T' || toString(toUnixTimestamp64Micro(${column}))`
    : inner === 'Float64'
      ? `if(isNaN(${column}), 'Dnan', 'D' || ${bits})`
      : `'${/^U?Int/.test(inner) ? 'L' : 'S'}' || toString(${column})`;
  return type.includes('Nullable') ? `if(isNull(${column}), NULL, ${text})` : text;
}
