/** What can be typed: every command with its arguments, options and examples, in one table. */
import { completeCommand, completionCommand, SHELLS } from './completion.ts';
import type { CommandRow, OptionRow } from './context.ts';

const JOBS = ['[job...]', 'names of jobs; all of them when none is given'] as const;
const VESSEL: OptionRow = ['--vessel <id...>', "these vessels instead of the job's own, such as IMO9321483"];
const EXPORT_DATES = dateOptions('yesterday and today');
const LOOK_DATES = dateOptions("the job's look-back, or 14 days, and today");
const JSON_RESULT: OptionRow = ['--json', 'print the result as JSON'];
const NDJSON_RESULT: OptionRow = ['--ndjson', 'print it as lines of JSON, as they come'];
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
const ALLOW_SHRINK: OptionRow = ['--allow-shrink', 'publish a day although series lose readings'];

const CATALOGUE: readonly OptionRow[] = [
  ['--lake', 'ask the lake alone: its snapshots of metadata, and its receipts'],
  ['--days <n>', 'look for last readings in so many days before now (0: not at all)', 7],
  ['--json', 'print the result as JSON'],
  ['--csv', 'print it as CSV'],
];

/** `meant`: the dates that are meant without these options. */
function dateOptions(meant: string): readonly OptionRow[] {
  return [
    ['--from <date>', `first UTC date, or yesterday, or today (without dates: ${meant})`],
    ['--to <date>', 'UTC date to stop before'],
    ['--days <n>', 'the n days before today, and today'],
    ['--month <yyyy-mm>', 'a month'],
  ];
}

function backfillAction(name: 'pause' | 'resume' | 'cancel', summary: string): CommandRow {
  return {
    name,
    summary,
    argument: ['<id...>', 'backfills, as `backfill list` names them'],
    examples: [`backfill ${name} ID`],
    perform: async (context, ids) =>
      (await import('./backfill.ts')).backfillActionCommand(context, name, ids),
  };
}

/** In the order of the help. */
export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'demo',
    summary: 'start a query service with made-up vessels, export them into ./lake, and query the result',
    options: [
      ['--lake <folder>', 'folder of the lake', 'lake'],
      ['--readings-per-day <n>', 'readings per vessel and day', 250_000],
      ['--layout <layout>', 'how a new lake is read: plain (default) or delta, a table'],
    ],
    examples: ['demo', 'demo --layout delta', 'demo --lake /tmp/lake --readings-per-day 20000'],
    perform: async (context, _, options) => (await import('./demo.ts')).demoCommand(context, options),
  },
  {
    name: 'init',
    summary: 'ask for service, credentials and lake, check them, and write .env and a first job',
    options: [
      ['--base-url <url>', 'address of the query service, with its tenant segment'],
      ['--auth-url <url>', 'address that gives access tokens'],
      ['--client-id <id>', 'client id'],
      [
        '--client-secret-file <file>',
        'file that holds the client secret (or QUERY_CLIENT_SECRET in the environment)',
      ],
      ['--lake-url <url>', 'where the lake is to be: a folder, or s3://bucket/prefix'],
      ['--aws-endpoint <url>', "address of an S3 store other than Amazon's"],
      ['--aws-region <region>', 'region of the bucket'],
      ['--aws-access-key-id <id>', 'access key id of the store'],
      ['--aws-secret-file <file>', 'file that holds the secret access key'],
      ['--allow-http', 'send credentials in clear to a service on another machine'],
      ['--job <name>', 'name of the first job', 'first'],
      ['--overwrite', 'replace files that are there'],
      ['--no-check', 'write without trying'],
    ],
    examples: ['init', 'init --base-url https://api.example.com/acme --lake-url ./lake'],
    perform: async (context, _, options) => (await import('./init.ts')).initCommand(context, options),
  },
  {
    name: 'check',
    summary: 'check everything that an export needs, and say what to do about what does not work',
    argument: JOBS,
    options: [JSON_RESULT],
    tellsOfEnvFile: true,
    examples: ['check', 'check measurements --json'],
    perform: async (context, jobs, options) =>
      (await import('./check.ts')).checkCommand(context, jobs, options),
  },
  {
    name: 'vessels',
    summary: 'list the vessels of the service, with their last reading and the jobs that export them',
    options: CATALOGUE,
    examples: ['vessels', 'vessels --lake --csv'],
    perform: async (context, _, options) => (await import('./vessels.ts')).vesselsCommand(context, options),
  },
  {
    name: 'series',
    summary: "list the series of a vessel, or of all: names for a job's select, units, ranges, last readings",
    argument: ['[vessel]', 'such as IMO9321483; all vessels without it'],
    options: [
      ['--search <text>', 'only those with this text in a name, description, unit or source'],
      ['--select <expression...>', 'ask these, such as "flat/{vessel}/*", instead of the usual domains'],
      ...CATALOGUE,
    ],
    examples: ['series', 'series IMO9321483 --search power', 'series --csv > series.csv'],
    perform: async (context, vessel, options) =>
      (await import('./series.ts')).seriesCommand(context, vessel, options),
  },
  {
    name: 'run',
    summary: 'export the due vessel-days of all or some jobs in this process',
    argument: JOBS,
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
    perform: async (...given) => (await import('./run.ts')).runCommand(...given),
  },
  {
    name: 'plan',
    summary: 'say what a run will take: vessel-days, readings, requests, bytes, time; writes nothing',
    argument: JOBS,
    options: [...EXPORT_DATES, VESSEL, JSON_RESULT],
    examples: ['plan', 'plan measurements --from 2023-01-01 --to 2026-01-01'],
    perform: async (...given) => (await import('./plan.ts')).planCommand(...given),
  },
  {
    name: 'reconcile',
    summary:
      'find published days whose source has changed; --run exports exactly those again, --enqueue has workers do it',
    argument: JOBS,
    options: [
      ...LOOK_DATES,
      VESSEL,
      ['--run', 'export what changed, in this process'],
      ['--enqueue', 'put what changed into the queue'],
      ['--allow-shrink', 'with --run or --enqueue: publish days too that lose readings'],
      ['--takeover', 'with --run: take vessel-days from a process that seems to be alive'],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: ['reconcile', 'reconcile measurements --days 90 --run'],
    perform: async (...given) => (await import('./reconcile.ts')).reconcileCommand(...given),
  },
  {
    name: 'status',
    summary: 'show what the lake holds of each vessel-day; asks the lake only',
    argument: JOBS,
    options: [
      ...LOOK_DATES,
      VESSEL,
      ['--discover', 'ask the service which vessels there are'],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: ['status', 'status measurements --from 2025-01-01 --to 2026-01-01'],
    perform: async (...given) => (await import('./status.ts')).statusCommand(...given),
  },
  {
    name: 'verify',
    summary: 'check receipts against objects; reads only',
    argument: JOBS,
    options: [
      ...dateOptions('the whole lake'),
      ['--vessel <id...>', 'these vessels only'],
      ['--deep', "read every row back and compare with the service's statistics"],
      JSON_RESULT,
      NDJSON_RESULT,
    ],
    examples: ['verify', 'verify measurements --days 7 --deep'],
    perform: async (...given) => (await import('./verify.ts')).verifyCommand(...given),
  },
  {
    name: 'accept',
    summary: 'accept that vessels have fewer series than before: what a receipt remarks, or a day waits for',
    argument: ['<job>', 'name of a job'],
    secondArgument: ['<vessel...>', 'such as IMO9321483'],
    options: [JSON_RESULT],
    examples: ['accept measurements IMO9321483'],
    perform: async (context, [job, vessels], options) =>
      (await import('./accept.ts')).acceptCommand(context, job, vessels, options),
  },
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
    name: 'backfill',
    summary: 'cover a range through the queue; issued again, it goes on where it is',
    argument: ['<job>', 'name of a job'],
    options: [
      ...dateOptions('with --failed only'),
      VESSEL,
      ['--detach', 'leave it to the scheduler'],
      ['--failed', 'try vessel-days again that have failed'],
      ALLOW_SHRINK,
    ],
    examples: [
      'backfill measurements --from 2023-01-01 --to 2026-01-01 --detach',
      'backfill measurements --failed',
      'backfill list',
    ],
    perform: async (...given) => (await import('./backfill.ts')).backfillCommand(...given),
    subcommands: [
      {
        name: 'list',
        summary: 'show the backfills under way, and how far they are',
        options: [JSON_RESULT],
        examples: ['backfill list', 'backfill list --json'],
        perform: async (context, _, options) =>
          (await import('./backfill.ts')).backfillActionCommand(context, 'list', [], {}, options),
      },
      backfillAction('pause', 'take what waits out of the queue, and add no more until it is resumed'),
      backfillAction('resume', 'go on with a paused backfill'),
      backfillAction('cancel', 'end a backfill; what is exported stays'),
    ],
  },
  {
    name: 'schedule',
    summary: 'keep the queue filled with what is due: nightly and late data by the jobs, and backfills',
    options: [
      ['--once', 'plan every job with a schedule now, and end'],
      ['--json', 'with --once: print the result as JSON'],
    ],
    examples: ['schedule', 'schedule --once'],
    isLongRunning: true,
    perform: async (context, _, options) => (await import('./schedule.ts')).scheduleCommand(context, options),
  },
  {
    name: 'notify',
    summary: 'send a test message to where NOTIFY_URL says',
    argument: ['<what>', 'what to send', ['test']],
    examples: ['notify test'],
    perform: async (context) => (await import('./notify.ts')).notifyCommand(context),
  },
  {
    name: 'worker',
    summary: 'export vessel-days from the queue',
    examples: ['worker', 'worker   # as many as there is work for, on as many machines'],
    isLongRunning: true,
    perform: async (context) => (await import('./worker.ts')).workerCommand(context),
  },
  {
    name: 'hold',
    summary: 'say whether the queue is on hold, and why',
    examples: ['hold', 'hold lift'],
    perform: async (context) => (await import('./hold.ts')).holdCommand(context),
    subcommands: [
      {
        name: 'lift',
        summary:
          'have every worker try now, whatever its probe says; if the fault lasts, the hold comes back',
        examples: ['hold lift'],
        perform: async (context) => (await import('./hold.ts')).liftHoldCommand(context),
      },
    ],
  },
  {
    name: 'web',
    summary: 'serve the page from a lake alone: no Redis, no query service',
    options: [
      ['--host <host>', 'address to listen on, instead of HTTP_HOST'],
      ['--port <n>', 'port, instead of HTTP_PORT; 0 takes a free one'],
    ],
    examples: ['web', 'web --port 8000'],
    isLongRunning: true,
    perform: async (context, _, options) => (await import('./web.ts')).webCommand(context, options),
  },
  {
    name: 'service',
    summary: 'serve the query API from a made-up fleet, an exported lake or a file of readings',
    options: [
      ['--host <host>', 'address to listen on', '127.0.0.1'],
      ['--port <n>', 'port; 0 takes a free one', 8080],
      ['--tenant <name>', 'tenant segment of the base URL', 'demo'],
      ['--seed <n>', 'seed of the made-up fleet', 1],
      ['--data <folder>', 'serve this lake instead of a made-up fleet'],
      ['--replay <file>', 'serve these series and readings (NDJSON) instead of a made-up fleet'],
      ['--clients <file>', 'JSON list of { clientId, clientSecret, vessels }; made up at random without it'],
      ['--vessels <n>', 'vessels of the made-up fleet', 3],
      ['--readings-per-day <n>', 'readings per made-up vessel and day', 100_000],
      ['--rate <n>', 'requests per minute and address'],
      ['--max-concurrency <n>', 'requests at once per credential'],
      ['--latency <ms>', 'wait before each answer, as a service far away does'],
      ['--token-ttl <seconds>', 'lifetime of access tokens', 3_600],
      ['--max-connections <n>', 'connections at once, of all clients'],
      ['--max-connections-per-address <n>', 'connections at once from one address'],
      ['--access-log', 'one line of JSON on stderr for every answer'],
    ],
    examples: [
      'service --port 0',
      'service --data ./lake --clients clients.json',
      'service --replay voyage.ndjson',
      'service --rate 600 --latency 80',
    ],
    isLongRunning: true,
    perform: async (context, _, options) => (await import('./service.ts')).serviceCommand(context, options),
  },
  {
    name: 'config',
    tellsOfEnvFile: true,
    summary: 'show the effective settings, secrets masked, and where each came from',
    options: [['--json', 'print JSON']],
    examples: ['config', 'config --json'],
    perform: async (context, _, options) => (await import('./config.ts')).configCommand(context, options),
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands, options and jobs in a shell',
    argument: ['<shell>', 'which shell', SHELLS],
    examples: [
      'completion bash >> ~/.bashrc',
      'completion zsh >> ~/.zshrc',
      'completion fish > ~/.config/fish/completions/vessel-export.fish',
    ],
    perform: async (context, shell) => completionCommand(context, shell),
  },
  {
    name: 'complete',
    summary: 'what may stand in the place of the last word; the scripts of `completion` ask this',
    argument: ['[word...]', 'what is typed'],
    examples: ['complete -- run me'],
    hidden: true,
    perform: async (context, words) => completeCommand(context, COMMANDS, words),
  },
];
