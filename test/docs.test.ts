/** README and docs/ are a promise: links lead somewhere, examples run, tables name what there is. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allCommands, outputOf } from '../docs/tools/command-line.ts';
import { PICTURE, pages, ROOT, refreshPage } from '../docs/tools/generate.ts';
import {
  codeBlocks,
  codeSpans,
  headings,
  linkTargets,
  sectionOf,
  slug,
  tableRows,
} from '../docs/tools/markdown.ts';
import { demoOutput, withoutNumbers } from '../docs/tools/picture.ts';
import { FINDING_STATES } from '../src/audit/reconcile/compare-day.ts';
import { COVERAGE_STATES } from '../src/audit/status/cells.ts';
import * as exitCodes from '../src/cli/commands/context.ts';
import { firstJobText } from '../src/cli/commands/first-job.ts';
import { messageOf } from '../src/core/errors.ts';
import { AGGREGATIONS, systemClock } from '../src/core/model/index.ts';
import type { Column } from '../src/parquet/write/columns.ts';
import { MEASUREMENT_COLUMNS, METADATA_COLUMNS, statisticsColumns } from '../src/parquet/write/columns.ts';
import { parseJob, readJobs } from '../src/runtime/config/jobs.ts';
import type { Variable } from '../src/runtime/config/variable.ts';
import { VARIABLES } from '../src/runtime/config/variables.ts';
import { s3Error } from '../src/store/s3/errors.ts';
import { composeText } from './helpers/compose-file.ts';
import { duckRows, receiptOf } from './helpers/lake.ts';
import type { TestLake, TestService } from './helpers/run.ts';
import {
  DATE,
  exportEnv,
  mustExport,
  newLake,
  runCli,
  startProgram,
  startTestService,
  VESSEL,
} from './helpers/run.ts';
import { newTempFolder } from './helpers/temp.ts';

const README_BYTES = 10_240;
const PAGES = pages().map((path) => ({
  path,
  name: relative(ROOT, path),
  text: readFileSync(path, 'utf8'),
}));
const page = (name: string): string => {
  const found = PAGES.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no page '${name}'`);
  return found.text;
};
const blocksOf = (language: string) =>
  PAGES.flatMap(({ name, text }) =>
    codeBlocks(text)
      .filter((block) => block.language === language)
      .map((block) => ({ ...block, where: `${name}:${block.line}` })),
  );
/** The first cell's code spans of the table below a heading. */
const namesIn = (name: string, heading: string): string[] =>
  tableRows(sectionOf(page(name), heading)).flatMap(([first]) => codeSpans(first!));

test('the README is a first page', () => {
  expect(Buffer.byteLength(page('README.md'))).toBeLessThanOrEqual(README_BYTES);
});

test('the figures of the README are those of the benchmarks', () => {
  const figures =
    sectionOf(page('README.md'), 'Figures').match(/\d[\d,.]*(?<=\d)(?: (?:s|MB|million))?/g) ?? [];
  const measured = page('docs/benchmarks.md');
  expect(figures.filter((figure) => !measured.includes(figure))).toEqual([]);
  expect(figures.length).toBeGreaterThan(5);
});

test('every page of docs/ begins with what it is for', () => {
  const begins = PAGES.filter(({ name }) => name.startsWith('docs/')).map(({ name, text }) => ({
    name,
    begins: /^# .+\n\n\S[^\n]*/.test(text),
  }));
  expect(begins.filter((one) => !one.begins)).toEqual([]);
});

test.for(PAGES)('links of $name lead somewhere', ({ path, text }) => {
  const broken = linkTargets(text).filter((target) => {
    if (/^[a-z]+:/.test(target)) return !/^(https:|mailto:)/.test(target);
    const [file, anchor] = target.split('#');
    const to = file === '' ? path : resolve(dirname(path), file!);
    if (!existsSync(to)) return true;
    if (anchor === undefined) return false;
    return statSync(to).isDirectory() || !headings(readFileSync(to, 'utf8')).map(slug).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test('the README leads to every page', () => {
  const linked = new Set(linkTargets(page('README.md')).map((target) => target.split('#')[0]));
  const missing = PAGES.filter(({ name }) => name.startsWith('docs/') && !linked.has(name));
  expect(missing.map(({ name }) => name)).toEqual([]);
});

test.for(PAGES)("what is generated in $name is up to date (else 'npm run generate')", async ({ text }) => {
  expect(await refreshPage(text)).toBe(text);
});

test("the picture shows what the demo prints (else 'npm run generate')", async () => {
  const drawn = [...readFileSync(PICTURE, 'utf8').matchAll(/<text [^>]*>([^<]*)<\/text>/g)];
  const [typed, ...lines] = drawn.map((match) => match[1]!.replaceAll('&gt;', '>').replaceAll('&lt;', '<'));
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect([typed, scripts.start]).toEqual(['$ npm start', 'node src/bin.js demo']);
  const printed = new Set((await demoOutput(2_000)).split('\n').map(withoutNumbers));
  expect(lines.filter((line) => !printed.has(withoutNumbers(line.replaceAll('&amp;', '&'))))).toEqual([]);
  expect(lines.length).toBeGreaterThan(15);
});

describe('on a lake', () => {
  let service: TestService;
  let lake: TestLake;

  beforeAll(async () => {
    service = await startTestService({ vessels: 2 });
    lake = await newLake();
    const select = ['flat/{vessel}/*'];
    const vessels = { discover: 'flat/*/*' };
    const measurements = { dataset: 'measurements', vessels, select };
    await mustExport({ service, lakeUrl: lake.url, jobs: { measurements } });
    // A snapshot is taken on the day itself: here it is noon of that day, whatever the machine's clock says.
    const clock = { ...systemClock, nowMs: () => Date.parse(`${DATE}T12:00:00Z`) };
    const jobs = { metadata: { dataset: 'metadata', vessels, select } };
    await mustExport({ service, lakeUrl: lake.url, jobs, overrides: { clock } });
  });
  afterAll(async () => {
    await service.close();
    await lake[Symbol.asyncDispose]();
  });

  const queries = blocksOf('sql').filter(({ text }) => text.startsWith('-- duckdb\n'));

  test('there are queries to run', () => {
    expect(queries.length).toBeGreaterThan(3);
  });

  test.for(queries)('the query at $where gives rows', async ({ text }) => {
    const rows = await duckRows(text.replaceAll("'lake/", `'${lake.dir}/`));
    expect(rows.length).toBeGreaterThan(0);
  });

  test('the table of a receipt names every field of it that is not its place', async () => {
    const receipt = await receiptOf(lake.dir, { job: 'measurements', vessel: VESSEL, date: DATE });
    const place = ['receiptVersion', 'job', 'vessel', 'date', 'dataset'];
    const fields = Object.keys(receipt!).filter((name) => !place.includes(name));
    const named = namesIn('docs/receipts.md', 'What a receipt says').map((name) => name.split('.')[0]!);
    expect([...new Set(named)].sort()).toEqual(fields.sort());
  });
});

/** `vessel-export …` in blocks of shell: the words after it, without comment. */
const shellLines = blocksOf('sh').flatMap(({ text, where }) =>
  text.split('\n').flatMap((line) => {
    const words = /^(?:npx|docker compose exec \w+) vessel-export ([^#]*)/.exec(line)?.[1];
    return words === undefined ? [] : [{ where, line, words: words.trim().split(/ +/) }];
  }),
);

test('every command line names a command and options that exist', async () => {
  const commands = await allCommands();
  const wrong = shellLines.filter(({ words }) => {
    const help = commands.find(({ name }) => name === words[0])?.help;
    const options = words.filter((word) => word.startsWith('--'));
    return help === undefined || options.some((option) => !hasOption(help, option));
  });
  expect(wrong.map(({ where, line }) => `${where}: ${line}`)).toEqual([]);
  expect(shellLines.length).toBeGreaterThan(10);
});

test('every option that a page names exists', async () => {
  const helps = [await outputOf(['--help']), ...(await allCommands()).map(({ help }) => help)].join('\n');
  const wrong = PAGES.flatMap(({ name, text }) =>
    codeSpans(text)
      .filter((span) => !/^(npm |npx (?!vessel-export)|docker |bash )/.test(span))
      .flatMap((span) => span.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [])
      .filter((option) => !hasOption(helps, option))
      .map((option) => `${name}: ${option}`),
  );
  expect(wrong).toEqual([]);
});

function hasOption(help: string, option: string): boolean {
  return new RegExp(`(?<![\\w-])${option}(?![\\w-])`).test(help);
}

test('the commands that are safe to run succeed as they stand', async () => {
  const looking = ['config', 'check', 'vessels', 'series', 'plan', 'status', 'verify', 'gc'];
  const safe = new Set([...looking, 'run', 'reconcile']);
  const service = await startTestService({ readingsPerDay: 1_000 });
  const lake = await newLake();
  await using folder = await newTempFolder();
  try {
    // The examples, and what `init` adds to them.
    await cp(join(ROOT, 'jobs'), folder.path, { recursive: true });
    await writeFile(join(folder.path, 'first.yaml'), firstJobText(undefined));
    const env = exportEnv(service, lake.url, folder.path);
    for (const { words, where, line } of shellLines.filter(({ words }) => safe.has(words[0]!))) {
      const { code, stderr } = await runCli(words, { ...env, LOG_LEVEL: 'warn' }, ROOT);
      expect(code, `${where}: ${line}\n${stderr}`).toBe(0);
    }
  } finally {
    await service.close();
    await lake[Symbol.asyncDispose]();
  }
});

const programs = blocksOf('ts').filter(({ where }) => where.startsWith('README.md'));

test.for(programs)('the program at $where runs', async ({ text }) => {
  const service = await startTestService({ readingsPerDay: 1_000 });
  await using lake = await newLake();
  await using folder = await newTempFolder();
  try {
    const program = join(folder.path, 'program.ts');
    const module = JSON.stringify(pathToFileURL(join(ROOT, 'src/index.ts')).href);
    await writeFile(program, text.replaceAll("'vessel-export'", module));
    const env = exportEnv(service, lake.url, join(ROOT, 'jobs'));
    const { code, stdout, stderr } = await startProgram([process.execPath, program], env).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toBe('');
  } finally {
    await service.close();
  }
});

const jobFiles = blocksOf('yaml').filter(({ text }) => text.startsWith('# jobs/'));

test.for(jobFiles)('the job at $where is one', ({ text }) => {
  const path = /^# (jobs\/\S+)\n/.exec(text)![1]!;
  const { job, faults } = parseJob(path, basename(path, '.yaml'), text);
  expect(faults).toEqual([]);
  expect(job?.dataset).toBeDefined();
});

test('the example of a job in jobs/ is one, and none of those that a folder has', () => {
  const name = 'dashboards.yaml.example';
  const text = readFileSync(join(ROOT, 'jobs', name), 'utf8');
  expect(parseJob('jobs/dashboards.yaml', 'dashboards', text)).toMatchObject({
    faults: [],
    job: { dataset: 'statistics' },
  });
  expect(readJobs(join(ROOT, 'jobs')).jobs.map((job) => job.name)).not.toContain('dashboards');
});

test('the table of job keys names the keys of a job file', () => {
  const fewest = { dataset: 'measurements', vessels: [VESSEL], select: ['flat/{vessel}/*'] };
  const keys = namesIn('docs/jobs-and-settings.md', 'Jobs').filter((name) => /^[a-z]+$/.test(name));
  const isKey = (key: string) => {
    const { faults } = parseJob('jobs/x.yaml', 'x', JSON.stringify({ ...fewest, [key]: 7 }));
    return faults.some((fault) => fault.startsWith(`jobs/x.yaml: ${key}: got 7`));
  };
  expect(keys.filter((key) => !isKey(key))).toEqual([]);
  const used = readdirSync(join(ROOT, 'jobs')).flatMap((name) =>
    [...readFileSync(join(ROOT, 'jobs', name), 'utf8').matchAll(/^([a-z]+):/gm)].map((match) => match[1]!),
  );
  expect([...new Set(used)].filter((key) => !keys.includes(key))).toEqual([]);
});

test('every setting that a page names exists', () => {
  const settings = (VARIABLES as readonly Variable[]).flatMap(({ name, fromFile }) =>
    fromFile === true ? [name, `${name}_FILE`] : [name],
  );
  // The compose file takes more from .env.
  const ofCompose = [...composeText().matchAll(/\$\{(\w+)/g)].map((match) => match[1]!);
  const ofTests = ['S3_TEST_ENDPOINT'];
  const known = new Set([...settings, ...ofCompose, ...ofTests]);
  const words = new Set(settings.map((name) => name.split('_')[0]));
  const wrong = PAGES.flatMap(({ name, text }) =>
    codeSpans(text)
      .flatMap((span) => span.match(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b/g) ?? [])
      .filter((setting) => words.has(setting.split('_')[0]) && !known.has(setting))
      .map((setting) => `${name}: ${setting}`),
  );
  expect(wrong).toEqual([]);
});

test('the exit codes are those of the commands', () => {
  const rows = tableRows(sectionOf(page('docs/jobs-and-settings.md'), 'Commands').split('| exit code ')[1]!);
  const codes = Object.entries(exitCodes).filter(([name]) => name.startsWith('EXIT_'));
  expect(rows.map(([code]) => Number(code))).toEqual(codes.map(([, code]) => code));
});

test('the states of status and of reconcile are those of the code', () => {
  expect(namesIn('docs/jobs-and-settings.md', 'What status shows')).toEqual([...COVERAGE_STATES]);
  expect(namesIn('docs/receipts.md', 'What reconcile finds')).toEqual([...FINDING_STATES]);
});

test.for([
  ['measurements', MEASUREMENT_COLUMNS],
  ['metadata', METADATA_COLUMNS],
] as const)('the columns of %s are those of the code, in their order', ([dataset, columns]) => {
  const rows = tableRows(sectionOf(page('docs/lake.md'), dataset));
  expect(rows.map(([name, type]) => [codeSpans(name!)[0], type])).toEqual(
    columns.map((column) => [column.name, typeOf(column)]),
  );
});

test('the columns of statistics are those of the code', () => {
  const rows = tableRows(sectionOf(page('docs/lake.md'), 'statistics'));
  const types = new Map(rows.flatMap(([name, type]) => codeSpans(name!).map((one) => [one, type!] as const)));
  const other = rows.find(([name]) => name === 'every other aggregation')?.[1];
  const wrong = statisticsColumns(AGGREGATIONS).filter(
    (column) => (types.get(column.name) ?? other) !== typeOf(column),
  );
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

function typeOf({ type }: Column): string {
  return { timestamp: 'TIMESTAMP', long: 'INT64', double: 'DOUBLE', text: 'STRING', series: 'STRING' }[type];
}

test('the permissions for S3 are those that its calls need', () => {
  const rows = tableRows(sectionOf(page('docs/operating.md'), 'Permissions'));
  const folder = join(ROOT, 'src/store');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const source = names.map((name) => readFileSync(join(folder, name), 'utf8'));
  const called = source.join('\n').matchAll(/new (\w+)Command\(/g);
  const described = rows.flatMap(([, , calls]) => codeSpans(calls!)).filter((name) => !name.includes(':'));
  expect([...new Set(described)].sort()).toEqual([...new Set([...called].map((call) => call[1]!))].sort());
  const denied = { name: 'AccessDenied', $metadata: { httpStatusCode: 403 } };
  const asked = messageOf(s3Error(denied, 'read', 's3://bucket/key', [])).match(/s3:\w+/g);
  expect(rows.flatMap(([name]) => codeSpans(name!)).sort()).toEqual([...new Set(asked)].sort());
});

test('every dependency has its reason', () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(namesIn('docs/decisions.md', 'Dependencies').sort()).toEqual(Object.keys(dependencies).sort());
});

test('no word is defined twice in the glossary', () => {
  const words = headings(page('docs/glossary.md')).map(slug);
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
});

test('every promise of SECURITY.md names tests that are there, and stands in the threat model', () => {
  const promises = sectionOf(page('SECURITY.md'), 'What is promised, and so in scope')
    .split(/^- (?=\*\*)/m)
    .slice(1);
  expect(promises.length).toBeGreaterThan(10);
  const model = page('docs/threat-model.md').replace(/\s+/g, ' ');
  for (const promise of promises) {
    const name = /^\*\*(.+?)\*\*/s.exec(promise)![1]!.replace(/\s+/g, ' ').replace(/\.$/, '');
    const tests = [...promise.matchAll(/`(test\/[\w./-]+)`/g)].map((match) => match[1]!);
    expect([name, tests.length > 0]).toEqual([name, true]);
    for (const path of tests) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
    expect(model).toContain(`*${name}*`);
  }
});
