/** `jobs/*.yaml` → jobs; every fault is gathered with file, field, what was found and what was expected. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import type { z } from 'zod';
import { messageOf } from '../../core/errors.ts';
import { JOB_NAME, type Job, type Schedule } from '../../core/model/index.ts';
import { didYouMean } from '../../core/names.ts';
import { readSmallText } from '../../core/process/small-file.ts';
import type { JobFile } from './job-file.ts';
import { JOB_FILE, JOB_FILE_KEYS, parseDurationMs, ruleFaults, UNIT_MS, windowMicros } from './job-file.ts';

export interface ReadJobs {
  readonly jobs: readonly Job[];
  readonly faults: readonly string[];
}

/** The jobs of a folder; the files of `excluded` ones are not read. */
export function readJobs(folder: string, excluded: readonly string[] = []): ReadJobs {
  let names: string[];
  try {
    names = readdirSync(folder)
      .filter((name) => /\.ya?ml$/.test(name) && !excluded.includes(name.replace(/\.ya?ml$/, '')))
      .sort();
  } catch (error) {
    return { jobs: [], faults: [`JOBS_DIR: cannot read '${folder}': ${messageOf(error)}`] };
  }
  const jobs: Job[] = [];
  const faults: string[] = [];
  if (names.length === 0)
    faults.push(`JOBS_DIR: no job in '${folder}', expected files such as measurements.yaml`);
  for (const name of names) {
    const path = join(folder, name);
    const file = readSmallText(path, MAX_FILE_BYTES, 'a job');
    const parse = (text: string) => parseJob(path, name.replace(/\.ya?ml$/, ''), text);
    const read = file.fault === undefined ? parse(file.text) : { faults: [`${path}: ${file.fault}`] };
    if (read.job !== undefined) jobs.push(read.job);
    faults.push(...read.faults.slice(0, MAX_SHOWN_FAULTS));
    const more = read.faults.length - MAX_SHOWN_FAULTS;
    if (more > 0) faults.push(`${path}: and ${more} more faults`);
  }
  return { jobs, faults };
}

/** One file lists no more faults, so that those of the others are seen too. */
const MAX_SHOWN_FAULTS = 20;

/** What a job file says, as an object. */
export type JobDefinition = z.input<typeof JOB_FILE>;

export function defineJobs(definitions: Readonly<Record<string, JobDefinition>>): ReadJobs {
  const read = Object.entries(definitions).map(([name, definition]) =>
    // JSON is YAML.
    parseJob(`jobs.${name}`, name, `${JSON.stringify(definition)}`),
  );
  return { jobs: read.flatMap(({ job }) => job ?? []), faults: read.flatMap(({ faults }) => faults) };
}

export function parseJob(path: string, name: string, text: string): { job?: Job; faults: string[] } {
  const rule = `the name '${name}' becomes a folder; expected small letters, digits, '-' and '_'`;
  if (!JOB_NAME.test(name)) return { faults: [`${path}: ${rule}`] };
  const read = readYaml(text);
  if (read.faults !== undefined) return { faults: read.faults.map((fault) => `${path}: ${fault}`) };
  const { content } = read;
  const parsed = JOB_FILE.safeParse(content, { reportInput: true });
  const issues = parsed.success ? [] : parsed.error.issues.map((issue) => describeIssue(path, issue));
  const faults = [...issues, ...ruleFaults(path, content)];
  return parsed.success && faults.length === 0 ? { job: toJob(path, name, parsed.data), faults } : { faults };
}

function describeIssue(path: string, issue: z.core.$ZodIssue): string {
  const field = issue.path.map(String).join('.') || '(the whole file)';
  // The message says enough about a list, and about a whole file, which may be any that a link names.
  const isWhole = issue.path.length === 0 || typeof issue.input === 'object';
  const shown = isWhole ? undefined : JSON.stringify(issue.input);
  const got = shown === undefined ? '' : `got ${shown.slice(0, 100)}, `;
  const message =
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => unknownKey(key, issue.path)).join('; ')
      : issue.message;
  return `${path}: ${field}: ${got}${message}`;
}

function unknownKey(key: string, [parent]: readonly PropertyKey[]): string {
  const known = JOB_FILE_KEYS[parent as keyof typeof JOB_FILE_KEYS] ?? Object.keys(JOB_FILE.shape);
  return `unknown key '${key}', expected one of ${known.join(', ')}${didYouMean(key, known)}`;
}

function toJob(path: string, name: string, file: JobFile): Job {
  const { schedule, reconcile, window, aggregations = ['mean', 'min', 'max'] } = file;
  const fires = ({ cron, timezone }: Schedule): Schedule => ({ cron, timezone });
  const select = file.select.map((one) =>
    typeof one === 'string' ? { expression: one, optional: false } : one,
  );
  const optional = select.flatMap((one) => (one.optional ? [one.expression] : []));
  return {
    name,
    path,
    dataset: file.dataset,
    vessels: file.vessels,
    select: select.map((one) => one.expression),
    ...(optional.length > 0 && { optional }),
    transport: file.transport ?? 'ndjson',
    verify: file.verify,
    ...(file.since !== undefined && { since: file.since }),
    ...(schedule && { schedule: { ...fires(schedule), settleMs: parseDurationMs(schedule.settle)! } }),
    ...(reconcile && {
      reconcile: { ...fires(reconcile), lookbackDays: parseDurationMs(reconcile.lookback)! / UNIT_MS.d },
    }),
    ...(window !== undefined && { window, windowMicros: windowMicros(window)! }),
    // `count` decides whether a row exists, so it is always asked.
    ...(file.dataset === 'statistics' && { aggregations: [...new Set([...aggregations, 'count' as const])] }),
  };
}

/** Ten thousand vessels fit into it; the parser takes its time, and all the more the longer a file is. */
const MAX_FILE_BYTES = 128 << 10;
/** A value may stand for many; YAML's own limit, 100, does not count those of texts. */
const MAX_ALIASES = 100;
/** Brackets, and signs of a list or a key before one another in a line: the parser goes deeper with each. */
const MAX_BRACKETS = 4_000;
const NESTED_SIGNS = /(?:[-?:][ \t]+){50}/;

type ReadYaml = { readonly content: unknown; readonly faults?: undefined } | { readonly faults: string[] };

function readYaml(text: string): ReadYaml {
  const brackets = text.match(/[[{]/g)?.length ?? 0;
  if (brackets > MAX_BRACKETS)
    return { faults: [`got ${brackets} brackets, expected at most ${MAX_BRACKETS}`] };
  if (NESTED_SIGNS.test(text)) return { faults: ['got a line of 50 lists in each other, expected a job'] };
  try {
    const lines = new LineCounter();
    const at = (offset: number) => {
      const { line, col } = lines.linePos(offset);
      return `at line ${line}, column ${col}`;
    };
    // Excerpts of a long line take longer than all else, and keys would be compared with each other one.
    const document = parseDocument(text, { prettyErrors: false, uniqueKeys: false, lineCounter: lines });
    const faults = [
      ...document.errors.map(({ message, pos }) => `${withoutSource(message)} ${at(pos[0])}`),
      ...referenceFaults(document, at),
    ];
    if (faults.length > 0) return { faults };
    return { content: document.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch (error) {
    // An alias of nothing, aliases of aliases.
    return { faults: [`cannot be read as YAML: ${messageOf(error)}`] };
  }
}

/** The parser repeats what it found after a colon: in a file that is no job, that may be a secret. */
function withoutSource(message: string): string {
  return message.split(': ', 1)[0]!;
}

/** Aliases without end, and keys that come twice. */
function referenceFaults(document: Document, at: (offset: number) => string): string[] {
  let aliases = 0;
  const doubled: string[] = [];
  visit(document, {
    Alias: () => void aliases++,
    Map(_key, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value))
          doubled.push(`the key ${JSON.stringify(key.value)} occurs twice ${at(key.range?.[0] ?? 0)}`);
        seen.add(key.value);
      }
    },
  });
  const endless = aliases > MAX_ALIASES ? [`got ${aliases} aliases, expected at most ${MAX_ALIASES}`] : [];
  return [...endless, ...doubled];
}
