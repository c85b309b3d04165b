/** What can be typed: every command with its arguments, options and examples, in one table. */
import { completeCommand, completionCommand, SHELLS } from './completion.ts';
import type { CommandRow, OptionRow } from './context.ts';
import {
  ALLOW_SHRINK,
  DAY_COMMANDS,
  dateOptions,
  JOBS,
  JSON_RESULT,
  LAKE_COMMANDS,
  VESSEL,
} from './table-lake.ts';

const CATALOGUE: readonly OptionRow[] = [
  ['--lake', 'read the lake only: its snapshots of metadata, and its receipts'],
  ['--days <n>', 'search last readings in the n days before now (0: none)', 7],
  ['--json', 'print the result as JSON'],
  ['--csv', 'print it as CSV'],
];

/** About the queue and its processes. */
const QUEUE_COMMANDS: readonly CommandRow[] = [
  {
    name: 'backfill',
    summary: 'export a range through the queue; the same command continues it',
    arguments: [['<job>', 'name of a job']],
    options: [
      ...dateOptions('with --failed only'),
      VESSEL,
      ['--detach', 'return at once; the scheduler continues it'],
      ['--failed', 'retry vessel-days that have failed'],
      ALLOW_SHRINK,
    ],
    examples: [
      'backfill measurements --from 2023-01-01 --to 2026-01-01 --detach',
      'backfill measurements --failed',
      'backfill list',
    ],
    load: async () => (await import('./backfill.ts')).backfillCommand,
    subcommands: [
      {
        name: 'list',
        summary: 'show unfinished backfills and their progress',
        options: [JSON_RESULT],
        examples: ['backfill list', 'backfill list --json'],
        load: async () => (await import('./backfill.ts')).backfillListCommand,
      },
      backfillAction(
        'pause',
        'remove its waiting vessel-days from the queue, and add none until it is resumed',
      ),
      backfillAction('resume', 'continue a paused backfill'),
      backfillAction('cancel', 'end a backfill; exported days stay'),
    ],
  },
  {
    name: 'schedule',
    summary: 'keep the queue filled with due vessel-days: nightly runs, late data, backfills',
    options: [
      ['--once', 'plan every job with a schedule now, and exit'],
      ['--json', 'with --once: print the result as JSON'],
    ],
    examples: ['schedule', 'schedule --once'],
    isLongRunning: true,
    readsMuch: true,
    load: async () => (await import('./schedule.ts')).scheduleCommand,
  },
  {
    name: 'notify',
    summary: 'send a test message to NOTIFY_URL',
    arguments: [['<what>', 'what to send', ['test']]],
    examples: ['notify test'],
    load: async () => (await import('./notify.ts')).notifyCommand,
  },
  {
    name: 'worker',
    summary: 'export vessel-days from the queue',
    examples: ['worker', 'worker   # any number of them, on any number of machines'],
    isLongRunning: true,
    load: async () => (await import('./worker.ts')).workerCommand,
  },
  {
    name: 'hold',
    summary: 'show whether the queue is on hold, and why',
    examples: ['hold', 'hold lift'],
    load: async () => (await import('./hold.ts')).holdCommand,
    subcommands: [
      {
        name: 'lift',
        summary:
          'let every worker continue now, whatever its probe says; if the fault persists, the hold returns',
        examples: ['hold lift'],
        load: async () => (await import('./hold.ts')).liftHoldCommand,
      },
    ],
  },
  {
    name: 'web',
    summary: 'serve the page from the lake only, without Redis and query service',
    options: [
      ['--host <host>', 'address to listen on, instead of HTTP_HOST'],
      ['--port <n>', 'port, instead of HTTP_PORT; 0 takes a free one'],
    ],
    examples: ['web', 'web --port 8000'],
    isLongRunning: true,
    load: async () => (await import('./web.ts')).webCommand,
  },
];

function backfillAction(name: 'pause' | 'resume' | 'cancel', summary: string): CommandRow {
  return {
    name,
    summary,
    arguments: [['<id...>', 'backfills, as `backfill list` names them']],
    examples: [`backfill ${name} ID`],
    load: async () => (await import('./backfill.ts')).backfillChangeCommand(name),
  };
}

export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'demo',
    summary: 'start a query service with made-up vessels, export them into ./demo-lake, and query the result',
    options: [
      ['--lake <place>', 'folder or address of the lake; only for made-up readings', 'demo-lake'],
      ['--readings-per-day <n>', 'readings per vessel and day', 250_000],
      ['--layout <layout>', 'layout of a new lake: plain (default) or delta'],
    ],
    examples: ['demo', 'demo --layout delta', 'demo --lake /tmp/lake --readings-per-day 20000'],
    load: async () => (await import('./demo.ts')).demoCommand,
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
      ['--lake-url <url>', 'address of the lake: a folder, s3://bucket/prefix or az://container/prefix'],
      ['--aws-endpoint <url>', "address of an S3 store other than Amazon's"],
      ['--aws-region <region>', 'region of the bucket'],
      ['--aws-access-key-id <id>', 'access key id of the store'],
      ['--aws-secret-file <file>', 'file that holds the secret access key'],
      ['--azure-account <name>', 'storage account of an az:// lake'],
      ['--azure-key-file <file>', 'file that holds a key of the storage account'],
      ['--allow-http', 'send secrets in clear to other machines (QUERY_ALLOW_HTTP=1)'],
      ['--job <name>', 'name of the first job', 'first'],
      ['--job-only', 'write only the job, and leave the settings as they are'],
      ['--examples', "run this package's example jobs too, where they lie in JOBS_DIR"],
      ['--overwrite', 'replace existing files'],
      ['--no-check', 'write without checking'],
    ],
    examples: ['init', 'init --base-url https://api.example.com/acme --lake-url ./lake'],
    load: async () => (await import('./init.ts')).initCommand,
  },
  {
    name: 'check',
    summary: 'check everything that an export needs, and say how to fix what fails',
    arguments: [JOBS],
    options: [JSON_RESULT],
    tellsOfEnvFile: true,
    examples: ['check', 'check measurements --json'],
    load: async () => (await import('./check.ts')).checkCommand,
  },
  {
    name: 'vessels',
    summary: 'list the vessels of the service, with their last reading and the jobs that export them',
    options: CATALOGUE,
    examples: ['vessels', 'vessels --lake --csv'],
    load: async () => (await import('./catalogue.ts')).vesselsCommand,
  },
  {
    name: 'series',
    summary: "list the series of a vessel, or of all: names for a job's select, units, ranges, last readings",
    arguments: [['[vessel]', 'such as IMO9321483 (default: all vessels)']],
    options: [
      ['--search <text>', 'only those with this text in a name, description, unit or source'],
      ['--select <expression...>', 'query these, such as "flat/{vessel}/*", instead of the usual domains'],
      ...CATALOGUE,
    ],
    examples: ['series', 'series IMO9321483 --search power', 'series --csv > series.csv'],
    load: async () => (await import('./catalogue.ts')).seriesCommand,
  },
  ...DAY_COMMANDS,
  ...LAKE_COMMANDS,
  ...QUEUE_COMMANDS,
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
      [
        '--clients <file>',
        'JSON list of { clientId, clientSecret, vessels } (default: one client with random credentials)',
      ],
      ['--vessels <n>', 'vessels of the made-up fleet', 3],
      ['--readings-per-day <n>', 'readings per made-up vessel and day', 100_000],
      ['--rate <n>', 'requests per minute and address'],
      ['--max-concurrency <n>', 'requests at once per credential'],
      ['--latency <ms>', 'wait before each response, to simulate a distant service'],
      ['--token-ttl <seconds>', 'lifetime of access tokens', 3_600],
      ['--max-connections <n>', 'connections at once, of all clients'],
      ['--max-connections-per-address <n>', 'connections at once from one address'],
      ['--access-log', 'write one line of JSON to stderr for every response'],
    ],
    examples: [
      'service --port 0',
      'service --data ./lake --clients clients.json',
      'service --replay voyage.ndjson',
      'service --rate 600 --latency 80',
    ],
    isLongRunning: true,
    load: async () => (await import('./service.ts')).serviceCommand,
  },
  {
    name: 'config',
    tellsOfEnvFile: true,
    summary: 'show the effective settings and their sources, with secrets masked',
    options: [['--json', 'print JSON']],
    examples: ['config', 'config --json'],
    load: async () => (await import('./config.ts')).configCommand,
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands, options and jobs in a shell',
    arguments: [['<shell>', 'which shell', SHELLS]],
    examples: [
      'completion bash >> ~/.bashrc',
      'completion zsh >> ~/.zshrc',
      'completion fish > ~/.config/fish/completions/vessel-export.fish',
    ],
    load: async () => completionCommand,
  },
  {
    name: 'complete',
    summary: 'list what may be typed in place of the last word, for the scripts of `completion`',
    arguments: [['[word...]', 'what is typed']],
    examples: ['complete -- run me'],
    hidden: true,
    load: async () => (context, words) => completeCommand(context, COMMANDS, words),
  },
];
