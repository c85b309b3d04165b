/** Commands about the lake as a whole: asked, described, cleaned, converted, mended. */
import type { CommandRow, OptionRow } from './context.ts';
import { JSON_RESULT } from './table-options.ts';

const WIDE_OPTIONS: readonly OptionRow[] = [
  [
    '--columns <name...>',
    'of `wide`: names of series; all: every one; without it those that every vessel has',
  ],
  ['--vessel <id...>', 'of `wide`: the vessels whose series are meant, such as those of one type'],
  ['--window <duration>', 'of `wide`: minutes, hours or 1d that divide a day', '10m'],
  ['--aggregate <name>', 'of `wide`: mean, last, min, max, time-weighted', 'mean'],
  ['--hold <duration>', 'of `wide`, time-weighted: a reading stands no longer than this', '1h'],
];
const LAKE_JOBS: OptionRow = ['--job <name...>', 'jobs to ask, where several are of one dataset'];
const FETCH: OptionRow = ['--fetch-gb <n>', 'of a lake elsewhere: fetch no more than this for a query', 4];

export const LAKE_COMMANDS: readonly CommandRow[] = [
  {
    name: 'sql',
    summary: "ask DuckDB about the lake's views; without a query: those on stdin, or a prompt",
    argument: ['[query]', "such as 'SELECT * FROM coverage'"],
    options: [
      ['--csv', 'print every row as CSV'],
      ['--json', 'print every row as a line of JSON'],
      ['--parquet <file>', 'write every row to a Parquet file'],
      ['--svg <file>', 'draw a chart: the first column is time, each other one a line'],
      ['--title <text>', 'with --svg: what stands above the chart'],
      LAKE_JOBS,
      ...WIDE_OPTIONS,
      FETCH,
    ],
    examples: [
      'sql "SHOW TABLES"',
      `sql "SELECT * FROM readings WHERE date = '2026-01-05'" --csv`,
      "sql 'FROM wide' --columns 'Shaft Power' --window 1h --csv",
      `sql "SELECT timestamp, value FROM readings LIMIT 99" --svg x.svg`,
      'sql < queries.sql',
    ],
    perform: async (...given) => (await import('./sql.ts')).sqlCommand(...given),
  },
  {
    name: 'views',
    summary: 'print SQL that makes views of this lake in a warehouse: series, readings, receipts, wide, …',
    options: [
      ['--for <engine>', 'duckdb, athena, snowflake, bigquery, spark, trino, clickhouse, fabric or dbt'],
      ['--location <address>', 'where the engine finds the lake, or a copy of it; without it LAKE_URL'],
      ['--schema <name>', 'schema, dataset or database of the views'],
      LAKE_JOBS,
      ...WIDE_OPTIONS,
      FETCH,
    ],
    examples: [
      'views --for duckdb > lake.sql',
      'views --for athena --schema vessels',
      'views --for clickhouse --columns Draft --aggregate time-weighted',
    ],
    perform: async (context, _, options) => (await import('./views.ts')).viewsCommand(context, options),
  },
  {
    name: 'gc',
    summary: 'find what unfinished exports left behind for more than a day',
    options: [['--yes', 'remove it; without this nothing is touched'], JSON_RESULT],
    examples: ['gc', 'gc --yes'],
    perform: async (context, _, options) => (await import('./gc.ts')).gcCommand(context, options),
  },
  {
    name: 'convert',
    summary:
      'make a plain lake a Delta table for each job, in place; killed, it goes on when it is run again',
    options: [['--to <layout>', 'what it becomes: delta'], JSON_RESULT],
    examples: ['convert --to delta'],
    perform: async (context, _, options) => (await import('./convert.ts')).convertCommand(context, options),
  },
  {
    name: 'rebuild-log',
    summary: "make the log of a job's Delta table say what the receipts say, where it is damaged or lost",
    argument: ['<job>', 'name of a job'],
    options: [['--yes', 'write it; without this nothing is touched'], JSON_RESULT],
    examples: ['rebuild-log measurements', 'rebuild-log measurements --yes'],
    perform: async (...given) => (await import('./rebuild-log.ts')).rebuildLogCommand(...given),
  },
];
