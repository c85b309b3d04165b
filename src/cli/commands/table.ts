/** What can be typed: every command with its arguments, options and examples, in one table. */
import { completeCommand, completionCommand, SHELLS } from './completion.ts';
import type { CommandRow, OptionRow } from './context.ts';
import { DAY_COMMANDS, JOBS, JSON_RESULT, LAKE_COMMANDS } from './table-lake.ts';
import { QUEUE_COMMANDS } from './table-queue.ts';

const CATALOGUE: readonly OptionRow[] = [
  ['--lake', 'ask the lake alone: its snapshots of metadata, and its receipts'],
  ['--days <n>', 'days before now in which last readings are looked for (0: none)', 7],
  ['--json', 'print the result as JSON'],
  ['--csv', 'print it as CSV'],
];

/** In the order of the help. */
export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'demo',
    summary: 'start a query service with made-up vessels, export them into ./demo-lake, and query the result',
    options: [
      ['--lake <folder>', 'folder of the lake, for made-up readings alone', 'demo-lake'],
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
      ['--allow-http', 'send secrets in clear to other machines (QUERY_ALLOW_HTTP=1)'],
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
    perform: async (context, _, options) => (await import('./catalogue.ts')).vesselsCommand(context, options),
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
      (await import('./catalogue.ts')).seriesCommand(context, vessel, options),
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
    summary: 'list what may be typed in place of the last word, for the scripts of `completion`',
    argument: ['[word...]', 'what is typed'],
    examples: ['complete -- run me'],
    hidden: true,
    perform: async (context, words) => completeCommand(context, COMMANDS, words),
  },
];
