/** `init`: the first settings and the first job, checked before they are written. */
import { existsSync } from 'node:fs';
import { ConfigError, messageOf, usageError } from '../../core/errors.ts';
import { JOB_NAME, systemClock } from '../../core/model/index.ts';
import { loadServiceConfig } from '../../runtime/config/config.ts';
import { ENV_FILE } from '../../runtime/config/env-file.ts';
import { type Environment, readEnvironment } from '../../runtime/config/environment.ts';
import type { Settings } from '../../runtime/config/variables.ts';
import { openStore } from '../../store/open-store.ts';
import { EVERYTHING } from '../check/check.ts';
import { checkLake } from '../check/lake.ts';
import { checkService, openQuickClient } from '../check/service.ts';
import { formatChecks } from '../terminal/check-view.ts';
import { openPrompt, type Prompt } from '../terminal/prompt.ts';
import { paint, writeText } from '../terminal/screen.ts';
import { type CommandContext, EXIT_FAILED, EXIT_OK } from './command.ts';
import { type Sample, sampleService } from './first-job.ts';
import { addSetting, unusedExamples, type WrittenJobs, writeJobs, writeSettings } from './init-files.ts';
import { askSettings, INIT_VARIABLES, type InitAnswers, type Values } from './init-questions.ts';

interface InitOptions extends InitAnswers {
  readonly job: string;
  readonly overwrite?: boolean;
  readonly jobOnly?: boolean;
  readonly examples?: boolean;
  readonly check: boolean;
}

export async function initCommand(context: CommandContext, options: InitOptions): Promise<number> {
  if (!JOB_NAME.test(options.job))
    throw usageError(`--job: got '${options.job}', expected small letters, digits, '-' and '_'`);
  const path = context.envFile?.path ?? ENV_FILE;
  const { stdin, stderr, signal } = context;
  const prompt = stdin !== undefined && stderr.isTTY === true ? openPrompt(stdin, stderr, signal) : undefined;
  try {
    const what = await whatToWrite(path, options, prompt);
    if (what === undefined) {
      writeText(stderr, `${path} stays as it is, and nothing was written\n`);
      return EXIT_FAILED;
    }
    const checked = what === 'job' ? await asItIs(context) : await askUntilGood(context, options, prompt);
    if (checked === undefined) return EXIT_FAILED;
    const { values, settings, sample } = checked;
    const excluded = await excludeExamples(context, settings, options, prompt);
    const all = [...(settings.JOBS_EXCLUDED ?? []), ...excluded];
    const exclusion = { ...(all.length > 0 && { JOBS_EXCLUDED: all.join(',') }) };
    if (what === 'settings') await writeSettings(path, { ...values, ...exclusion });
    else if (excluded.length > 0) await addSetting(path, 'JOBS_EXCLUDED', all.join(','));
    const overwrite = options.overwrite ?? false;
    const jobs = await writeJobs({ settings, job: options.job, sample, overwrite, excluded: all });
    writeText(
      context.stdout,
      closingText(what === 'settings' ? path : undefined, jobs, excluded, options.job, sample),
    );
    return EXIT_OK;
  } finally {
    prompt?.close();
  }
}

/** Asked before anything else: nobody wants to answer ten questions for nothing. */
async function whatToWrite(path: string, { overwrite, jobOnly }: InitOptions, prompt: Prompt | undefined) {
  if (jobOnly === true) return 'job';
  if (overwrite === true || !existsSync(path)) return 'settings';
  const found = `${path} is there already`;
  if (prompt === undefined) {
    const how = '--overwrite replaces what it says of service and lake, --job-only writes only the job';
    throw new ConfigError('file-exists', `${found}; ${how}`);
  }
  if (await prompt.confirm(`${found}. Answer anew what it says of service and lake?`, false))
    return 'settings';
  return (await prompt.confirm('Write a job with the settings as they are?', true)) ? 'job' : undefined;
}

/** The settings as every command reads them. Throws ConfigError. */
async function asItIs(context: CommandContext) {
  const { settings } = loadServiceConfig(context.env, context.envFile);
  const { LAKE_URL } = readEnvironment(context.env, new Set(), context.envFile).settings;
  if (LAKE_URL === undefined)
    throw new ConfigError('configuration', 'LAKE_URL: not set, expected where the lake is');
  const all = { ...settings, LAKE_URL };
  return { values: {}, settings: all, sample: await findSample(context, all) };
}

/** Jobs that came with the package and that nobody has run: those of them that are to be ignored. */
async function excludeExamples(
  context: CommandContext,
  settings: Partial<Settings>,
  { job, examples }: InitOptions,
  prompt: Prompt | undefined,
): Promise<readonly string[]> {
  const { JOBS_DIR: folder = 'jobs', JOBS_EXCLUDED: excluded = [], LAKE_URL } = settings;
  if (examples === true || LAKE_URL === undefined) return [];
  const store = await openStore(LAKE_URL, context.env);
  const unused = await unusedExamples(folder, store, job, excluded).finally(() => store.close());
  if (unused.length === 0 || prompt === undefined) return unused;
  const found = `${folder} has the examples ${unused.join(', ')}, which export everything of every vessel`;
  const isWanted = await prompt.confirm(
    `${found}. Is a command without the name of a job to run them too?`,
    false,
  );
  return isWanted ? [] : unused;
}

/** Undefined: a check has failed, and nothing must be written. */
async function askUntilGood(context: CommandContext, options: InitOptions, prompt: Prompt | undefined) {
  const { stderr } = context;
  let known: Environment = context.env;
  let answers: InitAnswers = options;
  for (;;) {
    const values = await askSettings(answers, known, prompt, stderr);
    const env = withAnswers(context.env, values);
    const { settings } = readEnvironment(env);
    if (!options.check) return { values, settings, sample: undefined };
    writeText(stderr, 'Checking the service and the lake …\n');
    // Each value was checked by itself already.
    const service = checkService(settings as Settings, EVERYTHING, systemClock, context.signal);
    const use = { settings, jobs: [options.job] };
    const lake = checkLake(settings.LAKE_URL!, env, systemClock, context.signal, use);
    const results = [...(await Array.fromAsync(service)), ...(await Array.fromAsync(lake))];
    writeText(stderr, `${formatChecks(results, stderr)}\n`);
    if (!results.some(({ state }) => state === 'failed'))
      return { values, settings, sample: await findSample(context, settings) };
    if (prompt === undefined) {
      writeText(stderr, `${paint(stderr, 'red', 'nothing was written')}; --no-check writes all the same\n`);
      return undefined;
    }
    if (await prompt.confirm('Something has failed. Answer again?', true)) {
      // The last answers are the defaults now.
      known = env;
      answers = {};
    } else if (await prompt.confirm('Write all the same?', false)) {
      return { values, settings, sample: undefined };
    } else {
      writeText(stderr, 'nothing was written\n');
      return undefined;
    }
  }
}

function withAnswers(env: Environment, values: Values): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !INIT_VARIABLES.includes(name));
  return { ...Object.fromEntries(others), ...values };
}

const SAMPLE_PATIENCE_MS = 30_000;

/** Without a sample the job is a general one, which is no failure. */
async function findSample(context: CommandContext, settings: Partial<Settings>): Promise<Sample | undefined> {
  const { signal, stderr } = context;
  const patience = { limit: 1, patienceMs: SAMPLE_PATIENCE_MS };
  const client = openQuickClient(settings as Settings, systemClock, patience);
  try {
    return await sampleService({ client, signal });
  } catch (error) {
    signal.throwIfAborted();
    writeText(stderr, `no series were found for a first job: ${messageOf(error)}\n`);
    return undefined;
  } finally {
    await client.close();
  }
}

function closingText(
  envPath: string | undefined,
  { written, kept }: WrittenJobs,
  excluded: readonly string[],
  job: string,
  sample: Sample | undefined,
): string {
  const files = [...(envPath === undefined ? [] : [`${envPath} (mode 600)`]), ...written];
  const lines = [
    ...(files.length > 0 ? [`wrote ${files.join(', ')}`] : []),
    ...kept.map((path) => `${path} was there already and stays as it is`),
    ...(excluded.length > 0 ? [`ignored, by JOBS_EXCLUDED: ${excluded.join(', ')}`] : []),
  ];
  const steps = [
    ['check', 'does everything work, and what does each job select'],
    [
      `series${sample === undefined ? '' : ` ${sample.vessel}`}`,
      `what there is: put it into jobs/${job}.yaml`,
    ],
    [`plan ${job}`, 'what a run will take'],
    ['run', 'export yesterday and today, as far as they are over'],
  ];
  const next = steps.map(([command, meaning]) => `  vessel-export ${command!.padEnd(20)} # ${meaning}`);
  return `${lines.join('\n')}\n\nNext steps:\n${next.join('\n')}\n`;
}
