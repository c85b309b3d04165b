/** Commands that work on vessel-days in their own process, or on the lake as a whole; and the options that commands share. */
import type { CommandRow, OptionRow } from './context.ts';

export const JOBS = ['[job...]', 'names of jobs (default: all)'] as const;
export const VESSEL: OptionRow = [
  '--vessel <id...>',
  "these vessels instead of the job's own, such as IMO9321483",
];
export const JSON_RESULT: OptionRow = ['--json', 'print the result as JSON'];
const NDJSON_RESULT: OptionRow = [
  '--ndjson',
  'print the result as lines of JSON, each as soon as it is known',
];
export const ALLOW_SHRINK: OptionRow = ['--allow-shrink', 'publish a day even if series lose readings'];

/** `meant`: the default dates. */
export function dateOptions(meant: string): readonly OptionRow[] {
  return [
    ['--from <date>', `first UTC date, or yesterday, or today (default: ${meant})`],
    ['--to <date>', 'first UTC date after the range'],
    ['--days <n>', 'today and the n days before'],
    ['--month <yyyy-mm>', 'a month'],
  ];
}

const EXPORT_DATES = dateOptions('yesterday and today');
const LOOK_DATES = dateOptions("today and the job's look-back, or 14 days");

export const DAY_COMMANDS: readonly CommandRow[] = [
  {
    name: 'run',
    summary: 'export the due vessel-days of all or some jobs in this process',
    arguments: [JOBS],
    options: [
      ...EXPORT_DATES,
      VESSEL,
      ['--force', 'export days again that are done'],
      ALLOW_SHRINK,
      ['--takeover', 'take vessel-days from a process that seems to be alive'],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: [
      'run',
      'run measurements --month 2026-01',
      'run --vessel IMO9321483 --from 2026-01-05 --force',
    ],
    load: async () => (await import('./run.ts')).runCommand,
  },
  {
    name: 'plan',
    summary: 'estimate what a run will take: vessel-days, readings, requests, bytes, time; writes nothing',
    arguments: [JOBS],
    options: [...EXPORT_DATES, VESSEL, JSON_RESULT],
    examples: ['plan', 'plan measurements --from 2023-01-01 --to 2026-01-01'],
    load: async () => (await import('./plan.ts')).planCommand,
  },
  {
    name: 'reconcile',
    summary:
      'find published days whose source has changed; --run exports them again, --enqueue lets workers do it',
    arguments: [JOBS],
    options: [
      ...LOOK_DATES,
      VESSEL,
      ['--run', 'export what changed, in this process'],
      ['--enqueue', 'put what changed into the queue'],
      ['--allow-shrink', 'with --run or --enqueue: also publish days that lose readings'],
      ['--takeover', 'with --run: take vessel-days from a process that seems to be alive'],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: ['reconcile', 'reconcile measurements --days 90 --run'],
    readsMuch: true,
    load: async () => (await import('./reconcile.ts')).reconcileCommand,
  },
  {
    name: 'status',
    summary: 'show the state of each vessel-day; reads the lake only',
    arguments: [JOBS],
    options: [
      ...LOOK_DATES,
      VESSEL,
      ['--discover', 'query the list of vessels from the service'],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: ['status', 'status measurements --from 2025-01-01 --to 2026-01-01'],
    readsMuch: true,
    load: async () => (await import('./status.ts')).statusCommand,
  },
  {
    name: 'verify',
    summary: 'compare objects with receipts; writes nothing',
    arguments: [JOBS],
    options: [
      ...dateOptions('the whole lake'),
      ['--vessel <id...>', 'these vessels only'],
      ['--deep', "read every row and compare with the service's statistics"],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: ['verify', 'verify measurements --days 7 --deep'],
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  {
    name: 'accept',
    summary:
      "accept warnings about vessels; without vessels, that the job's select covers fewer series; with --source, that the job has another source",
    arguments: [
      ['<job>', 'name of a job'],
      ['[vessel...]', 'such as IMO9321483 (default: the series that select no longer covers)'],
    ],
    options: [['--source', 'from now on export the job from QUERY_BASE_URL'], JSON_RESULT],
    examples: ['accept measurements IMO9321483', 'accept measurements', 'accept measurements --source'],
    load: async () => (await import('./accept.ts')).acceptCommand,
  },
];

const WIDE_OPTIONS: readonly OptionRow[] = [
  ['--columns <name...>', '`wide`: names of series, or all (default: the series that every vessel has)'],
  ['--vessel <id...>', '`wide`: only the series of these vessels, such as those of one type'],
  ['--window <duration>', '`wide`: minutes, hours or 1d that divide a day', '10m'],
  ['--aggregate <name>', '`wide`: mean, last, min, max or time-weighted', 'mean'],
  ['--hold <duration>', '`wide`, time-weighted: the longest time that a reading is valid', '1h'],
];
const LAKE_JOBS: OptionRow = ['--job <name...>', 'jobs to query, if several have the same dataset'];
const FETCH: OptionRow = ['--fetch-gb <n>', 'fetch at most this many GB of a remote lake for a query', 4];

export const LAKE_COMMANDS: readonly CommandRow[] = [
  {
    name: 'sql',
    summary: "query the lake's views with DuckDB; without a query, read stdin or open a prompt",
    arguments: [['[query]', "such as 'SELECT * FROM coverage'"]],
    options: [
      ['--csv', 'print every row as CSV'],
      ['--json', 'print every row as a line of JSON'],
      ['--parquet <file>', 'write every row to a Parquet file'],
      ['--svg <file>', 'draw a chart: the first column is the time, every other column a line'],
      ['--title <text>', 'with --svg: the title above the chart'],
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
    load: async () => (await import('./sql.ts')).sqlCommand,
  },
  {
    name: 'views',
    summary: 'print SQL that creates views of this lake in a warehouse: series, readings, receipts, wide, …',
    options: [
      [
        '--for <engine>',
        'duckdb, athena, snowflake, bigquery, spark, databricks, trino, clickhouse, fabric, dbt (with DuckDB) or dbt-spark',
      ],
      ['--location <address>', 'where the engine finds the lake or a copy of it (default: LAKE_URL)'],
      ['--schema <name>', 'schema, dataset or database of the views'],
      ['--out <folder>', 'write the project of dbt to this folder instead of printing it'],
      ['--overwrite', 'replace files there, except profiles.yml'],
      LAKE_JOBS,
      ...WIDE_OPTIONS,
      FETCH,
    ],
    examples: [
      'views --for duckdb > lake.sql',
      'views --for athena --schema vessels',
      'views --for clickhouse --columns Draft --aggregate time-weighted',
      'views --for dbt --out vessel-lake',
    ],
    load: async () => (await import('./views.ts')).viewsCommand,
  },
  {
    name: 'gc',
    summary: 'list files and uploads that unfinished exports left more than a day ago',
    options: [['--yes', 'remove them (default: only list them)'], JSON_RESULT],
    examples: ['gc', 'gc --yes'],
    load: async () => (await import('./gc.ts')).gcCommand,
  },
  {
    name: 'convert',
    summary: 'convert a plain lake to a Delta table for each job, in place; after a crash run it again',
    options: [['--to <layout>', 'the new layout: delta'], JSON_RESULT],
    examples: ['convert --to delta'],
    load: async () => (await import('./convert.ts')).convertCommand,
  },
  {
    name: 'rebuild-log',
    summary: "rebuild the log of a job's Delta table from the receipts, if it is damaged or lost",
    arguments: [['<job>', 'name of a job']],
    options: [['--yes', 'write it (default: only show it)'], JSON_RESULT],
    examples: ['rebuild-log measurements', 'rebuild-log measurements --yes'],
    load: async () => (await import('./rebuild-log.ts')).rebuildLogCommand,
  },
];
