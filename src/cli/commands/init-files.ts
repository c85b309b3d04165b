/** What `init` writes: settings and jobs. No file that is there is changed unless it is said. */
import { existsSync, renameSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, messageOf } from '../../core/errors.ts';
import { readSmallText } from '../../core/process/small-file.ts';
import { keyPrefix } from '../../lake/keys.ts';
import { envLine } from '../../runtime/config/env-file.ts';
import { readJobs } from '../../runtime/config/jobs.ts';
import type { Settings } from '../../runtime/config/variables.ts';
import type { ObjectStore } from '../../store/store.ts';
import { firstJobText, metadataJobText, type Sample } from './first-job.ts';
import { INIT_VARIABLES, type Values } from './init-questions.ts';

const HEAD = `# Settings of vessel-export, written by 'vessel-export init'. It holds secrets: keep it to yourself, and out of git.
# Every command reads it in this folder; what the environment sets counts more. All settings: docs/jobs-and-settings.md
`;

/** Ours, and what else the file held. */
export async function writeSettings(path: string, values: Values): Promise<void> {
  const before = readSmallText(path, 256 << 10, 'settings');
  const kept = before.fault === undefined ? Object.entries(parseEnv(before.text)) : [];
  const isOurs = (name: string) => INIT_VARIABLES.includes(name) || name in values;
  const others = kept.filter(([name]) => !isOurs(name)) as [string, string][];
  const lines = [...Object.entries(values), ...others].map(([name, value]) => envLine(name, value));
  await replaceSettings(path, `${HEAD}${lines.join('\n')}\n`);
}

/** One setting more, or another value of it; each other line stays as it is. */
export async function addSetting(path: string, name: string, value: string): Promise<void> {
  const before = readSmallText(path, 256 << 10, 'settings');
  if (before.fault !== undefined)
    throw new ConfigError('env-file', `the settings in '${path}': ${before.fault}`);
  const lines = before.text.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith(`${name}=`));
  await replaceSettings(path, `${[...lines, envLine(name, value)].join('\n')}\n`);
}

/** Never readable by others, not even for a moment. */
async function replaceSettings(path: string, text: string): Promise<void> {
  const temp = `${path}.${process.pid}.new`;
  try {
    await writeFile(temp, text, { flag: 'wx', mode: 0o600 });
    renameSync(temp, path);
  } catch (error) {
    await rm(temp, { force: true });
    throw new ConfigError('file-not-written', `cannot write ${path}: ${messageOf(error)}`);
  }
}

/** The example jobs of this package that lie in a folder of jobs, and that a lake has no receipt of. */
export async function unusedExamples(
  folder: string,
  store: Pick<ObjectStore, 'list'>,
  own: string,
  excluded: readonly string[],
): Promise<string[]> {
  const shipped = await readdir(new URL('../../../jobs', import.meta.url));
  const names = shipped.filter((name) => name.endsWith('.yaml') && existsSync(join(folder, name)));
  const jobs = names.map((name) => name.replace(/\.yaml$/, ''));
  const unused: string[] = [];
  for (const job of jobs.toSorted()) {
    if (job === own || excluded.includes(job)) continue;
    if (!(await hasReceipts(store, job))) unused.push(job);
  }
  return unused;
}

async function hasReceipts(store: Pick<ObjectStore, 'list'>, job: string): Promise<boolean> {
  for await (const _ of store.list(keyPrefix('receipt', job))) return true;
  return false;
}

interface NewJobs {
  readonly settings: Partial<Settings>;
  readonly job: string;
  readonly sample: Sample | undefined;
  readonly overwrite: boolean;
  /** Jobs that are ignored. */
  readonly excluded: readonly string[];
}

/** What was written, and what was there already and stays. */
export interface WrittenJobs {
  readonly written: readonly string[];
  readonly kept: readonly string[];
}

/** A first job, and one of its series' names and units unless there is a job of metadata already. */
export async function writeJobs({
  settings,
  job,
  sample,
  overwrite,
  excluded,
}: NewJobs): Promise<WrittenJobs> {
  const folder = settings.JOBS_DIR ?? 'jobs';
  const metadata = `${job}-metadata`;
  const hasMetadata = existsSync(folder)
    ? readJobs(folder, [...excluded, metadata]).jobs.some(({ dataset }) => dataset === 'metadata')
    : false;
  const texts = [
    [job, firstJobText(sample)],
    ...(hasMetadata ? [] : [[metadata, metadataJobText(job, sample)]]),
  ] as const;
  const written: string[] = [];
  const kept: string[] = [];
  for (const [name, text] of texts) {
    const path = join(folder, `${name}.yaml`);
    (await writeNew(path, text!, overwrite)) ? written.push(path) : kept.push(path);
  }
  return { written, kept };
}

/** False where the file is there already and stays. */
async function writeNew(path: string, text: string, overwrite: boolean): Promise<boolean> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: overwrite ? 'w' : 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new ConfigError('file-not-written', `cannot write ${path}: ${messageOf(error)}`);
  }
}
