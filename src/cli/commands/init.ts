/** `init`: writes the first settings and the first job, after checking them. */
import { existsSync, renameSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, messageOf, usageError } from '../../core/errors.ts';
import { JOB_NAME, systemClock } from '../../core/model/index.ts';
import { readSmallText } from '../../core/process/small-file.ts';
import { ENV_FILE, envLine } from '../../runtime/config/env-file.ts';
import { type Environment, readEnvironment } from '../../runtime/config/environment.ts';
import type { Settings } from '../../runtime/config/variables.ts';
import { EVERYTHING } from '../check/check.ts';
import { checkLake } from '../check/lake.ts';
import { checkService, openQuickClient } from '../check/service.ts';
import { formatChecks } from '../terminal/check-view.ts';
import { openPrompt, type Prompt } from '../terminal/prompt.ts';
import { paint, writeText } from '../terminal/screen.ts';
import { type CommandContext, EXIT_FAILED, EXIT_OK } from './command.ts';
import { firstJobText, type Sample, sampleService } from './first-job.ts';
import { askSettings, INIT_VARIABLES, type InitAnswers, type Values } from './init-questions.ts';

interface InitOptions extends InitAnswers {
  readonly job: string;
  readonly overwrite?: boolean;
  readonly check: boolean;
}

export async function initCommand(context: CommandContext, options: InitOptions): Promise<number> {
  if (!JOB_NAME.test(options.job))
    throw usageError(`--job: got '${options.job}', expected small letters, digits, '-' and '_'`);
  const path = context.envFile?.path ?? ENV_FILE;
  const { stdin, stderr, signal } = context;
  const prompt = stdin !== undefined && stderr.isTTY === true ? openPrompt(stdin, stderr, signal) : undefined;
  try {
    if (!(await mayWrite(path, options, prompt))) {
      writeText(stderr, `${path} stays as it is, and nothing was written\n`);
      return EXIT_FAILED;
    }
    const checked = await askUntilGood(context, options, prompt);
    if (checked === undefined) return EXIT_FAILED;
    const { values, settings, sample } = checked;
    await writeSettings(path, values);
    const job = await writeJob(settings.JOBS_DIR ?? 'jobs', options, sample);
    writeText(context.stdout, closingText(path, job, options.job, sample));
    return EXIT_OK;
  } finally {
    prompt?.close();
  }
}

/** Checked before the questions, which would otherwise be answered in vain. */
async function mayWrite(path: string, { overwrite }: InitOptions, prompt: Prompt | undefined) {
  if (overwrite === true || !existsSync(path)) return true;
  const found = `${path} is there already`;
  if (prompt !== undefined)
    return await prompt.confirm(`${found}. Answer anew what it says of service and lake?`, false);
  throw new ConfigError('file-exists', `${found}; --overwrite replaces what it says of service and lake`);
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

const HEAD = `# Settings of vessel-export, written by 'vessel-export init'. It holds secrets: keep it to yourself, and out of git.
# Every command reads it in this folder; what the environment sets counts more. All settings: docs/jobs-and-settings.md
`;

/** Writes our variables and the other lines of the file. It is never readable by others, not even for a moment. */
async function writeSettings(path: string, values: Values): Promise<void> {
  const before = readSmallText(path, 256 << 10, 'settings');
  const kept = before.fault === undefined ? Object.entries(parseEnv(before.text)) : [];
  const others = kept.filter(([name]) => !INIT_VARIABLES.includes(name)) as [string, string][];
  const lines = [...Object.entries(values), ...others].map(([name, value]) => envLine(name, value));
  const text = `${HEAD}${lines.join('\n')}\n`;
  const temp = `${path}.${process.pid}.new`;
  try {
    await writeFile(temp, text, { flag: 'wx', mode: 0o600 });
    renameSync(temp, path);
  } catch (error) {
    await rm(temp, { force: true });
    throw new ConfigError('file-not-written', `cannot write ${path}: ${messageOf(error)}`);
  }
}

async function writeJob(folder: string, { job, overwrite = false }: InitOptions, sample: Sample | undefined) {
  const path = join(folder, `${job}.yaml`);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, firstJobText(sample), { flag: overwrite ? 'w' : 'wx' });
    return { path, isKept: false };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return { path, isKept: true };
    throw new ConfigError('file-not-written', `cannot write ${path}: ${messageOf(error)}`);
  }
}

function closingText(
  envPath: string,
  { path, isKept }: { readonly path: string; readonly isKept: boolean },
  job: string,
  sample: Sample | undefined,
): string {
  const jobWords = isKept ? `; ${path} was there already and stays as it is` : ` and ${path}`;
  const steps = [
    ['check', 'does everything work, and what does each job select'],
    [`series${sample === undefined ? '' : ` ${sample.vessel}`}`, `what there is: put it into ${path}`],
    [`plan ${job}`, 'what a run will take'],
    [`run ${job}`, 'export yesterday and today, as far as they are over'],
  ];
  const lines = steps.map(([command, meaning]) => `  vessel-export ${command!.padEnd(20)} # ${meaning}`);
  return `wrote ${envPath} (mode 600)${jobWords}\n\nNext steps:\n${lines.join('\n')}\n`;
}
