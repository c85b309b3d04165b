/** argv → command; the only process.exit. */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { readVersion } from './app.ts';
import { configCommand } from './commands/config.ts';
import type { CommandContext } from './commands/context.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE } from './commands/context.ts';
import { CancelledError, ConfigError, VesselExportError } from './errors.ts';

/** Run the command that `argv` names, and exit with its code. */
export async function main(argv: readonly string[]): Promise<void> {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(EXIT_INTERRUPTED);
    process.stderr.write('\nstopping; once more to stop at once\n');
    stop.abort(new CancelledError('interrupted'));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const context: CommandContext = {
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: stop.signal,
  };
  const code = await perform(context, argv);
  // Both streams may be pipes: what was written must be out before the process ends.
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))),
  );
  process.exit(code);
}

async function perform(context: CommandContext, argv: readonly string[]): Promise<number> {
  let code = EXIT_OK;
  const program = buildProgram(context, (result) => {
    code = result;
  });
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (error) {
    return report(context, error);
  }
}

function report(context: CommandContext, error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
  if (error instanceof CancelledError) {
    context.stderr.write('interrupted; run the same command again to finish\n');
    return EXIT_INTERRUPTED;
  }
  if (error instanceof VesselExportError) {
    context.stderr.write(`error: ${error.message}\n`);
    return error instanceof ConfigError ? EXIT_USAGE : EXIT_FAILED;
  }
  context.stderr.write(
    `internal error, please report it: ${error instanceof Error ? error.stack : String(error)}\n`,
  );
  return EXIT_FAILED;
}

/** The command line; commands are loaded when they are used. */
function buildProgram(context: CommandContext, done: (code: number) => void): Command {
  const program = new Command('vessel-export')
    .description(
      'Copies vessel sensor time series into a lake of Parquet, one object per vessel and day, and proves each day complete.',
    )
    .version(readVersion())
    .exitOverride()
    .showHelpAfterError(`(run 'vessel-export --help' for the commands)`)
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
    });
  addDemo(program, context, done);
  addRun(program, context, done);
  addPlan(program, context, done);
  addReconcile(program, context, done);
  addStatus(program, context, done);
  addVerify(program, context, done);
  addGc(program, context, done);
  addBackfill(program, context, done);
  addFleet(program, context, done);
  addService(program, context, done);
  program
    .command('config')
    .description('show the effective settings, secrets masked, and where each came from')
    .option('--json', 'print JSON')
    .action((options) => done(configCommand(context, options)));
  return program;
}

type Done = (code: number) => void;

function addDemo(program: Command, context: CommandContext, done: Done): void {
  program
    .command('demo')
    .description('start a query service with made-up vessels, export them into ./lake, and query the result')
    .option('--lake <folder>', 'folder of the lake', 'lake')
    .option('--readings-per-day <n>', 'readings per vessel and day', wholeNumber, 250_000)
    .action(async (options) => {
      const { demoCommand } = await import('./commands/demo.ts');
      done(await demoCommand(context, options));
    });
}

function addRun(program: Command, context: CommandContext, done: Done): void {
  program
    .command('run')
    .description('export the due vessel-days of all or some jobs in this process')
    .argument('[job...]', 'names of jobs; all of them when none is given')
    .option('--from <date>', 'first UTC date (default: yesterday)')
    .option('--to <date>', 'UTC date to stop before (default: tomorrow)')
    .option('--vessel <id...>', "these vessels instead of the job's own, such as IMO9321483")
    .option('--force', 'export days again that are done')
    .option('--allow-shrink', 'publish a day although series lose readings')
    .option('--takeover', 'take vessel-days from a process that seems to be alive')
    .option('--json', 'print the result as JSON')
    .action(async (jobs, options) => {
      const { runCommand } = await import('./commands/run.ts');
      done(await runCommand(context, jobs, options));
    });
}

function addPlan(program: Command, context: CommandContext, done: Done): void {
  program
    .command('plan')
    .description('say what a run will take: vessel-days, readings, requests, bytes, time; writes nothing')
    .argument('[job...]', 'names of jobs; all of them when none is given')
    .option('--from <date>', 'first UTC date (default: yesterday)')
    .option('--to <date>', 'UTC date to stop before (default: tomorrow)')
    .option('--vessel <id...>', "these vessels instead of the job's own")
    .option('--json', 'print the result as JSON')
    .action(async (jobs, options) => {
      const { planCommand } = await import('./commands/plan.ts');
      done(await planCommand(context, jobs, options));
    });
}

function addReconcile(program: Command, context: CommandContext, done: Done): void {
  program
    .command('reconcile')
    .description(
      'find published days whose source has changed; --run exports exactly those again, --enqueue has workers do it',
    )
    .argument('[job...]', 'names of jobs; all of them when none is given')
    .option('--days <n>', "days before today (default: the job's look-back, or 14)", wholeNumber)
    .option('--from <date>', 'first UTC date')
    .option('--to <date>', 'UTC date to stop before (default: today)')
    .option('--vessel <id...>', "these vessels instead of the job's own")
    .option('--run', 'export what changed, in this process')
    .option('--enqueue', 'put what changed into the queue')
    .option('--allow-shrink', 'with --run or --enqueue: publish days too that lose readings')
    .option('--takeover', 'with --run: take vessel-days from a process that seems to be alive')
    .option('--json', 'print the result as JSON')
    .action(async (jobs, options) => {
      const { reconcileCommand } = await import('./commands/reconcile.ts');
      done(await reconcileCommand(context, jobs, options));
    });
}

function addStatus(program: Command, context: CommandContext, done: Done): void {
  program
    .command('status')
    .description('show what the lake holds of each vessel-day; asks the lake only')
    .argument('[job...]', 'names of jobs; all of them when none is given')
    .option('--from <date>', 'first UTC date (default: 30 days ago)')
    .option('--to <date>', 'UTC date to stop before (default: tomorrow)')
    .option('--vessel <id...>', "these vessels instead of the job's own")
    .option('--discover', 'ask the service which vessels there are')
    .option('--json', 'print the result as JSON')
    .action(async (jobs, options) => {
      const { statusCommand } = await import('./commands/status.ts');
      done(await statusCommand(context, jobs, options));
    });
}

function addVerify(program: Command, context: CommandContext, done: Done): void {
  program
    .command('verify')
    .description('check receipts against objects; reads only')
    .argument('[job...]', 'names of jobs; all of them when none is given')
    .option('--from <date>', 'first UTC date (default: yesterday)')
    .option('--to <date>', 'UTC date to stop before (default: tomorrow)')
    .option('--vessel <id...>', 'these vessels only')
    .option('--deep', "read every row back and compare with the service's statistics")
    .option('--json', 'print the result as JSON')
    .action(async (jobs, options) => {
      const { verifyCommand } = await import('./commands/verify.ts');
      done(await verifyCommand(context, jobs, options));
    });
}

function addGc(program: Command, context: CommandContext, done: Done): void {
  program
    .command('gc')
    .description('find what unfinished exports left behind for more than a day')
    .option('--yes', 'remove it; without this nothing is touched')
    .option('--json', 'print the result as JSON')
    .action(async (options) => {
      const { gcCommand } = await import('./commands/gc.ts');
      done(await gcCommand(context, options));
    });
}

function addBackfill(program: Command, context: CommandContext, done: Done): void {
  const actions = ['list', 'pause', 'resume', 'cancel'] as const;
  program
    .command('backfill')
    .description('cover a range through the queue; issued again, it goes on where it is')
    .usage('JOB --from D --to D [options] | list | pause ID… | resume ID… | cancel ID…')
    .argument('<job>', 'name of a job; or list, pause, resume, cancel')
    .argument('[id...]', 'backfills, as `backfill list` names them')
    .option('--from <date>', 'first UTC date')
    .option('--to <date>', 'UTC date to stop before')
    .option('--vessel <id...>', "these vessels instead of the job's own, such as IMO9321483")
    .option('--detach', 'leave it to the scheduler')
    .option('--failed', 'try vessel-days again that have failed')
    .option('--allow-shrink', 'publish a day although series lose readings')
    .action(async (job, ids, options) => {
      const { backfillCommand, backfillActionCommand } = await import('./commands/backfill.ts');
      const action = actions.find((name) => name === job);
      done(
        action === undefined
          ? await backfillCommand(context, job, options)
          : await backfillActionCommand(context, action, ids),
      );
    });
}

function addFleet(program: Command, context: CommandContext, done: Done): void {
  program
    .command('schedule')
    .description('keep the queue filled with what is due: nightly and late data by the jobs, and backfills')
    .option('--once', 'plan every job with a schedule now, and end')
    .action(async (options) => {
      const { scheduleCommand } = await import('./commands/schedule.ts');
      done(await scheduleCommand(context, options));
    });
  program
    .command('worker')
    .description('export vessel-days from the queue')
    .action(async () => {
      const { workerCommand } = await import('./commands/worker.ts');
      done(await workerCommand(context));
    });
}

function addService(program: Command, context: CommandContext, done: Done): void {
  program
    .command('service')
    .description('serve the query API from a made-up fleet or from an exported lake')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port; 0 takes a free one', wholeNumber, 8080)
    .option('--tenant <name>', 'tenant segment of the base URL', 'demo')
    .option('--seed <n>', 'seed of the made-up fleet', wholeNumber, 1)
    .option('--data <folder>', 'serve this lake instead of a made-up fleet')
    .option(
      '--clients <file>',
      'JSON list of { clientId, clientSecret, vessels }; made up at random without it',
    )
    .option('--vessels <n>', 'vessels of the made-up fleet', wholeNumber, 3)
    .option('--readings-per-day <n>', 'readings per made-up vessel and day', wholeNumber, 100_000)
    .option('--rate <n>', 'requests per minute and address', wholeNumber)
    .option('--max-concurrency <n>', 'requests at once per credential', wholeNumber)
    .option('--latency <ms>', 'wait before each answer, as a service far away does', wholeNumber)
    .option('--token-ttl <seconds>', 'lifetime of access tokens', wholeNumber, 3_600)
    .action(async (options) => {
      const { serviceCommand } = await import('./commands/service.ts');
      done(await serviceCommand(context, options));
    });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('expected a whole number.');
  return Number(text);
}
